"""Epsilon and capacity of embedding matrices against their width, with the classes, random directions and published
models."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from .. import published, style
from ..analysis import law
from ..analysis.capacity import WHOLE, Row

COLUMNS = 4  # of the legend
RANDOM = (0, (1.2, 0.9))
PUBLISHED = {"marker": "x", "color": style.REFERENCE_GREY, "linestyle": "none", "markersize": 5, "markeredgewidth": 1.2}


def draw(rows: list[Row], constants: law.Law) -> Figure:
    """Filled: rows as they are; open: mean row removed. `constants` give the random line's capacity."""
    shown = [row for row in rows if row.row_set in WHOLE and math.isfinite(row.epsilon)]
    names = list(dict.fromkeys(row.matrix for row in rows))
    models = published.models()
    lines = 2 + -(-len(names) // COLUMNS)
    figure, (left, right) = style.pyplot.subplots(1, 2, figsize=(9.6, 4.1 + 0.21 * lines))
    widths = [row.width for row in shown] + [model.width for model in models]
    low, high = 0.7 * min(widths), 1.3 * max(widths)
    width = np.geomspace(low, high, 200)
    _draw_epsilon(left, shown, names, models, width)
    _draw_capacity(right, shown, names, models, width, constants)
    for axes in (left, right):
        _width_axis(axes, low, high, len({row.matrix for row in shown}) > len({row.width for row in shown}))
    _add_legend(figure, names, lines)
    return figure


def _draw_epsilon(axes: Axes, rows: list[Row], names: list[str], models: list, width: np.ndarray) -> None:
    axes.axhspan(law.CLASS_2, law.CLASS_1, color="#efefef", linewidth=0.0, zorder=0)
    axes.plot(width, law.random_epsilon(width), color=style.REFERENCE_GREY, linestyle=RANDOM, linewidth=1.4)
    axes.plot([model.width for model in models], [model.epsilon for model in models], **PUBLISHED)
    _name_models(axes, models, lambda model: model.epsilon)
    _points(axes, rows, names, lambda row: row.epsilon if row.epsilon > 0.0 else math.nan)
    values = [row.epsilon for row in rows if row.epsilon > 0.0] + [model.epsilon for model in models]
    bottom = 0.75 * min(*values, law.random_epsilon(width[-1]))
    axes.set_yscale("log")
    axes.set_ylim(bottom, 1.35 * max(*values, law.CLASS_1, law.random_epsilon(width[0])))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel("$\\epsilon = \\mu + 2\\sigma$ of the cosines of all pairs of rows")
    for height, above, words in ((law.CLASS_1, True, "class 1"), (law.CLASS_2, False, "class 2")):
        axes.annotate(words, (1.0, height), xycoords=axes.get_yaxis_transform(), xytext=(-3, 3 if above else -3),
                      textcoords="offset points", ha="right", va="bottom" if above else "top", fontsize=8,
                      color="#444444")


def _draw_capacity(axes: Axes, rows: list[Row], names: list[str], models: list, width: np.ndarray,
                   constants: law.Law) -> None:
    axes.plot(width, [law.log10_random(d, constants) for d in width], color=style.REFERENCE_GREY,
              linestyle=RANDOM, linewidth=1.4)
    axes.plot(width, np.log10(width), color=style.REFERENCE_GREY, linestyle="-", linewidth=0.9)
    axes.plot([model.width for model in models], [math.log10(model.capacity) for model in models], **PUBLISHED)
    _name_models(axes, models, lambda model: math.log10(model.capacity))
    _points(axes, rows, names, lambda row: row.log10_k_fitted)
    axes.set_ylim(bottom=0.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$10^{{{value:g}}}$"))
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("directions k that fit at this $\\epsilon$, four-parameter law")


def _points(axes: Axes, rows: list[Row], names: list[str], value) -> None:
    """Filled marker: as it is; open marker: centred; a line between the two of one matrix."""
    places = _places(rows)
    for index, name in enumerate(names):
        mine, look = [row for row in rows if row.matrix == name], style.look(index)
        axes.plot([places[name]] * len(mine), [value(row) for row in mine], color=look.colour, linewidth=0.8)
        for row in mine:
            axes.plot(places[name], value(row), look.marker, color=look.colour, markersize=7, markeredgewidth=1.3,
                      markerfacecolor="white" if row.centred else look.colour)


def _places(rows: list[Row]) -> dict[str, float]:
    """Where each matrix is drawn: those of one width side by side around it."""
    widths = {row.matrix: row.width for row in rows}
    places = {}
    for width in set(widths.values()):
        alike = [name for name, other in widths.items() if other == width]
        gap = min(0.09, 0.45 / len(alike))
        places.update({name: width * math.exp(gap * (i - 0.5 * (len(alike) - 1))) for i, name in enumerate(alike)})
    return places


def _name_models(axes: Axes, models: list, value) -> None:
    for model in models:
        if model.name:
            axes.annotate(model.name, (model.width, value(model)), xytext=(-48, 14), textcoords="offset points",
                          ha="center", va="center", fontsize=7.5, color=style.REFERENCE_GREY,
                          arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": style.REFERENCE_GREY})


def _width_axis(axes: Axes, low: float, high: float, crowded: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    axes.set_xticks([2.0 ** power for power in powers][::1 + len(powers) // 8])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("width D (matrices of one width side by side)" if crowded else "width D")


def _add_legend(figure: Figure, names: list[str], lines: int) -> None:
    """One legend for both panels, in a strip of its own above them."""
    grey = style.REFERENCE_GREY
    handles = [Line2D([], [], color=style.look(i).colour, marker=style.look(i).marker, linestyle="none",
                      label=style.plain(name))
               for i, name in enumerate(names)]
    handles += [Line2D([], [], color=grey, marker="o", markerfacecolor="white", linestyle="none", label="mean row removed"),
                Line2D([], [], **PUBLISHED, label="published (arXiv:2606.02765)"),
                Line2D([], [], color=grey, linestyle=RANDOM, label="random directions, $\\epsilon = 2/\\sqrt{D}$"),
                Line2D([], [], color=grey, linewidth=0.9, label="k = D")]
    strip = (0.12 + 0.2 * lines) / figure.get_figheight()
    figure.legend(handles=handles, loc="upper left", ncol=COLUMNS, handlelength=1.8, columnspacing=1.2, borderaxespad=0.2)
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - strip))
