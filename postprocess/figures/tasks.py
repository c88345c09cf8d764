"""Evaluation tasks: one panel for each task, one line for each variant."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import style
from ..analysis.tasks import TaskRow, primary

COLUMNS = 3


def draw(rows: list[TaskRow]) -> Figure:
    """One metric of each task; the bar is two standard errors over documents to either side, or, of several seeds, two
    sample standard deviations over them if these are larger. Dashed: a blind choice."""
    shown = primary(rows)
    tasks = list(dict.fromkeys(row.task for row in shown))
    variants = list(dict.fromkeys(row.variant for row in shown))
    columns = min(COLUMNS, len(tasks))
    lines = -(-len(tasks) // columns)
    figure, grid = style.pyplot.subplots(lines, columns, squeeze=False, sharey=True,
                                         figsize=(1.6 + 2.6 * columns, lines * (1.0 + 0.28 * len(variants))))
    panels = list(grid.flat)
    for axes, task in zip(panels, tasks):
        _panel(axes, [row for row in shown if row.task == task], variants)
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    return figure


def _panel(axes: Axes, rows: list[TaskRow], variants: list[str]) -> None:
    if math.isfinite(rows[0].chance):
        axes.axvline(rows[0].chance, color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)))
    for row in rows:
        index = variants.index(row.variant)
        look = style.look(index)
        errors = [error for error in (row.stderr, row.value_sd) if math.isfinite(error)]
        height = len(variants) - 1 - index
        if errors:
            axes.errorbar(row.value, height, xerr=2.0 * max(errors), color=look.colour, capsize=3, linewidth=1.4)
        axes.plot(row.value, height, look.marker, color=look.colour, markersize=6)
    axes.set_yticks(range(len(variants)), [style.plain(name) for name in variants[::-1]])
    axes.set_ylim(-0.6, len(variants) - 0.4)
    axes.grid(axis="y", visible=False)
    axes.set_title(style.plain(rows[0].task))
    axes.set_xlabel(style.plain(rows[0].metric))
