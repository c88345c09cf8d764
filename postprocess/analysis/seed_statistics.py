"""Mean, spread and confidence interval over seeds. NaN where there are too few of them."""

import math
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95  # of every interval


@dataclass
class Spread:
    """Of n values: mean, sample standard deviation (n - 1), and half the width of the mean's 95 % Student-t interval.

    Each is an array where the values were arrays.
    """

    n: int
    mean: float | np.ndarray
    sd: float | np.ndarray
    half: float | np.ndarray

    @property
    def low(self) -> float | np.ndarray:
        return self.mean - self.half

    @property
    def high(self) -> float | np.ndarray:
        return self.mean + self.half


def summarise(values) -> Spread:
    """Over the first axis of `values` [n] or [n, K]: one row per seed."""
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    nothing = np.full(values.shape[1:], math.nan)
    mean = values.mean(axis=0) if n else nothing
    sd = values.std(axis=0, ddof=1) if n > 1 else nothing
    half = student_t(n - 1) / math.sqrt(n) * sd if n > 1 else nothing
    if values.ndim > 1:
        return Spread(n, mean, sd, half)
    return Spread(n, float(mean), float(sd), float(half))


def student_t(degrees: int) -> float:
    """The value that a Student-t variable exceeds in absolute value with probability 5 %."""
    from scipy.special import stdtrit  # here, so that runs with one seed need no SciPy

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2.0))
