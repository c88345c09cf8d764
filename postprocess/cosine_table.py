"""Geometry of every member's embedding matrix, and its mean over the seeds: what the cosine figure and table show."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import deck, reader
from .failure import FILES, Failure
from .geometry import Geometry, measure_matrix
from .reader import Member
from .seed_statistics import summarise
from .variants import Variant

AVERAGED = ("count", "zero_rows", "mean", "deviation", "epsilon", "relative", "effective_rank")


@dataclass
class Row:
    """One set of rows of one variant: means over its seeds; `histogram` counts the pairs of all seeds together."""

    variant: str
    rows: str
    seeds: int
    count: float
    zero_rows: float
    mean: float
    deviation: float
    epsilon: float
    relative: float
    relative_sd: float
    effective_rank: float
    effective_rank_sd: float
    width: int
    centred: bool
    histogram: np.ndarray | None

    @property
    def member(self) -> str:
        """The same name, where every row is one training run."""
        return self.variant


def over_seeds(variants: list[Variant], measured: list[Geometry]) -> list[Row]:
    """Rows by variant and set of rows, in the order of `variants`; variants of which nothing is measured are left out."""
    found = []
    for variant in variants:
        names = {member.name for member in variant.members}
        mine = [one for one in measured if one.member in names]
        found += [_row(variant.name, [one for one in mine if one.rows == rows])
                  for rows in dict.fromkeys(one.rows for one in mine)]
    return found


def _row(variant: str, seeds: list[Geometry]) -> Row:
    spreads = {key: summarise([getattr(one, key) for one in seeds]) for key in AVERAGED}
    counted = [one.histogram for one in seeds if one.histogram is not None]
    return Row(variant=variant, rows=seeds[0].rows, seeds=len(seeds), **{key: spreads[key].mean for key in AVERAGED},
               relative_sd=spreads["relative"].sd, effective_rank_sd=spreads["effective_rank"].sd, width=seeds[0].width,
               centred=seeds[0].centred, histogram=sum(counted) if counted else None)


def measure_members(members: list[Member], matrix: str, tokens: Path | None) -> tuple[list[Geometry], list[str]]:
    """(geometries of the members' `matrix`, "input" or "output"; names of the members that have not written one yet)."""
    counts = _train_counts(members, tokens)
    measured, missing = [], []
    for member in members:
        found = reader.read_embedding(member)
        if found is None:
            missing.append(member.name)
        else:
            measured += measure_matrix(member.name, found[matrix], _seen(counts, found[matrix], tokens))
    return measured, missing


def _train_counts(members: list[Member], tokens: Path | None) -> np.ndarray | None:
    """Training counts from the file named by the user, else from the deck's file if it is still there."""
    if tokens is not None:
        return reader.read_train_counts(tokens)
    path = deck.tokens_file(members)
    return None if path is None else reader.read_train_counts(path)


def _seen(counts: np.ndarray | None, matrix: np.ndarray, tokens: Path | None) -> np.ndarray | None:
    """bool[V]: rows whose id occurs in the training part; None if that is unknown."""
    if counts is None:
        return None
    if len(counts) > len(matrix):
        if tokens is not None:
            raise Failure(FILES, f"{tokens}: {len(counts)} ids, but the embedding has {len(matrix)} rows")
        return None
    return np.pad(counts > 0, (0, len(matrix) - len(counts)))
