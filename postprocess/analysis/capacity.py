"""Rows of the capacity tables: one per matrix and one per set of its rows, from capacity.h5."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from .. import deck
from ..reader import Capacity, Matrix, RowSet
from . import law

# A set's name in the file -> in tables and figures; in this order.
SETS = {"raw": "all", "centred": "centred", "raw_regular": "regular", "centred_regular": "reg. centred"}
WHOLE = (SETS["raw"], SETS["centred"])  # what the figures show
# Names that say nothing of the model: its folder's name does.
COMMON = ("embedding", "model", "capacity", "pytorch_model", "consolidated")


@dataclass
class MatrixRow:
    """Facts of one matrix."""

    matrix: str
    file: str
    side: str
    vocabulary: int
    width: int
    element: str
    zero_rows: int
    padding: int
    untrained: float
    outliers: int
    token_cosine: float
    token_cosine_sd: float


@dataclass
class Row:
    """Statistics of one set of rows of one matrix; capacities are log10 k. `histogram` is None without pairs."""

    matrix: str
    file: str
    side: str
    vocabulary: int
    row_set: str
    count: float
    width: int
    mean: float
    deviation: float
    epsilon: float
    capacity_class: str
    relative: float
    log10_k_jl_textbook: float
    log10_k_jl_random: float
    log10_k_adjusted: float
    log10_k_fitted: float
    effective_rank: float
    participation: float
    skewness: float
    smallest: float
    largest: float
    histogram: np.ndarray | None

    @property
    def centred(self) -> bool:
        return self.row_set.endswith("centred")


def facts(files: list[Capacity]) -> list[MatrixRow]:
    known = {file.path: bool(deck.parsed(file.deck).get("capacity.tokens")) for file in files}
    return [_facts(label, matrix, known[matrix.path]) for label, matrix in _labelled(files)]


def rows(files: list[Capacity]) -> list[Row]:
    """By matrix and set of rows."""
    return [row for label, matrix in _labelled(files) for row in rows_of(label, matrix)]


def rows_of(label: str, matrix: Matrix) -> list[Row]:
    """The sets of rows of one matrix."""
    return [_row(label, matrix, matrix.sets[name]) for name in SETS if name in matrix.sets]


def laws(files: list[Capacity]) -> list[law.Law]:
    """The law that each file's capacities were computed with."""
    return [law.from_deck(deck.parsed(file.deck)) for file in files]


def remarks(files: list[Capacity]) -> list[str]:
    """What a reader of the table must know of how it was made."""
    found = list(dict.fromkeys(map(str, laws(files))))
    if len(found) > 1:
        return ["The files' capacities were computed with different constants ([capacity.law] of their decks)."]
    return [f"Constants of the capacities: {found[0]}."]


def _labelled(files: list[Capacity]) -> list[tuple[str, Matrix]]:
    """Short names of all matrices, unlike one another."""
    matrices = [matrix for file in files for matrix in file.matrices]
    names = [_label(matrix, _short(matrix.file)) for matrix in matrices]
    counts = Counter(names)
    names = [name if counts[name] == 1 else _label(matrix, matrix.file) for name, matrix in zip(names, matrices)]
    counts, seen = Counter(names), Counter()
    labels = []
    for name in names:  # the same file analysed twice
        seen[name] += 1
        labels.append(name if counts[name] == 1 else f"{name} ({seen[name]})")
    return list(zip(labels, matrices))


def _label(matrix: Matrix, name: str) -> str:
    return name if matrix.side == "input" else f"{name} {matrix.side}"


def _short(file: str) -> str:
    """The model's name as its file or folder has it: lev of runs/first_run/lev/embedding.h5."""
    path = PurePath(file.split(":/")[0])
    named = path.suffix in (".h5", ".hdf5", ".npy", ".safetensors", ".gguf", ".bin", ".json")
    stem = path.stem if named else path.name
    common = stem.split("-0")[0].split(".")[0] in COMMON or stem.startswith("checkpoint_")
    return path.parent.name if common and path.parent.name else stem or file


def _facts(label: str, matrix: Matrix, training_known: bool) -> MatrixRow:
    mean, deviation = matrix.token_cosine or (math.nan, math.nan)
    return MatrixRow(label, matrix.file, matrix.side, matrix.vocabulary, matrix.width, matrix.element, matrix.zero,
                     matrix.padding, matrix.untrained if training_known else math.nan, matrix.outliers, mean, deviation)


def _row(label: str, matrix: Matrix, found: RowSet) -> Row:
    same = ("epsilon", "log10_k_jl_textbook", "log10_k_jl_random", "log10_k_adjusted", "log10_k_fitted", "effective_rank",
            "skewness", "smallest", "largest")
    return Row(matrix=label, file=matrix.file, side=matrix.side, vocabulary=matrix.vocabulary, width=matrix.width,
               row_set=SETS[found.name], count=found.number("rows"), mean=found.number("mu"),
               deviation=found.number("sigma"), relative=found.number("epsilon_sqrt_d_half"),
               capacity_class={1.0: "1", 2.0: "2"}.get(found.number("class"), "-"),
               participation=found.number("participation_ratio"), histogram=found.histogram,
               **{key: found.number(key) for key in same})
