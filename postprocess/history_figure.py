"""Loss against training tokens: all members above, their difference to the reference below."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import comparison, style
from .reader import Member, Run

EARLY = 0.03  # the share of training whose loss may lie above the frame


def draw(run: Run, reference: Member | None) -> Figure:
    """The figure; the lower panel is left out where there is nothing to take a difference against."""
    members = comparison.ordered(run, reference)
    scale, label = style.token_scale(_most_tokens(members))
    compared = [member for member in members if reference is not None and member is not reference
                and comparison.difference_curve(member, reference)[0].size]
    rows = 2 if compared else 1
    more = 0.2 * max(0, len(members) - 5)  # room for longer lists of names, in inches
    figure, axes = style.pyplot.subplots(rows, 1, sharex=True, squeeze=False,
                                         figsize=(7.2, (6.6 if compared else 4.4) + rows * more),
                                         gridspec_kw={"height_ratios": (3.0, 2.0 + more)[:rows]})
    _draw_losses(axes[0, 0], members, comparison.unigram_entropy(run), scale)
    if compared:
        _draw_differences(axes[1, 0], members, compared, reference, scale)
    axes[-1, 0].set_xlabel(label)
    return figure


def _most_tokens(members: list[Member]) -> float:
    return max((float(values[-1]) for member in members
                for values in (member.column("tokens"), member.validation_column("tokens")) if values.size), default=0.0)


def _draw_losses(axes: Axes, members: list[Member], unigram: float, scale: float) -> None:
    handles, windows = [], set()
    for index, member in enumerate(members):
        look = style.look(index)
        values, window = running_mean(member.column("train_loss"))
        axes.plot(member.column("tokens") / scale, values, color=look.colour, linewidth=0.7, alpha=0.55)
        windows.add(window)
        loss = member.validation_column("loss")
        axes.plot(member.validation_column("tokens") / scale, loss, color=look.colour, linewidth=1.8,
                  marker=look.marker, markersize=5, markevery=max(1, loss.size // 12))
        final = f"{loss[-1]:.3f}" if loss.size else "no validation yet"
        unfinished = "" if member.finished else f" ({member.text('status')})"
        handles.append(Line2D([], [], color=look.colour, linewidth=1.8, marker=look.marker, markersize=5,
                              label=f"{member.name}  {final}{unfinished}"))
    over = f", mean of {'/'.join(map(str, sorted(windows)))} logged steps" if max(windows) > 1 else ""
    handles.append(Line2D([], [], color=style.REFERENCE_GREY, linewidth=0.7, label=f"thin: training loss{over}"))
    low, high = _loss_limits(members, unigram)
    axes.set_ylim(low, high)
    if math.isfinite(unigram):
        axes.axhline(unigram, color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)))
        handles.append(Line2D([], [], color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)),
                              label=f"unigram entropy of the validation text  {unigram:.3f}"))
    axes.set_ylabel("loss (nats per token)")
    # Beside the curves, never on them.
    legend = axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2,
                         title="validation loss (thick), last value", ncol=2, columnspacing=1.5)
    legend._legend_box.align = "left"


def _loss_limits(members: list[Member], unigram: float) -> tuple[float, float]:
    """Limits that show every validation after the start and the unigram line; the first steps may leave the frame."""
    start = EARLY * _most_tokens(members)
    shown = [unigram] if math.isfinite(unigram) else []
    for member in members:
        for tokens, loss in ((member.column("tokens"), running_mean(member.column("train_loss"))[0]),
                             (member.validation_column("tokens"), member.validation_column("loss"))):
            late = loss[(tokens > start) & np.isfinite(loss)]
            shown += [float(late.min()), float(late.max())] if late.size else []
    if not shown:
        return 0.0, 1.0
    margin = 0.04 * (max(shown) - min(shown)) or 0.1
    return min(shown) - margin, max(shown) + margin


def _draw_differences(axes: Axes, members: list[Member], compared: list[Member], reference: Member, scale: float) -> None:
    axes.axhline(0.0, color=style.look(members.index(reference)).colour, linewidth=1.2)
    ends = []
    for member in compared:
        look = style.look(members.index(member))
        tokens, difference = comparison.difference_curve(member, reference)
        axes.plot(tokens / scale, difference, color=look.colour, linewidth=1.6, marker=look.marker, markersize=5,
                  markevery=max(1, tokens.size // 12))
        ends.append((tokens[-1] / scale, float(difference[-1]), look.colour, member.name))
    axes.set_ylabel(f"validation loss\nminus {reference.name}'s (nats)")
    low, high = _difference_limits(compared, reference, scale)
    axes.set_ylim(low, high)
    label_ends(axes, ends + [(axes.get_xlim()[1], 0.0, style.look(members.index(reference)).colour, reference.name)])


def _difference_limits(compared: list[Member], reference: Member, scale: float) -> tuple[float, float]:
    """Limits set by the differences after the start, with zero always inside."""
    start = 2.0 * EARLY * _most_tokens(compared + [reference])
    shown = [0.0]
    for member in compared:
        tokens, difference = comparison.difference_curve(member, reference)
        late = difference[tokens > start] if np.any(tokens > start) else difference
        shown += [float(value) for value in late if math.isfinite(value)]
    margin = 0.1 * (max(shown) - min(shown)) or 0.01
    return min(shown) - margin, max(shown) + margin


def label_ends(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each name at the right of its curve's end, moved up or down so that no two overlap."""
    low, high = axes.get_ylim()
    right = axes.get_xlim()[1]
    heights = style.spread([(y - low) / (high - low) for _, y, _, _ in ends], min(0.13, 1.0 / len(ends)))
    for (x, y, colour, name), height in zip(ends, heights):
        axes.annotate(name, xy=(x, y), xytext=(1.02, height), textcoords="axes fraction", color=colour, va="center",
                      fontsize=9, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2,
                                  "relpos": (0.0, 0.5)})
    axes.set_xlim(right=right)


def running_mean(values: np.ndarray) -> tuple[np.ndarray, int]:
    """(mean over a window centred on each value, shorter at the ends; the window: 2 % of the values, odd, 1 .. 51)."""
    half = min(values.size // 100, 25)
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    at = np.arange(values.size)
    reach = np.minimum(half, np.minimum(at, values.size - 1 - at))
    return (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1), 2 * half + 1
