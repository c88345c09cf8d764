"""Geometry of every member's embedding matrix: what the cosine figure and table show."""

from pathlib import Path

import numpy as np

from . import deck, reader
from .failure import FILES, Failure
from .geometry import Geometry, measure_matrix
from .reader import Member


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
