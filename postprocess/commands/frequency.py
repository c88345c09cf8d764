"""frequency: the validation loss by how often the target's id occurs in the training data."""

from postprocess.guard.failure import FILES, Failure

from .. import numbers, page, tables
from ..analysis import frequency as analysis
from ..page import command_of
from . import shared
from .shared import Shown

DESCRIPTION = ("Loss of the validation targets by how often their id occurs in the training data, at the last validation "
               "that all members have made.")

COLUMNS = ["variant", "seeds", "loss", "loss_sd", "difference_nats", "difference_half", "change_of_reference",
           "change_of_member"]
OF_BIN = ["bin", "ids", "targets", "share"]
FULL = ["bin", "lower", "upper", "ids", "targets", "share", "variant", "seeds", "loss", "loss_sd", "perplexity", "pairs",
        "difference_nats", "difference_sd", "difference_low", "difference_high", "change_of_reference", "change_of_member"]


def options(parser) -> None:
    shared.add_table_of_validations(parser)


def run(options) -> None:
    shown, notes = shared.read_validations(options)
    result = analysis.analyse(shown.variants, shown.reference)
    if result is None:
        raise Failure(FILES, f"{options.run}: no frequency data yet at a validation that all members have made (history.h5 "
                             "has it from version 2 on)")
    if not shared.printed(options, result.rows, numbers.with_all(FULL, [COLUMNS])):
        keys = numbers.chosen(COLUMNS, shown.several)
        for label in result.labels:
            rows = [row for row in result.rows if row.bin == label]
            print(f"{analysis.bin_title(rows[0])}\n{tables.text_table(rows, keys)}\n")
        print(tables.wrapped(analysis.remarks(result)))
        shared.print_reference(shown)
        print("\n".join(notes))
        print(tables.definition_text(["bin", "ids", "targets", *keys]))
    if options.output:
        from ..figures import frequency as picture

        shared.save(picture.draw(result), options.output, options)


def section(shown: Shown) -> str:
    head = "<h2>Loss by token frequency</h2>\n"
    found = analysis.analyse(shown.variants, shown.reference)
    if found is None:
        return head + "<p>No frequency data yet at a validation that all members have made.</p>"
    from ..figures import frequency as picture

    caption = ("Validation loss of the targets whose id has the relative frequency below the axis in the training data. "
               f"At {found.tokens:,} training tokens.")
    if shown.several:
        caption += (" Mean and sample standard deviation over the seeds; lower panel: paired differences with 95 % "
                    "Student-t intervals, which may leave the frame.")
    keys = numbers.chosen(["bin", *COLUMNS], shown.several)
    return (head + page.figure(picture.draw(found), "Loss by token frequency", caption,
                               command_of("frequency", shown, "-o frequency.png"))
            + page.rows_table(found.of(found.variants[0]), OF_BIN) + page.listed(analysis.remarks(found))
            + page.collapsed("Bin by bin", page.rows_table(found.rows, keys)) + page.definitions(keys + OF_BIN[1:]))
