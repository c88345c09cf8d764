"""epsilon: epsilon of the embedding matrices while a model trains."""

from dataclasses import replace

from postprocess.guard.failure import FILES, Failure

from .. import numbers, page, tables
from ..analysis import epsilon as analysis
from ..page import command_of
from . import shared
from .shared import Shown

DESCRIPTION = "Epsilon of the embedding matrices against training tokens, where the deck set geometry.every."

COLUMNS = ["variant", "matrix", "seeds", "tokens", "epsilon", "epsilon_sd", "epsilon_centred", "relative"]


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    shared.add_forms(parser.add_mutually_exclusive_group())
    shared.add_figure(parser, "RUN/epsilon.png")


def run(options) -> None:
    from ..figures import epsilon as picture

    shown = shared.read(options)
    measured = analysis.curves_of(shown.variants)
    rows = analysis.last(measured)
    if not rows:
        raise Failure(FILES, f"{options.run}: no geometry in any history.h5; it is measured where the deck sets geometry.every")
    if not shared.printed(options, rows, COLUMNS):
        print(tables.text_table(rows, numbers.chosen(COLUMNS, shown.several)))
        print("\n" + tables.definition_text(COLUMNS))
    shared.save(picture.draw([variant.name for variant in shown.variants], measured),
                options.output or options.run / "epsilon.png", options)


def section(shown: Shown) -> str:
    """Empty where the deck did not ask for it."""
    measured = analysis.curves_of(shown.variants)
    rows = analysis.last(measured)
    if not rows:
        return ""
    from ..figures import epsilon as picture

    caption = ("Epsilon of the embedding matrices against training tokens; above the grey band class 1, below it class 2. "
               "Dashed: mean row removed.")
    caption += " Means over the seeds, with one sample standard deviation to either side." if shown.several else ""
    keys = numbers.chosen(COLUMNS, shown.several)
    drawn = picture.draw([variant.name for variant in shown.variants], measured)
    return ("<h2>Epsilon while training</h2>\n"
            + page.figure(drawn, "Epsilon against training tokens", caption,
                          command_of("epsilon", replace(shown, reference=None), "-o epsilon.png"))
            + page.rows_table(rows, keys) + page.definitions(keys))
