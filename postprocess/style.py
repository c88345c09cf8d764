"""What all figures share: the palette, markers, sizes, saving."""

import io
import math
import os
from dataclasses import dataclass
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"  # another one in the environment need not be there
import matplotlib  # noqa: E402

matplotlib.rcdefaults()  # the same figures whatever the user's matplotlibrc says
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)
from matplotlib.figure import Figure  # noqa: E402

from postprocess.guard.failure import USAGE, Failure  # noqa: E402
from postprocess.guard.whole_file import write_whole  # noqa: E402

# Okabe and Ito's colour-blind-safe palette without its yellow, which is too pale on white.
COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
# In units of the line's width: with the markers they tell seven curves apart without colour.
DASHES = ("-", (0, (6, 1.5)), (0, (2.5, 1)), (0, (7, 1.5, 1.5, 1.5)), (0, (1.2, 0.9)), (0, (4, 1, 1, 1, 1, 1)), (0, (10, 3)))
REFERENCE_GREY = "#6b6b6b"
FORMATS = ("png", "svg", "pdf")
DPI = 150
LONGEST_NAME = 80  # characters
LONGEST_SIDE, MOST_PIXELS = 30_000, 40_000_000  # of a picture; larger ones get fewer dots per inch

pyplot.rcParams.update({
    "font.size": 10, "axes.titlesize": 10, "axes.labelsize": 10, "legend.fontsize": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6,
    "axes.axisbelow": True, "legend.frameon": False, "svg.hashsalt": "lexikos", "figure.constrained_layout.use": True,
})


@dataclass
class Look:
    """Colour, marker and dashes of one variant: the same in every figure of a run."""

    colour: str
    marker: str
    dashes: object


def look(index: int) -> Look:
    """The look of variant number `index`; those that share a colour differ in their marker."""
    turn = index // len(COLOURS)
    return Look(COLOURS[index % len(COLOURS)], MARKERS[(index + turn) % len(MARKERS)], DASHES[index % len(DASHES)])


def token_scale(largest: float) -> tuple[float, str]:
    """(divisor, word) that keep the numbers of a token axis short."""
    for divisor, word in ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands")):
        if largest >= 2.0 * divisor:
            return divisor, f"training tokens ({word})"
    return 1.0, "training tokens"


def spread(wanted: list[float], gap: float) -> list[float]:
    """Positions near `wanted`, in the same order of size, at least `gap` apart: for labels that must not overlap."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[list[int]] = []
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _foot(groups[-1], wanted, gap) < _foot(groups[-2], wanted, gap) + gap * len(groups[-2]):
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = [0.0] * len(wanted)
    for group in groups:
        for k, i in enumerate(group):
            placed[i] = _foot(group, wanted, gap) + k * gap
    return placed


def _foot(group: list[int], wanted: list[float], gap: float) -> float:
    """Lowest position of a group of labels stacked around the mean of what they want."""
    return sum(wanted[i] for i in group) / len(group) - gap * (len(group) - 1) / 2.0


def save(figure: Figure, path: Path) -> None:
    """Write the figure under a temporary name, then rename; the format is the name's ending."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise Failure(USAGE, f"{path}: a figure's name must end in .{', .'.join(FORMATS)}")
    write_whole(path, image(figure, kind))


def image(figure: Figure, kind: str = "png") -> bytes:
    """The picture file's bytes; the figure is closed."""
    out = io.BytesIO()
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    try:
        figure.savefig(out, format=kind, dpi=_resolution(*figure.get_size_inches()), metadata=metadata)
    finally:
        pyplot.close(figure)
    return out.getvalue()


def _resolution(width: float, height: float) -> float:
    return min(DPI, LONGEST_SIDE / max(width, height), math.sqrt(MOST_PIXELS / (width * height)))


def plain(words: str) -> str:
    """Text from outside as it is, cut if long: a $ in it begins no formula, a _ at its start hides no line of a legend."""
    shown = words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 3] + "..."
    return " " * shown.startswith("_") + shown.replace("$", "\\$")
