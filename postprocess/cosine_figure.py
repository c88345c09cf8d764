"""Histograms of the cosines between rows of the embedding matrix, one panel per variant."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import geometry, style
from .cosine_table import Row

CENTRED = (0, (4, 1.5))
RANDOM = ":"


def draw(variants: list[str], measured: list[Row], matrix: str) -> Figure:
    """One panel per variant of `variants` (which fixes the colours) that has a histogram in `measured`."""
    panels = {name: [g for g in measured if g.variant == name and g.histogram is not None] for name in variants}
    panels = {name: pair for name, pair in panels.items() if pair}
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = style.pyplot.subplots(rows, columns, sharex=True, squeeze=False,
                                         figsize=(7.2 if columns == 2 else 5.6, 0.9 + 2.3 * rows))
    low, high = _limits([g for pair in panels.values() for g in pair])
    for axis, (name, pair) in zip(axes.flat, panels.items()):
        _draw_panel(axis, name, pair, style.look(variants.index(name)).colour)
        axis.set_xlim(low, high)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for column in range(columns):  # the lowest visible panel of each column carries the axis
        last = [axes[row, column] for row in range(rows) if row * columns + column < len(panels)][-1]
        last.set_xlabel(f"cosine of two {matrix} rows")
        last.tick_params(labelbottom=True)
    for row in range(rows):
        axes[row, 0].set_ylabel(f"% of pairs per {2 / geometry.BINS:g}")
    _add_legend(figure)
    return figure


def _add_legend(figure: Figure) -> None:
    """One legend for all panels, in a strip of its own above them."""
    grey = style.REFERENCE_GREY
    handles = [Patch(facecolor=grey, edgecolor=grey, alpha=0.45, label="rows as they are"),
               Line2D([], [], color=grey, linewidth=1.3, linestyle=CENTRED, label="mean row removed"),
               Line2D([], [], color=grey, linewidth=1.0, linestyle=RANDOM, label="random directions")]
    strip = 0.32 / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", ncol=3, handlelength=1.8, columnspacing=1.2, borderaxespad=0.2)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - strip))


def _draw_panel(axes: Axes, name: str, pair: list[Row], colour: str) -> None:
    centres = geometry.bin_centres()
    edges = np.linspace(-1.0, 1.0, geometry.BINS + 1)
    for one in pair:
        share = 100.0 * one.histogram / max(1, one.histogram.sum())
        if one.centred:
            axes.plot(centres, share, color=colour, linewidth=1.3, linestyle=CENTRED)
        else:
            axes.stairs(share, edges, color=colour, fill=True, alpha=0.35)
            axes.stairs(share, edges, color=colour, linewidth=1.0)
    spread = 1.0 / math.sqrt(pair[0].width)
    normal = np.exp(-0.5 * (centres / spread) ** 2) / (spread * math.sqrt(2.0 * math.pi)) * 100.0 * 2 / geometry.BINS
    axes.plot(centres, normal, color=style.REFERENCE_GREY, linewidth=1.0, linestyle=RANDOM)
    values = ", ".join(f"{one.relative:.2f} {'centred' if one.centred else 'raw'}" for one in pair)
    seeds = f" ({pair[0].seeds} seeds)" if pair[0].seeds > 1 else ""
    axes.set_title(f"{name}{seeds}\n$\\epsilon\\sqrt{{D}}/2$ = {values}", loc="left")
    axes.set_ylim(bottom=0.0)


def _limits(measured: list[Row]) -> tuple[float, float]:
    """The range of cosines that holds all but 0.01 % of the pairs of each histogram, and random directions too."""
    centres = geometry.bin_centres()
    low = high = 0.0
    for one in measured:
        share = np.cumsum(one.histogram) / max(1, one.histogram.sum())
        inside = centres[(share > 1e-4) & (share < 1.0 - 1e-4)]
        extent = 4.0 / math.sqrt(one.width)
        low = min([low, -extent, *inside])
        high = max([high, extent, *inside])
    return max(-1.0, low - 0.03), min(1.0, high + 0.03)
