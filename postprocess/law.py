"""The laws between width d, coherence epsilon and number k of directions; the same as physics-style/capacity/law.hpp.

    Johnson-Lindenstrauss   eps = sqrt(C ln(k) / d)               k = exp(d eps^2 / C)
    adjusted                eps = sqrt(C ln(k / d) / d)           k = d exp(d eps^2 / C)
    four-parameter          eps = sqrt(C ln(k^a / d)^b / d^c)     k = (d exp((eps^2 d^c / C)^(1/b)))^(1/a)

Capacities are in log10 k, since k overflows a double soon. An epsilon below 0 (rows that repel each other) is taken as 0.
"""

import math
from dataclasses import asdict, dataclass, fields

import numpy as np

CLASS_1, CLASS_2 = 0.2, 0.1  # epsilon above, below


@dataclass(frozen=True)
class Law:
    """The constants, named as in the deck's [capacity.law]; the defaults are the published fits (arXiv:2606.02765)."""

    jl_textbook: float = 8.0
    jl_random: float = 3.029
    adjusted: float = 1.2934
    scale: float = 0.45809143  # C of the four-parameter form
    a: float = 1.0668005
    b: float = 1.44738666
    c: float = 0.97197234


PUBLISHED = Law()


def from_deck(settings: dict[str, object]) -> Law:
    """The law of a resolved deck's [capacity.law]; constants that it does not name are the published ones."""
    values = {field.name: settings.get(f"capacity.law.{field.name}") for field in fields(Law)}
    return Law(**{name: float(value) for name, value in values.items() if isinstance(value, (int, float))})


def deck_table(constants: dict[str, float], remark: str) -> str:
    """A [capacity.law] table for a deck, with the numbers in full; `remark`: lines on where they are from."""
    lines = [f"# {line}" for line in remark.splitlines()] + ["[capacity.law]"]
    return "\n".join(lines + [f"{name} = {float(value)!r}" for name, value in constants.items()])


def log10_jl(d, epsilon, constant: float):
    """log10 of the Johnson-Lindenstrauss capacity."""
    return d * _square(epsilon) / constant / math.log(10.0)


def log10_adjusted(d, epsilon, law: Law = PUBLISHED):
    return (np.log(d) + d * _square(epsilon) / law.adjusted) / math.log(10.0)


def log10_fitted(d, epsilon, law: Law = PUBLISHED):
    """log10 of the four-parameter capacity, before it is rounded up."""
    inner = _square(epsilon) * np.power(d, law.c) / law.scale
    return (np.log(d) + np.power(inner, 1.0 / law.b)) / law.a / math.log(10.0)


def _square(epsilon):
    return np.square(np.maximum(epsilon, 0.0))


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


def welch_bound(d, k):
    """No k unit vectors in d dimensions have a smaller largest |cosine|; 0 where k <= d."""
    d, k = np.asarray(d, float), np.asarray(k, float)
    return np.sqrt(np.maximum(k - d, 0.0) / (d * np.maximum(k - 1.0, 1.0)))


def random_epsilon(d):
    """mu + 2 sigma of the cosines of independent Gaussian rows."""
    return 2.0 / np.sqrt(d)


def capacity_class(epsilon: float) -> str:
    """1: epsilon > 0.2, 2: epsilon < 0.1, -: neither (or unknown)."""
    return "1" if epsilon > CLASS_1 else "2" if epsilon < CLASS_2 else "-"


def capacity_text(log10_k: float, up: bool = False) -> str:
    """A number of vectors as the executable prints it: 277, 3.99e+07, 10^1234.57. A bound is rounded down, or `up`."""
    if not math.isfinite(log10_k):
        return "N/A"
    if log10_k >= 300.0:
        return f"10^{log10_k:.2f}"
    k = 10.0 ** log10_k
    if log10_k < 6.0:  # a number that is whole but for rounding must not become the next one
        return f"{math.ceil(k * (1.0 - 1e-12)) if up else math.floor(k * (1.0 + 1e-12)):.0f}"
    return f"{k:.2e}"


def same(laws: list[Law]) -> bool:
    return all(asdict(law) == asdict(laws[0]) for law in laws)
