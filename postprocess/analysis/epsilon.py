"""Epsilon of the embedding matrices while a model trains: rows of /geometry in history.h5, by variant and over
seeds."""

import math
from dataclasses import dataclass

import numpy as np

from .. import deck
from ..reader import Member
from . import curves
from .seed_statistics import summarise
from .variants import Variant

MATRICES = ("input", "output")


@dataclass
class Curve:
    """One matrix of one variant: epsilon [n seeds, K] of the rows as they are and less their mean, at `tokens` [K]."""

    variant: str
    matrix: str
    width: float
    tokens: np.ndarray
    epsilon: np.ndarray
    centred: np.ndarray


@dataclass
class Row:
    """The last of a curve, as the table prints it: means over the seeds."""

    variant: str
    matrix: str
    seeds: int
    tokens: float
    epsilon: float
    epsilon_sd: float
    epsilon_centred: float
    relative: float


def curves_of(variants: list[Variant]) -> list[Curve]:
    """One for each variant and matrix that was measured; a tied model has no output matrix of its own."""
    found = []
    for variant in variants:
        for number, matrix in enumerate(MATRICES):
            begun = [member for member in variant.members if np.any(member.column("geometry/matrix") == number)]
            if not begun:
                continue
            tokens, epsilon = curves.aligned([_points(member, number, "epsilon") for member in begun])
            centred = curves.aligned([_points(member, number, "epsilon_centred") for member in begun])[1]
            found.append(Curve(variant.name, matrix, _width(begun[0]), tokens, epsilon, centred))
    return found


def last(found: list[Curve]) -> list[Row]:
    rows = []
    for curve in found:
        if curve.tokens.size:
            epsilon = summarise(curve.epsilon[:, -1])
            rows.append(Row(curve.variant, curve.matrix, epsilon.n, float(curve.tokens[-1]), epsilon.mean, epsilon.sd,
                            summarise(curve.centred[:, -1]).mean, epsilon.mean * np.sqrt(curve.width) / 2.0))
    return rows


def _width(member: Member) -> float:
    """D, NaN if the deck does not say."""
    width = deck.settings(member).get("transformer.width")
    return float(width) if isinstance(width, int) and width > 0 else math.nan


def _points(member: Member, number: int, column: str) -> tuple[np.ndarray, np.ndarray]:
    mine = member.column("geometry/matrix") == number
    return member.column("geometry/tokens")[mine], member.column(f"geometry/{column}")[mine]
