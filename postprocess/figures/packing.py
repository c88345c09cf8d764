"""Coherence of packings against the number of vectors, one panel per dimension, with the laws and the Welch bound."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from .. import style
from ..analysis import law, packing_fits
from ..analysis.packing import OURS, PUBLISHED, published_cells
from ..reader import Cell

COLUMNS = 4
# form -> colour, dashes, width
LINES = {
    "JL, random": ("#CC79A7", (0, (1.2, 0.9)), 1.4),
    "JL, optimised": ("#E69F00", (0, (7, 1.5, 1.5, 1.5)), 1.2),
    "adjusted": ("#0072B2", (0, (5, 1.5)), 1.4),
    "four-parameter": ("#000000", "-", 1.2),
}
WELCH = (style.REFERENCE_GREY, (0, (2.5, 1)), 1.2)
# kind -> marker
KINDS = {"optimised": "o", "random": "s"}
NAMES = {"JL, random": "$\\sqrt{C \\ln k / d}$, fitted to random", "JL, optimised": "$\\sqrt{C \\ln k / d}$, to optimised",
         "adjusted": "$\\sqrt{C \\ln(k/d) / d}$", "four-parameter": "four-parameter"}


def draw(cells: list[Cell], fits: list[packing_fits.Fit]) -> Figure:
    """`cells` (filled) over the published ones (open); the laws are `cells`' own where they are all determined."""
    everything = published_cells()
    dimensions = sorted({cell.d for cell in cells or everything if cells or cell.kind == "optimised"})
    columns = min(COLUMNS, len(dimensions))
    rows = -(-len(dimensions) // columns)
    figure, axes = style.pyplot.subplots(rows, columns, squeeze=False,
                                         figsize=(max(5.6, 2.5 * columns + 0.6), 1.2 + 2.15 * rows))
    whose, chosen = _law(fits)
    for axis, d in zip(axes.flat, dimensions):
        _draw_panel(axis, d, [cell for cell in everything if cell.d == d], [cell for cell in cells if cell.d == d], chosen)
    for axis in axes.flat[len(dimensions):]:
        axis.set_visible(False)
    for row in range(rows):
        axes[row, 0].set_ylabel("$\\epsilon$ = largest |cosine|")
    for column in range(columns):  # the lowest visible panel of each column carries the axis
        last = [axes[row, column] for row in range(rows) if row * columns + column < len(dimensions)][-1]
        last.set_xlabel("vectors k (thousands)")
    _add_legend(figure, bool(cells), whose, chosen)
    return figure


def _law(fits: list[packing_fits.Fit]) -> tuple[str, list[packing_fits.Fit]]:
    """(whose fits are drawn, these): the measured cells' own where all forms of optimised packings are determined."""
    forms = [form for form in packing_fits.FORMS if form.kind == "optimised"]
    ours = [fit for fit in fits if fit.data == OURS]
    own = all(packing_fits.chosen(ours, form.name) for form in forms)
    whose = OURS if own else PUBLISHED
    mine = [fit for fit in fits if fit.data == whose]
    found = [packing_fits.chosen(mine, form.name) for form in packing_fits.FORMS]
    return whose, [fit for fit in found if fit is not None]


def _draw_panel(axes: Axes, d: int, known: list, cells: list[Cell], fits: list[packing_fits.Fit]) -> None:
    counts = [cell.k for cell in known + cells]
    k = np.geomspace(min(counts) * 0.85, max(counts) * 1.18, 400)
    there = {cell.kind for cell in known + cells}
    for fit in fits:
        form = next(form for form in packing_fits.FORMS if form.name == fit.form)
        if form.kind not in there:  # a law far from every point would flatten the panel
            continue
        values = form.predict(d, k, *fit.constants)
        colour, dashes, width = LINES[fit.form]
        axes.plot(k, np.where(values > 0.0, values, np.nan), color=colour, linestyle=dashes, linewidth=width)
    bound = law.welch_bound(d, k)
    axes.plot(k, np.where(bound > 0.0, bound, np.nan), color=WELCH[0], linestyle=WELCH[1], linewidth=WELCH[2])
    for kind, marker in KINDS.items():
        _points(axes, [cell for cell in known if cell.kind == kind], marker, "white", 3.6)
        _points(axes, [cell for cell in cells if cell.kind == kind], marker, "#D55E00", 5.2)
    axes.set_title(f"d = {d:,}", loc="left")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(k[0], k[-1])
    axes.yaxis.set_major_locator(MaxNLocator(5))
    _ticks(axes, k[0], k[-1])


def _points(axes: Axes, cells: list, marker: str, face: str, size: float) -> None:
    axes.plot([cell.k for cell in cells], [cell.epsilon for cell in cells], marker, markerfacecolor=face, markersize=size,
              markeredgecolor="black", markeredgewidth=0.7, linestyle="none", zorder=3)


def _ticks(axes: Axes, low: float, high: float) -> None:
    """Powers of two times 1,000: at most six of them."""
    first, last = math.ceil(math.log2(low / 1000.0)), math.floor(math.log2(high / 1000.0))
    step = 1 + (last - first) // 6
    axes.set_xticks([1000.0 * 2.0 ** power for power in range(first, last + 1, step)] or [round(math.sqrt(low * high), -1)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda k, _: f"{k / 1000.0:,.5g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _add_legend(figure: Figure, measured: bool, whose: str, fits: list[packing_fits.Fit]) -> None:
    """One legend for all panels, in a strip of its own above them."""
    def point(marker: str, face: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color="black", markerfacecolor=face, markeredgewidth=0.7, markersize=5,
                      linestyle="none", label=label)

    handles = [point("o", "#D55E00", "optimised, measured"), point("s", "#D55E00", "random, measured")] if measured else []
    handles += [point("o", "white", "optimised, published"), point("s", "white", "random, published")]
    handles += [Line2D([], [], color=LINES[fit.form][0], linestyle=LINES[fit.form][1], linewidth=LINES[fit.form][2],
                       label=NAMES[fit.form]) for fit in fits]
    handles.append(Line2D([], [], color=WELCH[0], linestyle=WELCH[1], linewidth=WELCH[2], label="Welch bound"))
    columns = 4 if figure.get_figwidth() > 9.0 else 3 if figure.get_figwidth() > 7.0 else 2
    lines = -(-len(handles) // columns) + 1
    strip = (0.1 + 0.2 * lines) / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", ncol=columns, handlelength=2.6, columnspacing=1.4, borderaxespad=0.2,
                  title=f"lines: fitted to the {whose} cells", title_fontsize=9, alignment="left")
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - strip))
