"""Differences to the reference with their intervals: one line per variant, readable without colour."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import style
from ..analysis import curves
from ..analysis.comparison import Row
from ..analysis.variants import Variant


def draw(variants: list[Variant], rows: list[Row], reference: Variant) -> Figure:
    """`rows` in the order of `variants`; a small dot is one seed, the large one their mean, the bar its 95 %
    interval."""
    shown = [(index, variant, row) for index, (variant, row) in enumerate(zip(variants, rows))
             if variant is not reference and math.isfinite(row.difference_nats)]
    shown.sort(key=lambda item: item[2].difference_nats, reverse=True)  # the best at the top
    several = any(row.pairs > 1 for _, _, row in shown)
    figure, axes = style.pyplot.subplots(figsize=(7.2, 1.7 + 0.4 * max(1, len(shown))))
    axes.axvline(0.0, color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)))
    for height, (index, variant, row) in enumerate(shown):
        _draw_row(axes, height, style.look(index), row, curves.differences(variant, reference)[1][:, -1])
    axes.set_yticks(range(len(shown)), [style.plain(row.variant) + (f" ({row.pairs})" if several else "")
                                        for _, _, row in shown])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(*_limits([row for _, _, row in shown]))
    detail = "\nmean over seeds (how many), 95 % Student-t interval; small dots: each seed" if several else ""
    axes.set_xlabel(f"d = validation loss minus {style.plain(reference.name)}'s (nats per token); left is better{detail}")
    above = axes.secondary_xaxis("top", functions=(_percent, _nats))
    above.set_xlabel(f"perplexity change, exp(d)-1 (% of {style.plain(reference.name)}'s)")
    return figure


def _draw_row(axes: Axes, height: int, look: style.Look, row: Row, each: np.ndarray) -> None:
    if row.pairs > 1:
        axes.errorbar(row.difference_nats, height, xerr=row.difference_half, color=look.colour, capsize=4, linewidth=1.6)
        axes.plot(each, np.full(each.size, height - 0.22), ".", color=look.colour, markersize=4)
    axes.plot(row.difference_nats, height, look.marker, color=look.colour, markersize=7)


def _limits(rows: list[Row]) -> tuple[float, float]:
    """All intervals and zero."""
    ends = [0.0]
    for row in rows:
        half = row.difference_half if math.isfinite(row.difference_half) else 0.0
        ends += [row.difference_nats - half, row.difference_nats + half]
    margin = 0.06 * (max(ends) - min(ends)) or 0.01
    return min(ends) - margin, max(ends) + margin


def _percent(nats: np.ndarray) -> np.ndarray:
    return 100.0 * np.expm1(nats)


def _nats(percent: np.ndarray) -> np.ndarray:
    return np.log1p(np.maximum(np.asarray(percent), -99.9999) / 100.0)
