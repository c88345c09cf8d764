"""Options, and pieces of output, that several commands have."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from postprocess.guard import program
from postprocess.guard import program
from postprocess.guard.command_line import path

from .. import numbers, reader, tables
from ..analysis import not_finite
from ..analysis.variants import Variant, find_reference, ordered, several_seeds, unpaired, variants_of
from ..reader import Run


@dataclass
class Shown:
    """What a section of the report is made from: the variants in their order, and what differences are taken
    against."""

    run: Run
    variants: list[Variant]
    reference: Variant | None

    @property
    def several(self) -> bool:
        return several_seeds(self.variants)


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=path, metavar="RUN", help="folder of the run, such as runs/first_run")


def add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reference", metavar="VARIANT", help="variant that differences are taken against "
                        "(default: tied, if there is one)")


def add_forms(parser) -> None:
    """To a parser, or to a group of options of which one may be given."""
    parser.add_argument("--csv", action="store_true", help="all columns, numbers in full, N/A for missing ones")
    parser.add_argument("--markdown", action="store_true", help="all columns as a Markdown table")


def add_table_of_validations(parser: argparse.ArgumentParser) -> None:
    """All options of a command whose table is of validations; see read_validations."""
    add_run(parser)
    add_reference(parser)
    add_forms(parser.add_mutually_exclusive_group())
    add_figure(parser)
    parser.add_argument("--evaluation", action="store_true", help="read evaluation.h5, which the job "
                        '"evaluate" writes, instead of the validations in history.h5')


def add_figure(parser: argparse.ArgumentParser, default: str = "no figure") -> None:
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help=f"figure: png, svg or pdf (default: {default})")


def read(options: argparse.Namespace) -> Shown:
    """The run of history.h5."""
    return _shown(reader.read_run(options.run), options)


def _shown(run: Run, options: argparse.Namespace) -> Shown:
    say(not_finite.remarks(run))
    found = variants_of(run)
    reference = find_reference(found, options.reference)
    return Shown(run, ordered(found, reference), reference)


def say(remarks: list[str]) -> None:
    """On stderr, where neither a table for a program nor a figure can say it."""
    for remark in remarks:
        program.warn(remark)


def read_validations(options: argparse.Namespace) -> tuple[Shown, list[str]]:
    """(the run as history.h5 or, with --evaluation, evaluation.h5 has it; lines that say what was read)."""
    if not options.evaluation:
        return read(options), []
    run, missing = reader.read_evaluations(options.run)
    lines = [f"no {reader.EVALUATION} yet: {', '.join(missing)}"] if missing else []
    for what, names in reader.what_was_evaluated(run).items():
        whose = "every member" if len(names) == len(run.members) else ", ".join(names)
        lines.append(f"{reader.EVALUATION} of {whose}: {what}")
    return _shown(run, options), [tables.wrapped(lines), ""]


def printed(options: argparse.Namespace, rows: list, keys: list[str]) -> bool:
    """Prints CSV or Markdown with the columns `keys` if the options ask for it."""
    if options.csv:
        print(tables.csv_table(rows, keys))
    elif options.markdown:
        print(tables.markdown_table(rows, keys))
    return options.csv or options.markdown


def chosen_blocks(blocks: list[list[str]], several: bool) -> list[list[str]]:
    return [numbers.chosen(keys, several) for keys in blocks]


def print_reference(shown: Shown) -> None:
    print(f"\nreference: {shown.reference.name if shown.reference else 'none'}")
    print("".join(f"{tables.wrapped([line])}\n" for line in unpaired(shown.variants, shown.reference)), end="")


def save(figure, path: Path, options: argparse.Namespace) -> None:
    """Writes the figure, and says where it is unless the output is a table to be read by a program."""
    from .. import style

    style.save(figure, path)
    if not (getattr(options, "csv", False) or getattr(options, "markdown", False)):
        program.remark(f"\nwrote {path}")
