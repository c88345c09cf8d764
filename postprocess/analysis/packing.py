"""Rows of the packing table: measured cells beside the published ones."""

import math
from dataclasses import dataclass

from .. import published
from ..reader import Cell
from . import law, packing_fits

OURS, PUBLISHED = "measured", "published"


@dataclass
class Row:
    """One cell; what is not known of it is NaN."""

    source: str
    kind: str
    d: int
    k: int
    p: float
    repeats: float
    coherence: float
    published: float
    to_published: float
    welch: float
    seconds: float
    learning_rate: float
    seed: float


def published_cells() -> list[published.Cell]:
    return published.packing("optimised") + published.packing("random")


def rows(cells: list[Cell], with_published: bool) -> list[Row]:
    """The cells; `with_published` adds the published cells that are not among them."""
    known = {(cell.kind, cell.d, cell.k): cell.epsilon for cell in published_cells()}
    found = [_measured(cell, known.get((cell.kind, cell.d, cell.k), math.nan)) for cell in cells]
    if with_published:
        there = {(cell.kind, cell.d, cell.k) for cell in cells}
        found += [_published(*key, value) for key, value in known.items() if key not in there]
    return sorted(found, key=lambda row: (row.kind, row.d, row.k))


def _measured(cell: Cell, known: float) -> Row:
    optimised = cell.kind == "optimised"
    return Row(OURS, cell.kind, cell.d, cell.k, cell.p if optimised else math.nan, cell.repeats, cell.epsilon, known,
               cell.epsilon / known, float(law.welch_bound(cell.d, cell.k)), cell.seconds,
               cell.learning_rate if optimised else math.nan, cell.seed)


def _published(kind: str, d: int, k: int, epsilon: float) -> Row:
    repeats = published.STEPS if kind == "optimised" else published.TRIALS
    return Row(PUBLISHED, kind, d, k, math.nan, repeats, math.nan, epsilon, math.nan, float(law.welch_bound(d, k)),
               *[math.nan] * 3)


def fits(cells: list[Cell]) -> list[packing_fits.Fit]:
    """The fits to the measured cells, if there are any, then those to the published ones."""
    return packing_fits.fit_all(OURS, cells) + packing_fits.fit_all(PUBLISHED, published_cells())


def remarks(cells: list[Cell], found: list[packing_fits.Fit]) -> list[str]:
    """What keeps the measured cells from being the published experiment, and fits that could not be made."""
    lines = []
    expected = {"optimised": (published.STEPS, "steps"), "random": (published.TRIALS, "draws")}
    for kind, (number, unit) in expected.items():
        other = [cell for cell in cells if cell.kind == kind and cell.repeats != number]
        if other:
            lines.append(f"{len(other)} {kind} cell{'s were' if len(other) > 1 else ' was'} made with other than the "
                         f"published {number:,} {unit}.")
    ratios = [row.to_published for row in rows(cells, False) if math.isfinite(row.to_published) and row.k > row.d]
    if ratios:
        lines.append(f"Measured over published epsilon, {len(ratios)} cell{'s' * (len(ratios) > 1)} with k > d: "
                     f"{min(ratios):.4f} to {max(ratios):.4f}.")
    open_forms = [fit.form for fit in found if fit.data == OURS and fit.cells == packing_fits.ALL and not fit.determined]
    if open_forms:
        lines.append(f"The measured cells are too few, or too alike, for the constants of: {', '.join(open_forms)}.")
    return lines


def toml(cells: list[Cell]) -> str:
    """The law fitted to `cells`, or to the published ones if there are none, as a table for the capacity job's deck."""
    used = cells or published_cells()
    constants = packing_fits.law_constants(packing_fits.fit_all("", used))
    whose = f"{len(used)} {'measured' if cells else 'published (arXiv:2606.02765)'} packing cell{'s' * (len(used) > 1)}"
    missing = [key for form in packing_fits.FORMS for key in form.keys if key not in constants]
    remark = f"Least squares on epsilon over {whose}."
    if missing:
        remark += f"\nNot determined by them, so left at their defaults: {', '.join(missing)}."
    return law.deck_table(constants, remark)
