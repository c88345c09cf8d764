"""Fits of the packing laws to cells (d, k, epsilon): constants, R2 and mean absolute percentage error.

The loss is the published one: plain least squares on epsilon, every cell with the same weight, with the predictions of the
adjusted and the four-parameter form 0 where k <= d (such cells then move no constant, but count in R2 and MAPE).
"""

import math
from dataclasses import dataclass
from typing import Callable

import numpy as np
from . import law

ALL, ABOVE = "all", "k > d"
# Smallest over largest singular value of the Jacobian, columns scaled: below it, the cells do not determine the constants.
DETERMINED = 1e-6


@dataclass(frozen=True)
class Form:
    """One law: which kind of cells it is fitted to, its function of (d, k, constants), and where the search starts."""

    name: str
    kind: str
    predict: Callable
    start: tuple[float, ...]
    keys: tuple[str, ...]  # names of the constants in the deck's [capacity.law]; empty: it has none there


FORMS = (
    Form("JL, random", "random", law.jl_epsilon, (1.0,), ("jl_random",)),
    Form("JL, optimised", "optimised", law.jl_epsilon, (1.0,), ()),
    Form("adjusted", "optimised", law.adjusted_epsilon, (1.0,), ("adjusted",)),
    Form("four-parameter", "optimised", law.fitted_epsilon, (0.5, 1.0, 1.4, 1.0), ("scale", "a", "b", "c")),
)
LOWER, UPPER = (0.0, 0.1, 0.1, 0.1), (100.0, 10.0, 10.0, 10.0)


@dataclass(frozen=True)
class Fit:
    """One form fitted to one set of cells; constants are NaN where the cells do not determine them."""

    data: str
    form: str
    cells: str
    number: int
    C: float
    a: float
    b: float
    c: float
    r2: float
    mape: float

    @property
    def constants(self) -> tuple[float, ...]:
        return tuple(value for value in (self.C, self.a, self.b, self.c) if math.isfinite(value))

    @property
    def determined(self) -> bool:
        return math.isfinite(self.C)


def fit_all(data: str, cells: list) -> list[Fit]:
    """Every form on the cells of its kind: on all of them and on those with k > d. `data` says whose cells they are."""
    found = []
    for form in FORMS:
        mine = [cell for cell in cells if cell.kind == form.kind]
        if mine:
            found += [fit(data, form, which, chosen) for which, chosen in
                      ((ALL, mine), (ABOVE, [cell for cell in mine if cell.k > cell.d]))]
    return found


def fit(data: str, form: Form, which: str, cells: list) -> Fit:
    d, k, epsilon = (np.array([getattr(cell, key) for cell in cells], float) for key in ("d", "k", "epsilon"))
    constants = _solve(form, d, k, epsilon)
    if constants is None:
        return Fit(data, form.name, which, len(cells), *[math.nan] * 6)
    predicted = form.predict(d, k, *constants)
    padded = [*constants, *[math.nan] * (4 - len(constants))]
    return Fit(data, form.name, which, len(cells), *padded, r_squared(epsilon, predicted), mape(epsilon, predicted))


def _solve(form: Form, d: np.ndarray, k: np.ndarray, epsilon: np.ndarray) -> np.ndarray | None:
    """The constants of least squares on epsilon; None where these cells do not determine them, or are no more than them:
    a fit without an error to speak of."""
    from scipy.optimize import least_squares  # here, so that every other command does without SciPy

    size = len(form.start)
    if np.count_nonzero(form.predict(d, k, *form.start)) <= size:
        return None
    solved = least_squares(lambda constants: form.predict(d, k, *constants) - epsilon, form.start, x_scale="jac",
                           bounds=(LOWER[:size], UPPER[:size]), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    scaled = solved.jac * solved.x
    singular = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=0).clip(1e-300), compute_uv=False)
    return solved.x if singular[-1] > DETERMINED * singular[0] else None


def r_squared(measured: np.ndarray, predicted: np.ndarray) -> float:
    """1 - sum of squared errors / sum of squared deviations from the mean; NaN if these are all the same."""
    spread = float(np.sum((measured - measured.mean()) ** 2))
    return 1.0 - float(np.sum((measured - predicted) ** 2)) / spread if spread > 0.0 else math.nan


def mape(measured: np.ndarray, predicted: np.ndarray) -> float:
    """Mean of |error| / measured."""
    return float(np.mean(np.abs(measured - predicted) / measured))


def chosen(fits: list[Fit], form: str, which: str = ALL) -> Fit | None:
    """The fit of a form to `which` cells, if it was made and is determined."""
    return next((fit for fit in fits if (fit.form, fit.cells) == (form, which) and fit.determined), None)


def law_constants(fits: list[Fit]) -> dict[str, float]:
    """The deck's [capacity.law] from the fits to all cells; without the constants that could not be fitted."""
    constants = {}
    for form in FORMS:
        found = chosen(fits, form.name)
        if found is not None:
            constants.update(zip(form.keys, found.constants))
    return constants
