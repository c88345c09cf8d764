"""Geometry of the members' embedding matrices over the seeds, from the capacity.h5 that the job "capacity" wrote."""

import math
import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath

from postprocess.guard.failure import FILES, Failure

from .. import reader
from ..reader import Matrix, Run
from . import capacity
from .seed_statistics import summarise
from .variants import Variant

AVERAGED = ("count", "zero_rows", "mean", "deviation", "epsilon", "relative", "effective_rank")
MEASURING_DECK = "inputs/papers/capacity/models.toml"


@dataclass
class Row(capacity.Row):
    """One set of rows of one variant: means over its seeds; `histogram` counts the pairs of all seeds together."""

    seeds: int
    zero_rows: float
    relative_sd: float
    effective_rank_sd: float

    @property
    def variant(self) -> str:
        return self.matrix

    @property
    def member(self) -> str:
        """The same name, where every row is one training run."""
        return self.matrix

    @property
    def rows(self) -> str:
        return self.row_set


Measured = dict[str, Matrix]  # name of a member's folder -> its matrix


def measured_members(run: Run, side: str) -> tuple[Measured, list[str]]:
    """(the members' "input" or "output" matrices; names of the members of which no capacity.h5 in the run has one)."""
    folders = {member.folder.resolve().name for member in run.members}
    found = {}
    for path in reader.capacity_files(run.folder):
        for matrix in reader.read_capacity(path).matrices:
            file = PurePath(matrix.file)
            if matrix.side == side and file.name == "embedding.h5" and file.parent.name in folders:
                other = found.setdefault(file.parent.name, matrix)
                if other.path != path:
                    raise Failure(FILES, f"{other.path} and {path} both have the {side} matrix of {file.parent.name}; remove "
                                  "the one that is not of this run's end")
    return found, [member.name for member in run.members if member.folder.resolve().name not in found]


def how_to_measure(folder: Path) -> str:
    """The command line that writes the run's capacity.h5."""
    files = sorted(folder.glob("embedding.h5")) + sorted(folder.glob("*/embedding.h5"))
    listed = ", ".join(f'"{path}"' for path in files or [folder / "*/embedding.h5"])
    return shlex.join(["lexikos", "-i", MEASURING_DECK, "-d", str(folder), f"capacity.files=[{listed}]"])


def over_seeds(variants: list[Variant], measured: Measured) -> list[Row]:
    """Rows by variant and set of rows, in the order of `variants`; variants of which nothing is measured are left
    out."""
    found = []
    for variant in variants:
        folders = [member.folder.resolve().name for member in variant.members]
        rows = [_of_one_seed(row, matrix.zero) for matrix in (measured[name] for name in folders if name in measured)
                for row in capacity.rows_of(variant.name, matrix)]
        found += [_mean([row for row in rows if row.row_set == name]) for name in dict.fromkeys(row.row_set for row in rows)]
    return found


def _of_one_seed(row: capacity.Row, zero_rows: float) -> Row:
    return Row(**{field.name: getattr(row, field.name) for field in fields(row)}, seeds=1, zero_rows=zero_rows,
               relative_sd=math.nan, effective_rank_sd=math.nan)


def _mean(rows: list[Row]) -> Row:
    spreads = {key: summarise([getattr(row, key) for row in rows]) for key in AVERAGED}
    counted = [row.histogram for row in rows if row.histogram is not None]
    alike = len({one.size for one in counted}) == 1
    return replace(rows[0], seeds=len(rows), **{key: spread.mean for key, spread in spreads.items()},
                   relative_sd=spreads["relative"].sd, effective_rank_sd=spreads["effective_rank"].sd,
                   histogram=sum(counted) if alike else None)
