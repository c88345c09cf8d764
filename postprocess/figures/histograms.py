"""Histograms of the cosines of all pairs of rows, one panel per matrix, with epsilon marked."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .. import numbers, style
from ..analysis.capacity import WHOLE, Row

CENTRED, RANDOM = (0, (4, 1.5)), (0, (1.2, 0.9))
DRAWN_BINS = 120  # at most, in a panel: finer ones are added up
FIGURES = 3  # of a bin's width


def draw(rows: list[Row]) -> Figure:
    """Filled: rows as they are; dashed: mean row removed. Each panel has a range of its own."""
    panels: dict[str, list[Row]] = {}
    for row in rows:
        if row.row_set in WHOLE and row.histogram is not None:
            panels.setdefault(row.matrix, []).append(row)
    columns = min(2, max(1, len(panels)))
    lines = max(1, -(-len(panels) // columns))
    figure, axes = style.pyplot.subplots(lines, columns, squeeze=False,
                                         figsize=(7.4 if columns == 2 else 5.6, 0.8 + 2.5 * lines))
    for index, (axis, (name, pair)) in enumerate(zip(axes.flat, panels.items())):
        _draw_panel(axis, name, pair, style.look(index).colour)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    _add_legend(figure)
    return figure


def _draw_panel(axes: Axes, name: str, pair: list[Row], colour: str) -> None:
    low, high = _limits(pair)
    factor = 1
    for row in pair:
        bins = len(row.histogram)
        factor = _factor(bins, 0.5 * (high - low) * bins)
        edges = np.linspace(-1.0, 1.0, bins // factor + 1)
        counts = row.histogram.reshape(-1, factor).sum(axis=1)
        share = 100.0 * counts / max(1, counts.sum())
        fill = {} if row.centred else {"fill": True, "alpha": 0.35}
        if fill:
            axes.stairs(share, edges, color=colour, **fill)
        axes.stairs(share, edges, color=colour, linewidth=1.2, linestyle=CENTRED if row.centred else "-")
    step = 2.0 * factor / len(pair[0].histogram)
    cosines, spread = np.linspace(low, high, 400), 1.0 / math.sqrt(pair[0].width)
    normal = np.exp(-0.5 * (cosines / spread) ** 2) / (spread * math.sqrt(2.0 * math.pi)) * 100.0 * step
    axes.plot(cosines, normal, color=style.REFERENCE_GREY, linewidth=1.2, linestyle=RANDOM)
    top = max(axes.get_ylim()[1], float(normal.max())) * 1.02
    for row in (row for row in pair if math.isfinite(row.epsilon)):
        axes.axvline(row.epsilon, color=colour, linewidth=1.4, linestyle=CENTRED if row.centred else "-")
        axes.plot(row.epsilon, 0.97 * top, "v", color=colour, markersize=6, clip_on=False,
                  markerfacecolor="white" if row.centred else colour)
    values = ", ".join(f"{numbers.shown('.4f', row.epsilon)}{' centred' if row.centred else ''}" for row in pair)
    axes.set_title(f"{style.plain(name)}, D = {pair[0].width:,}\n$\\epsilon$ = {values}", loc="left")
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, top)
    axes.set_xlabel("cosine of two rows")
    axes.set_ylabel(f"% of pairs per {step:.{FIGURES}g}")


def _factor(bins: int, visible: float) -> int:
    """How many bins make a drawn one: the smallest divisor of `bins` that leaves few enough of the `visible` ones."""
    return next(factor for factor in range(1, bins + 1)
                if bins % factor == 0 and (visible / factor <= DRAWN_BINS or factor == bins))


def _limits(pair: list[Row]) -> tuple[float, float]:
    """The range that holds all but 0.01 % of the pairs at either end, epsilon, and random directions."""
    reach = 4.0 / math.sqrt(pair[0].width)
    low, high = -reach, reach
    for row in pair:
        edges = np.linspace(-1.0, 1.0, len(row.histogram) + 1)
        share = np.cumsum(row.histogram, dtype=float) / max(1.0, row.histogram.sum(dtype=float))
        first, last = np.searchsorted(share, (1e-4, 1.0 - 1e-4))
        low = min(low, edges[first])
        high = max(high, edges[min(last + 1, len(edges) - 1)], row.epsilon if abs(row.epsilon) <= 2.0 else 0.0)
    margin = 0.03 * (high - low)
    return max(-1.0, low - margin), high + margin if high > 0.97 else min(1.0, high + margin)


def _add_legend(figure: Figure) -> None:
    grey = style.REFERENCE_GREY
    handles = [Patch(facecolor=grey, edgecolor=grey, alpha=0.45, label="rows as they are"),
               Line2D([], [], color=grey, linewidth=1.3, linestyle=CENTRED, label="mean row removed"),
               Line2D([], [], color=grey, linewidth=1.2, linestyle=RANDOM, label="random directions"),
               Line2D([], [], color=grey, marker="v", linewidth=1.4, label="$\\epsilon = \\mu + 2\\sigma$")]
    strip = 0.32 / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", ncol=4, handlelength=1.8, columnspacing=1.2, borderaxespad=0.2)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - strip))
