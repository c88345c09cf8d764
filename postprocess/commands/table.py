"""table: the overview of a run, one row per variant."""

from .. import numbers, page, tables
from ..analysis import comparison
from ..analysis.variants import singles
from ..page import command_of
from . import shared
from .shared import Shown

DESCRIPTION = "Validation loss, perplexity, difference to the reference, parameters, speed: one row per variant."

# A key is a number of numbers.py, or a column of history.h5 such as "history/gradient_norm".
COST = [
    ["variant", "trainable", "fixed", "shared", "input_trainable"],
    ["variant", "tokens_per_second", "tokens_per_second_sd", "gemm_share"],
]
COLUMNS = [
    ["variant", "seeds", "loss", "loss_sd", "perplexity", "bits_per_byte", "tokens", "status"],
    ["variant", "pairs", "difference_nats", "difference_half", "change_of_reference", "change_of_member"],
    *COST,
]
# For --csv and --markdown, where there is room; the blocks above may have more.
FULL = ["variant", "seeds", "loss", "loss_sd", "perplexity", "pairs", "difference_nats", "difference_sd", "difference_low",
        "difference_high", "change_of_reference", "change_of_member", "bits_per_byte", "tokens", "status", "trainable",
        "fixed", "shared", "input_trainable", "tokens_per_second", "tokens_per_second_sd", "gemm_share", "step", "targets",
        "nats_per_byte", "word_perplexity", "unigram_nats", "compared_at_tokens"]


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    shared.add_forms(parser.add_mutually_exclusive_group())
    parser.add_argument("--members", action="store_true", help="one row per member (training run) instead")


def run(options) -> None:
    shown = shared.read(options)
    several = shown.several and not options.members
    rows = comparison.compare(singles(shown.variants) if options.members else shown.variants, shown.reference)
    named = numbers.of_members if options.members else list
    if shared.printed(options, rows, named(numbers.with_all(FULL, COLUMNS))):
        return
    blocks = [named(keys) for keys in shared.chosen_blocks(COLUMNS, several)]
    print(tables.text_blocks(rows, blocks))
    shared.print_reference(shown)
    print(tables.wrapped(comparison.statements(rows)))
    print("\n" + tables.definition_text(numbers.flat(blocks), rows))


def section(shown: Shown) -> str:
    """Size and speed; what the loss says beside token frequencies."""
    rows = comparison.compare(shown.variants, shown.reference)
    keys = numbers.chosen(numbers.flat(COST), shown.several)
    parts = ["<h2>Size and speed</h2>", page.rows_table(rows, keys),
             page.note(f"{command_of('table', shown, '--csv')} prints every number in full."), page.definitions(keys, rows)]
    if shown.several:
        every = comparison.compare(singles(shown.variants), shown.reference)
        keys = numbers.chosen(numbers.of_members(numbers.flat(COLUMNS)), False)
        parts.append(page.collapsed(f"Each of the {len(every)} members", page.rows_table(every, keys)))
    parts.append(f"<h2>More than token frequencies?</h2>\n{page.listed(comparison.statements(rows))}")
    return "\n".join(parts)
