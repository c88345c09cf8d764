"""Cosines between the rows of an embedding matrix: exact statistics over all pairs i < j.

With unit rows u_i [n, D]: the sum of all cosines and the sum of their squares follow from the sum of the rows and from
the D x D matrix U^T U, exactly and without visiting a pair. The histogram visits every pair, block by block.
"""

import functools
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

BINS = 200  # over [-1, 1]
BLOCK = 1024  # rows


@dataclass
class Geometry:
    """Statistics of one set of rows of one matrix; `histogram` [BINS] counts pairs per cosine bin of width 2 / BINS."""

    member: str
    rows: str
    count: int
    zero_rows: int
    mean: float
    deviation: float
    epsilon: float
    relative: float
    effective_rank: float
    width: int
    centred: bool
    histogram: np.ndarray | None


def measure_matrix(member: str, matrix: np.ndarray, seen: np.ndarray | None) -> list[Geometry]:
    """All rows of `matrix` [V, D], as they are and centred; the same for the rows in `seen` [V] (bool), if given.

    Only the first two carry a histogram.
    """
    measured = [measure(member, label, matrix, label != "all", True) for label in ("all", "all, centred")]
    if seen is not None:
        measured += [measure(member, label, matrix[seen], label != "seen", False) for label in ("seen", "seen, centred")]
    return measured


def measure(member: str, label: str, matrix: np.ndarray, centred: bool, with_histogram: bool) -> Geometry:
    """Geometry of `matrix` [V, D]: zero rows dropped first, then, if `centred`, the mean of the others removed."""
    rows = matrix.astype(np.float64)
    rows = rows[np.any(rows != 0.0, axis=1)]
    if centred and len(rows):
        rows = _without_dust(rows - rows.mean(axis=0), rows)
    n, width = rows.shape
    norms = np.linalg.norm(rows, axis=1)
    units = rows / norms[:, None] if n else rows
    mean, deviation = pair_moments(units)
    epsilon = mean + 2.0 * deviation
    return Geometry(member, label, n, len(matrix) - n, mean, deviation, epsilon, epsilon * np.sqrt(width) / 2.0,
                    effective_rank(units), width, centred, cosine_histogram(units) if with_histogram else None)


def _without_dust(centred: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Centred rows without those that equal the mean row up to rounding: they have no direction."""
    scale = np.linalg.norm(rows, axis=1).max()
    return centred[np.linalg.norm(centred, axis=1) > 1e-6 * scale]


def pair_moments(units: np.ndarray) -> tuple[float, float]:
    """(mean, standard deviation) of u_i . u_j over all i < j, from unit rows [n, D] in double; NaN below two rows."""
    n = len(units)
    if n < 2:
        return float("nan"), float("nan")
    columns = np.ascontiguousarray(units.T)
    total, gram = units.sum(axis=0), _product(columns, columns)
    pairs = n * (n - 1.0)
    mean = (total @ total - n) / pairs
    square = (np.sum(gram * gram) - n) / pairs
    return float(mean), float(np.sqrt(max(square - mean * mean, 0.0)))


def cosine_histogram(units: np.ndarray, bins: int = BINS, block: int = BLOCK) -> np.ndarray:
    """int64[bins] over [-1, 1]: how many pairs i < j have their cosine in each bin. Every pair is counted once."""
    units = units.astype(np.float32)
    corners = [(i, j) for i in range(0, len(units), block) for j in range(i, len(units), block)]

    def count(corner: tuple[int, int]) -> np.ndarray:
        left, right = (units[start : start + block] for start in corner)
        cosines = _product(left, right)
        chosen = cosines[np.triu_indices(len(left), 1)] if corner[0] == corner[1] else cosines
        return np.histogram(np.clip(chosen, -1.0, 1.0), bins=bins, range=(-1.0, 1.0))[0]

    with ThreadPoolExecutor(_cores()) as pool:
        return sum(pool.map(count, corners), np.zeros(bins, dtype=np.int64))


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left [m, k] times the transpose of right [n, k]."""
    return left @ right.T if _blas_is_fast() else np.einsum("ik,jk->ij", left, right)


@functools.cache
def _blas_is_fast() -> bool:
    """NumPy may sit on the reference BLAS, which is slower than NumPy's own loops: time both, once, on a small product."""
    probe = np.ones((384, 384), dtype=np.float32)
    seconds = []
    for product in (lambda: probe @ probe.T, lambda: np.einsum("ik,jk->ij", probe, probe)):
        product()
        start = time.perf_counter()
        product()
        seconds.append(time.perf_counter() - start)
    return seconds[0] <= seconds[1]


def bin_centres(bins: int = BINS) -> np.ndarray:
    """Cosine at the middle of each bin."""
    return (np.arange(bins) + 0.5) * (2.0 / bins) - 1.0


def effective_rank(rows: np.ndarray) -> float:
    """exp(-sum p ln p) with p the singular values of `rows` [n, D] divided by their sum (Roy and Vetterli, 2007)."""
    if len(rows) == 0:
        return float("nan")
    columns = np.ascontiguousarray(rows.T)
    squares = np.linalg.eigvalsh(_product(columns, columns))
    values = np.sqrt(squares[squares > squares.max() * 1e-12])
    share = values / values.sum()
    return float(np.exp(-np.sum(share * np.log(share))))
