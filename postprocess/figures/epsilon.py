"""Epsilon of the embedding matrices against training tokens: a panel for the input matrices, one for the outputs."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .. import style
from ..analysis.epsilon import MATRICES, Curve
from ..analysis.law import CLASS_1, CLASS_2
from ..analysis.seed_statistics import summarise

BAND = 0.18  # opacity


def draw(names: list[str], found: list[Curve]) -> Figure:
    """`names`: every variant of the run in its order, which gives each its look."""
    shown = [matrix for matrix in MATRICES if any(curve.matrix == matrix for curve in found)]
    scale, label = style.token_scale(max(float(curve.tokens[-1]) for curve in found if curve.tokens.size))
    figure, axes = style.pyplot.subplots(1, len(shown), sharey=True, squeeze=False, figsize=(4.6 * len(shown) + 0.6, 4.4))
    for panel, matrix in zip(axes[0], shown):
        for curve in (curve for curve in found if curve.matrix == matrix):
            _draw_curve(panel, curve, style.look(names.index(curve.variant)), scale)
        _draw_classes(panel)
        panel.set_title(f"{matrix} matrix", loc="left")
        panel.set_xlabel(label)
    axes[0, 0].set_ylabel("epsilon = mu + 2 sigma of the cosines")
    axes[0, 0].set_ylim(bottom=min(0.0, axes[0, 0].get_ylim()[0]))
    present = [name for name in names if any(curve.variant == name for curve in found)]
    handles = [Line2D([], [], color=style.look(names.index(name)).colour, marker=style.look(names.index(name)).marker,
                      markersize=5, label=style.plain(name)) for name in present]
    handles += [Line2D([], [], color=style.REFERENCE_GREY, linestyle=dashes, label=text)
                for dashes, text in (("-", "rows as they are"), ((0, (2, 1.5)), "mean row removed"))]
    columns = 3 if len(shown) == 1 else 5
    strip = (0.12 + 0.2 * -(-len(handles) // columns)) / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - strip))
    figure.legend(handles=handles, loc="upper left", ncol=columns, columnspacing=1.2, borderaxespad=0.2)
    return figure


def _draw_curve(axes: Axes, curve: Curve, look: style.Look, scale: float) -> None:
    x, every = curve.tokens / scale, max(1, curve.tokens.size // 12)
    epsilon = summarise(curve.epsilon)
    axes.plot(x, epsilon.mean, color=look.colour, linewidth=1.6, marker=look.marker, markersize=5, markevery=every)
    axes.plot(x, summarise(curve.centred).mean, color=look.colour, linewidth=1.2, linestyle=(0, (2, 1.5)))
    if epsilon.n > 1:
        axes.fill_between(x, epsilon.mean - epsilon.sd, epsilon.mean + epsilon.sd, color=look.colour, alpha=BAND, linewidth=0)


def _draw_classes(axes: Axes) -> None:
    """Epsilon below the band is class 2, above it class 1."""
    axes.axhspan(CLASS_2, CLASS_1, color=style.REFERENCE_GREY, alpha=0.12, linewidth=0)
