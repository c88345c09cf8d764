"""Loss against training tokens: all variants above, their difference to the reference below."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .. import numbers, style
from ..analysis import comparison, curves
from ..analysis.seed_statistics import Spread, summarise
from ..analysis.variants import Variant, several_seeds

EARLY = 0.03  # the share of training whose loss may lie above the frame
BAND = 0.18  # opacity
MOST_BANDS = 3  # more bands than these cannot be told apart: bars at the end of the curves instead


def draw(variants: list[Variant], reference: Variant | None) -> Figure:
    """The figure of `variants` in this order; the lower panel is left out where there is nothing to take a difference
    to."""
    scale, label = style.token_scale(_most_tokens(variants))
    compared = {variant.name: curves.differences(variant, reference) for variant in variants if variant is not reference}
    compared = {name: (tokens, summarise(values)) for name, (tokens, values) in compared.items() if tokens.size}
    rows = 2 if compared else 1
    more = 0.2 * max(0, len(variants) - 5)  # room for longer lists of names, in inches
    figure, axes = style.pyplot.subplots(rows, 1, sharex=True, squeeze=False,
                                         figsize=(7.2, (6.6 if compared else 4.4) + rows * more),
                                         gridspec_kw={"height_ratios": (3.0, 2.0 + more)[:rows]})
    _draw_losses(axes[0, 0], variants, scale)
    if compared:
        _draw_differences(axes[1, 0], variants, compared, reference, scale)
    axes[-1, 0].set_xlabel(label)
    return figure


def _most_tokens(variants: list[Variant]) -> float:
    return max((float(values[-1]) for variant in variants for member in variant.members
                for values in (member.column("history/tokens"), member.column("validation/tokens")) if values.size), default=0.0)


def _draw_losses(axes: Axes, variants: list[Variant], scale: float) -> None:
    handles, widths, unigram = [], {1}, comparison.unigram_entropy(variants)
    for index, variant in enumerate(variants):
        look = style.look(index)
        tokens, losses = curves.training(variant.members)
        if tokens.size:
            values, width = running_mean(losses.mean(axis=0))
            axes.plot(tokens / scale, values, color=look.colour, linewidth=0.7, alpha=0.55)
            widths.add(width)
        handles.append(_draw_validation(axes, variant, look, scale))
    several = several_seeds(variants)
    over = f", mean of {'/'.join(map(str, sorted(widths - {1})))} logged steps" if max(widths) > 1 else ""
    if several:
        handles.append(Patch(facecolor=style.REFERENCE_GREY, alpha=2 * BAND, label="band: +- sd over seeds"))
    low, high = _loss_limits(variants, unigram)
    axes.set_ylim(low, high)
    if math.isfinite(unigram):
        axes.axhline(unigram, color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)))
        handles.append(Line2D([], [], color=style.REFERENCE_GREY, linewidth=1.2, linestyle=(0, (5, 3)),
                              label=f"unigram entropy of the text  {unigram:.3f}"))
    axes.set_ylabel("loss (nats per token)")
    # Beside the curves, never on them.
    title = ("validation loss (thick), " + ("mean over seeds, last value +- sd" if several else "last value")
             + f"\ntraining loss (thin){over}")
    legend = axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.1, 1.0), borderaxespad=0.2, title=title,
                         ncol=2, columnspacing=1.2, handlelength=2.8, title_fontsize=9)
    legend._legend_box.align = "left"


def _draw_validation(axes: Axes, variant: Variant, look: style.Look, scale: float) -> Line2D:
    """Mean over seeds and its band; returns the entry of the legend."""
    tokens, losses = curves.common(variant.members)
    loss = summarise(losses)
    name = style.plain(variant.name)
    label = f"{name}  no validation yet"
    if tokens.size:
        _plot(axes, tokens / scale, loss.mean, look)
        label = f"{name}  {numbers.shown('.3f', loss.mean[-1])}"
    if tokens.size and loss.n > 1:
        axes.fill_between(tokens / scale, loss.mean - loss.sd, loss.mean + loss.sd, color=look.colour, alpha=BAND,
                          linewidth=0)
        label += f" +- {numbers.shown('.3f', loss.sd[-1])}"
    unfinished = "" if variant.status == "finished" else f" ({variant.status})"
    return Line2D([], [], color=look.colour, linewidth=1.6, marker=look.marker, markersize=5, linestyle=look.dashes,
                  label=label + unfinished)


def _plot(axes: Axes, x: np.ndarray, y: np.ndarray, look: style.Look) -> None:
    axes.plot(x, y, color=look.colour, linewidth=1.6, linestyle=look.dashes, marker=look.marker, markersize=5,
              markevery=max(1, x.size // 12))


def _loss_limits(variants: list[Variant], unigram: float) -> tuple[float, float]:
    """Limits that show every validation after the start and the unigram line; the first steps may leave the frame."""
    start = EARLY * _most_tokens(variants)
    shown = [unigram] if math.isfinite(unigram) else []
    for member in (member for variant in variants for member in variant.members):
        for tokens, loss in ((member.column("history/tokens"), running_mean(member.column("history/train_loss"))[0]),
                             (member.column("validation/tokens"), member.column("validation/loss"))):
            late = loss[(tokens > start) & np.isfinite(loss)]
            shown += [float(late.min()), float(late.max())] if late.size else []
    if not shown:
        return 0.0, 1.0
    margin = 0.04 * (max(shown) - min(shown)) or 0.1
    return min(shown) - margin, max(shown) + margin


def _draw_differences(axes: Axes, variants: list[Variant], compared: dict[str, tuple[np.ndarray, Spread]],
                      reference: Variant, scale: float) -> None:
    names = [variant.name for variant in variants]
    axes.axhline(0.0, color=style.look(names.index(reference.name)).colour, linewidth=1.2)
    ends, several = [], [name for name, (_, spread) in compared.items() if spread.n > 1]
    for name, (tokens, spread) in compared.items():
        look, end = style.look(names.index(name)), tokens[-1] / scale
        _plot(axes, tokens / scale, spread.mean, look)
        if name in several and len(several) <= MOST_BANDS:
            axes.fill_between(tokens / scale, spread.low, spread.high, color=look.colour, alpha=BAND, linewidth=0)
        elif name in several:
            end += 0.018 * (several.index(name) + 1) * _most_tokens(variants) / scale
            axes.errorbar(end, spread.mean[-1], yerr=spread.half[-1], color=look.colour, capsize=2, linewidth=1.2)
        ends.append((end, float(spread.mean[-1]), look.colour, name))
    interval = f"\n{'band' if len(several) <= MOST_BANDS else 'bars at the end'}: 95 % interval" if several else ""
    axes.set_ylabel(f"validation loss\nminus {style.plain(reference.name)}'s (nats){interval}")
    axes.set_ylim(*_difference_limits(compared, EARLY * _most_tokens(variants)))
    label_ends(axes, ends + [(axes.get_xlim()[1], 0.0, style.look(names.index(reference.name)).colour, reference.name)])


def _difference_limits(compared: dict[str, tuple[np.ndarray, Spread]], start: float) -> tuple[float, float]:
    """Limits set by the differences after the start, with zero always inside; wide intervals may leave the frame."""
    shown, ends = [0.0], []
    for tokens, spread in compared.values():
        late = tokens > 2.0 * start if np.any(tokens > 2.0 * start) else tokens == tokens
        shown += [float(value) for value in spread.mean[late] if math.isfinite(value)]
        ends += [float(value) for edge in (spread.low, spread.high) for value in edge[late] if math.isfinite(value)]
    low, high = min(shown), max(shown)
    margin = 0.1 * (high - low) or 0.01
    reach = 0.5 * (high - low)
    return max(min([low, *ends]), low - reach) - margin, min(max([high, *ends]), high + reach) + margin


def label_ends(axes: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write each name at the right of its curve's end, moved up or down so that no two overlap; none at an end that is not
    finite."""
    ends = [end for end in ends if math.isfinite(end[0]) and math.isfinite(end[1])]
    if not ends:
        return
    low, high = axes.get_ylim()
    right = axes.get_xlim()[1]
    heights = style.spread([(y - low) / (high - low) for _, y, _, _ in ends], min(0.13, 1.0 / len(ends)))
    for (x, y, colour, name), height in zip(ends, heights):
        axes.annotate(style.plain(name), xy=(x, y), xytext=(1.02, height), textcoords="axes fraction", color=colour, va="center",
                      fontsize=9, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2,
                                  "relpos": (0.0, 0.5)})
    axes.set_xlim(right=right)


def running_mean(values: np.ndarray) -> tuple[np.ndarray, int]:
    """(mean over a width centred on each value, shorter at the ends; the width: 2 % of the values, odd, 1 .. 51)."""
    half = min(values.size // 100, 25)
    return curves.running_mean(values, half), 2 * half + 1
