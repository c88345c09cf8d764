"""efficiency: training tokens that a variant needs to reach the target's final loss."""

import shlex
from dataclasses import replace

from postprocess.guard.failure import USAGE, Failure

from .. import numbers, page, reader, tables
from ..analysis import efficiency as analysis
from ..analysis import not_finite
from ..analysis.variants import DEFAULT_REFERENCE, find_reference, several_seeds, variants_of
from ..page import command_of, text
from . import shared
from .shared import Shown

DESCRIPTION = "Training tokens that each variant needs to reach the target's last validation loss."

COLUMNS = [["variant", "reached_of", "level", "tokens_needed", "tokens_needed_sd", "ratio", "ratio_sd"],
           ["variant", "each"]]
FULL = ["variant", "pairs", "reached", "level", "tokens_needed", "tokens_needed_sd", "ratio", "ratio_sd", "each", "tokens"]


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_forms(parser.add_mutually_exclusive_group())
    parser.add_argument("--target", metavar="VARIANT", help="variant whose last loss is to be reached (default: tied)")


def run(options) -> None:
    run_read = reader.read_run(options.run)
    shared.say(not_finite.remarks(run_read))
    found = variants_of(run_read)
    target = find_reference(found, options.target, "--target")
    if target is None:
        raise Failure(USAGE, f"{options.run}: no variant named {DEFAULT_REFERENCE} among several; name the target with "
                             "--target")
    rows = analysis.analyse(found, target)
    if shared.printed(options, rows, FULL):
        return
    blocks = shared.chosen_blocks(COLUMNS, several_seeds(found))
    print(tables.text_blocks(rows, blocks))
    print("\n" + tables.wrapped([f"target: {target.name}"] + analysis.remarks(rows, target)))
    print("\n" + tables.definition_text(numbers.flat(blocks)))
    print(tables.wrapped([analysis.METHOD]))


def section(shown: Shown) -> str:
    target = shown.reference
    if target is None or len(shown.variants) < 2:
        return ""
    rows = analysis.analyse(shown.variants, target)
    keys = numbers.chosen(numbers.flat(COLUMNS), shown.several)
    command = command_of("efficiency", replace(shown, reference=None), f"--target {shlex.quote(target.name)}")
    return (f"<h2>Training tokens to reach {text(target.name)}'s final loss</h2>\n" + page.rows_table(rows, keys)
            + page.listed(analysis.remarks(rows, target)) + page.note(f"{text(analysis.METHOD)} {command} prints it.")
            + page.definitions(keys))
