"""The laws between width d, coherence epsilon and number k of directions, as fits to packings use them: epsilon of k.

    Johnson-Lindenstrauss   eps = sqrt(C ln(k) / d)
    adjusted                eps = sqrt(C ln(k / d) / d)
    four-parameter          eps = sqrt(C ln(k^a / d)^b / d^c)

Their inverses, k of epsilon, are the executable's (physics-style/capacity/law.hpp); capacity.h5 has what it found.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

CLASS_1, CLASS_2 = 0.2, 0.1  # epsilon above, below: the band that figures draw


@dataclass(frozen=True)
class Law:
    """The constants, named as in the deck's [capacity.law]; NaN where the deck does not say."""

    jl_textbook: float = math.nan
    jl_random: float = math.nan
    adjusted: float = math.nan
    scale: float = math.nan  # C of the four-parameter form
    a: float = math.nan
    b: float = math.nan
    c: float = math.nan

    def __str__(self) -> str:
        return ", ".join(f"{field.name} = {getattr(self, field.name):.9g}" for field in fields(self))


def from_deck(settings: dict[str, object]) -> Law:
    """The law of a resolved deck's [capacity.law]."""
    values = {field.name: settings.get(f"capacity.law.{field.name}") for field in fields(Law)}
    return Law(**{name: float(value) for name, value in values.items() if isinstance(value, (int, float))})


def deck_table(constants: dict[str, float], remark: str) -> str:
    """A [capacity.law] table for a deck, with the numbers in full; `remark`: lines on where they are from."""
    lines = [f"# {line}" for line in remark.splitlines()] + ["[capacity.law]"]
    return "\n".join(lines + [f"{name} = {float(value)!r}" for name, value in constants.items()])


def jl_epsilon(d, k, constant: float):
    """The coherence of k vectors in d dimensions by Johnson and Lindenstrauss."""
    return np.sqrt(constant * np.log(k) / d)


def adjusted_epsilon(d, k, constant: float):
    """The same, adjusted; 0 where k <= d."""
    return np.where(np.asarray(k) > d, np.sqrt(constant * np.log(_clipped(np.asarray(k) / d)) / d), 0.0)


def fitted_epsilon(d, k, scale: float, a: float, b: float, c: float):
    """The same by the four-parameter form; 0 where k <= d."""
    logarithm = np.log(_clipped(np.power(k, a) / d))
    return np.where(np.asarray(k) > d, np.sqrt(scale * np.power(logarithm, b) / np.power(d, c)), 0.0)


def _clipped(ratio):
    """As in the published fit: keeps the logarithm above zero for k close to d (and, with a < 1, beyond)."""
    return np.maximum(ratio, 1.00001)


def log10_random(d: float, law: Law) -> float:
    """log10 of the k at which the four-parameter form reaches the epsilon of random directions: found, not inverted."""
    log10_k = np.linspace(math.log10(d), 40.0, 4000)
    return float(np.interp(random_epsilon(d), fitted_epsilon(d, 10.0**log10_k, law.scale, law.a, law.b, law.c), log10_k))


def welch_bound(d, k):
    """No k unit vectors in d dimensions have a smaller largest |cosine|; 0 where k <= d."""
    d, k = np.asarray(d, float), np.asarray(k, float)
    return np.sqrt(np.maximum(k - d, 0.0) / (d * np.maximum(k - 1.0, 1.0)))


def random_epsilon(d):
    """mu + 2 sigma of the cosines of independent Gaussian rows."""
    return 2.0 / np.sqrt(d)
