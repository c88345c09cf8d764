"""history: the loss against training tokens, and the difference to the reference."""

from postprocess.guard import program

from ..page import command_of, figure
from . import shared
from .shared import Shown

DESCRIPTION = ("Validation loss (thick) and training loss (thin) of all variants against training tokens, and the difference "
               "to the reference.")


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    shared.add_figure(parser, "RUN/history.png")


def run(options) -> None:
    from .. import style
    from ..figures import history as picture

    shown = shared.read(options)
    path = options.output or options.run / "history.png"
    style.save(picture.draw(shown.variants, shown.reference), path)
    program.remark(f"wrote {path}")


def section(shown: Shown) -> str:
    from ..figures import history as picture

    caption = ("Validation loss (thick, with markers) and training loss (thin) against training tokens. The first steps may "
               "lie above the frame. Dashed: cross-entropy of the validation text under the training part's token "
               "frequencies; a model below it has learnt more than how often each token occurs.")
    if shown.several:
        caption += " Curves are means over the seeds; a band is one sample standard deviation to either side."
    if shown.reference is not None:
        caption += f" Lower panel: validation loss minus that of {shown.reference.name}; below zero is better."
    if shown.reference is not None and shown.several:
        caption += (" Differences are taken seed by seed; their 95 % Student-t intervals are drawn as bands, or as bars at "
                    "the end where bands would hide one another, and may leave the frame.")
    return "<h2>Loss</h2>\n" + figure(picture.draw(shown.variants, shown.reference), "Loss against training tokens", caption,
                                      command_of("history", shown, "-o history.png"))
