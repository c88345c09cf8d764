"""Loss by token frequency: per bin and variant above, difference to the reference with its interval below."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import style
from ..analysis.frequency import Frequencies, Row

SPREAD = 0.7  # of the distance of two bins, over which the variants stand side by side


def draw(found: Frequencies) -> Figure:
    """The lower panel is left out where there is no reference."""
    others = [name for name in found.variants if name != found.reference]
    rows = 2 if found.reference and others else 1
    figure, axes = style.pyplot.subplots(rows, 1, sharex=True, squeeze=False, figsize=(7.6, 7.0 if rows == 2 else 4.4))
    several = any(row.seeds > 1 for row in found.rows)
    for index, name in enumerate(found.variants):
        _draw_losses(axes[0, 0], found, name, style.look(index), _shift(index, len(found.variants)))
    axes[0, 0].set_ylabel("validation loss (nats per target)" + ("\nmean over seeds +- sd" if several else ""))
    axes[0, 0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncol=4, borderaxespad=0.2, handlelength=1.0)
    if rows == 2:
        for index, name in enumerate(found.variants):
            if name != found.reference:
                _draw_differences(axes[1, 0], found.of(name), style.look(index), _shift(index, len(found.variants)))
        _finish_differences(axes[1, 0], found)
    _finish_bins(axes, found)
    return figure


def _shift(place: int, number: int) -> float:
    """Where variant `place` of `number` stands beside the middle of its bin."""
    return SPREAD * ((place + 0.5) / number - 0.5)


def _draw_losses(axes: Axes, found: Frequencies, name: str, look: style.Look, shift: float) -> None:
    rows = found.of(name)
    axes.errorbar(np.arange(len(rows)) + shift, [row.loss for row in rows], yerr=[_number(row.loss_sd) for row in rows],
                  color=look.colour, linestyle="none", marker=look.marker, markersize=5, capsize=2.5,
                  label=style.plain(name))


def _draw_differences(axes: Axes, rows: list[Row], look: style.Look, shift: float) -> None:
    at = np.arange(len(rows)) + shift
    axes.errorbar(at, [row.difference_nats for row in rows], yerr=[_number(row.difference_half) for row in rows],
                  color=look.colour, linestyle="none", marker=look.marker, markersize=5, capsize=2.5)


def _finish_differences(axes: Axes, found: Frequencies) -> None:
    """Zero line, definition, and limits that the means set: an interval of few seeds may leave the frame."""
    axes.axhline(0.0, color=style.look(0).colour, linewidth=1.2)
    bars = "\nbars: 95 % interval over seeds" if any(row.pairs > 1 for row in found.rows) else ""
    axes.set_ylabel(f"loss minus {style.plain(found.reference)}'s\n(nats per target){bars}")
    means = [0.0] + [row.difference_nats for row in found.rows if math.isfinite(row.difference_nats)]
    ends = [row.difference_nats + sign * _number(row.difference_half) for row in found.rows for sign in (-1, 1)
            if math.isfinite(row.difference_nats)]
    low, high = min(means), max(means)
    reach, margin = 0.6 * (high - low), 0.06 * (high - low) or 0.01
    axes.set_ylim(max(min([low, *ends]), low - reach) - margin, min(max([high, *ends]), high + reach) + margin)


def _finish_bins(axes: np.ndarray, found: Frequencies) -> None:
    """Bins by name and number of targets, with a line between neighbours."""
    first = found.of(found.variants[0])
    axes[-1, 0].set_xticks(range(len(first)), [f"{row.bin}\n{row.targets:,} targets" for row in first])
    axes[-1, 0].set_xlim(-0.5, len(first) - 0.5)
    axes[-1, 0].set_xlabel("relative frequency of the target's id in the training data")
    for axis in axes.flat:
        axis.grid(axis="x", visible=False)
        for edge in range(1, len(first)):
            axis.axvline(edge - 0.5, color="#c8c8c8", linewidth=0.8, zorder=0)


def _number(value: float) -> float:
    """0 for what is not available: an error bar of no length."""
    return value if math.isfinite(value) else 0.0
