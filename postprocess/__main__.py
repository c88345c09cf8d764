"""Command line: `python3 -m postprocess COMMAND RUN`."""

import argparse
import importlib
import sys

from postprocess.guard import program
from postprocess.guard.command_line import Parser

from .commands import COMMANDS

EPILOG = """examples:
  python3 -m postprocess report runs/first_run
  python3 -m postprocess history runs/first_run -o loss.png
  python3 -m postprocess table runs/first_run --markdown
  python3 -m postprocess perplexity runs/first_run --evaluation -o differences.png
  python3 -m postprocess efficiency runs/first_run --target untied
  python3 -m postprocess cosine runs/first_run --matrix output
  python3 -m postprocess capacity runs/capacity/capacity.h5 -o map.png --histograms cosines.png
  python3 -m postprocess packing runs/packing -o packing.png

RUN is a folder written by lexikos: one history.h5, or one folder with a history.h5 per sweep member. Members whose decks
differ only in their seed are one variant; tables and figures show the mean and the spread over its seeds. capacity.h5 and
cell_*.h5 are what the jobs "capacity" and "packing" write; the report of a folder that has some shows them too.
exit status: 0 done, 1 a fault of this program, 2 command line, 3 files, 5 a Python module or memory is missing,
128 + n ended by signal n"""


def build_parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Only the command that `arguments` name is loaded, so that help needs none of its packages."""
    parser = Parser(prog="postprocess", description="Figures, tables and a report from the HDF5 files of a run.",
                    epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((argument for argument in arguments if argument in COMMANDS), None)
    for name, summary in COMMANDS.items():
        command = importlib.import_module(f".commands.{name}", __package__) if name == chosen else None
        own = group.add_parser(name, help=summary, description=command.DESCRIPTION if command else summary)
        if command:
            command.options(own)
            own.set_defaults(run_command=command.run)
    return parser


def run(arguments: list[str]) -> None:
    options = build_parser(arguments).parse_args(arguments)
    options.run_command(options)


def main(arguments: list[str]) -> int:
    """The exit status, for a caller that goes on."""
    return program.guarded("postprocess", run, arguments)


if __name__ == "__main__":
    program.run("postprocess", run)
