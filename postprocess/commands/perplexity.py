"""perplexity: the loss in all units, its spread over seeds, and differences with intervals."""

import math

from postprocess.guard.failure import USAGE, Failure

from .. import numbers, page, tables
from ..analysis import comparison
from ..analysis.comparison import Row
from ..analysis.variants import unpaired
from ..page import command_of, text
from . import shared
from .shared import Shown

DESCRIPTION = ("Loss per token and per byte, perplexity per token and per word, over seeds; paired differences to the "
               "reference with 95 % intervals. The figure shows these differences.")

DIFFERENCES = [
    ["variant", "pairs", "difference_nats", "difference_half", "change_of_reference", "change_of_reference_interval"],
    ["variant", "change_of_member", "change_of_member_interval", "compared_at_tokens"],
]
COLUMNS = [
    ["variant", "seeds", "loss", "loss_sd", "perplexity", "nats_per_byte", "bits_per_byte", "word_perplexity"],
    DIFFERENCES[0],
    [*DIFFERENCES[1], "tokens"],
]
FULL = ["variant", "seeds", "tokens", "targets", "loss", "loss_sd", "perplexity", "nats_per_byte", "bits_per_byte",
        "word_perplexity", "pairs", "difference_nats", "difference_sd", "difference_low", "difference_high",
        "change_of_reference", "change_of_member", "change_of_reference_interval", "change_of_member_interval",
        "compared_at_tokens"]
IN_REPORT = ["variant", "seeds", "loss", "loss_sd", "perplexity", "bits_per_byte", "word_perplexity", "tokens", "status"]


def options(parser) -> None:
    shared.add_table_of_validations(parser)


def run(options) -> None:
    shown, notes = shared.read_validations(options)
    rows = comparison.compare(shown.variants, shown.reference)
    if options.output and shown.reference is None:
        raise Failure(USAGE, "-o: the figure shows differences, and there is no reference; name one with --reference")
    if not shared.printed(options, rows, numbers.with_all(FULL, COLUMNS)):
        blocks = shared.chosen_blocks(COLUMNS, shown.several)
        print(tables.text_blocks(rows, blocks))
        shared.print_reference(shown)
        print("\n".join(notes))
        print(tables.definition_text(numbers.flat(blocks), rows))
    if options.output:
        from ..figures import perplexity as picture

        shared.save(picture.draw(shown.variants, rows, shown.reference), options.output, options)


def section(shown: Shown) -> str:
    rows = comparison.compare(shown.variants, shown.reference)
    quality = numbers.chosen(IN_REPORT, shown.several)
    change = numbers.chosen(numbers.flat(DIFFERENCES), shown.several)
    targets = sorted({f"{row.targets:,.0f}" for row in rows if math.isfinite(row.targets)})
    over = f" over {' or '.join(targets)} validation targets" if targets else ""
    against = f"Reference: {shown.reference.name}." if shown.reference else "No reference, so no differences."
    moved = [row for row in rows if math.isfinite(row.compared_at_tokens) and row.compared_at_tokens != row.tokens]
    notes = "".join(f" {row.variant} is compared at {row.compared_at_tokens:,.0f} training tokens, not at its last "
                    "validation." for row in moved)
    parts = [f"<h2>Validation</h2>\n<p>Losses are means{over}; perplexity is per token. {text(against + notes)}</p>",
             page.rows_table(rows, quality), page.listed(unpaired(shown.variants, shown.reference))]
    if shown.reference and len(shown.variants) > 1:
        parts += ["<h3>Differences to the reference</h3>", _figure(shown, rows), page.rows_table(rows, change)]
    parts.append(page.definitions(quality + change, rows))
    return "\n".join(parts)


def _figure(shown: Shown, rows: list[Row]) -> str:
    if not shown.several:  # the loss figure shows as much
        return page.note(f"{command_of('perplexity', shown, '--csv')} prints every number in full.")
    from ..figures import perplexity as picture

    caption = (f"Difference of the validation loss to {shown.reference.name}'s, seed by seed (small dots), its mean and 95 % "
               "Student-t interval.")
    return page.figure(picture.draw(shown.variants, rows, shown.reference), "Differences with intervals", caption,
                       command_of("perplexity", shown, "-o differences.png"))
