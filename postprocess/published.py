"""The published values in data/: packing cells and embedding matrices. Comment lines there name the source."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from postprocess.guard.failure import FILES, Failure

FOLDER = Path(__file__).parent / "data"
MODELS_IN_PAPER = 46
STEPS, TRIALS = 5000, 1000  # of an optimised, of a random cell


@dataclass(frozen=True)
class Cell:
    """One published packing: k vectors in d dimensions."""

    kind: str
    d: int
    k: int
    epsilon: float


@dataclass(frozen=True)
class Model:
    """One published embedding matrix; `name` may be empty."""

    name: str
    width: int
    epsilon: float
    capacity: float
    source: str


def packing(kind: str) -> list[Cell]:
    """The published cells of a kind, "optimised" or "random"."""
    return [Cell(kind, int(row["d"]), int(row["k"]), float(row["epsilon"])) for row in _rows(f"packing_{kind}.csv")]


def models() -> list[Model]:
    return [Model(row["name"], int(row["width"]), float(row["epsilon"]), float(row["capacity"] or math.nan), row["source"])
            for row in _rows("published_models.csv")]


def _rows(name: str) -> list[dict[str, str]]:
    try:
        with open(FOLDER / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))
    except OSError as error:
        raise Failure(FILES, f"{FOLDER / name}: {error.strerror or error}") from None
