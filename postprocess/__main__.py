"""Command line: `python3 -m postprocess COMMAND RUN`."""

import argparse
import os
import sys

from .failure import RESOURCES, USAGE, Failure

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
exit status: 0 done, 2 command line, 3 files, 5 a Python module is missing"""


class Parser(argparse.ArgumentParser):
    """Options by their full names only; a wrong command line is reported in one line."""

    def __init__(self, **settings):
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str):
        self.exit(USAGE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    from .commands import COMMANDS  # here, where a Python module that is missing becomes one line

    parser = Parser(prog="postprocess", description="Figures, tables and a report from the HDF5 files of a run.",
                    epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = group.add_parser(command.NAME, help=command.SUMMARY, description=command.DESCRIPTION)
        command.options(own)
        own.set_defaults(run_command=command.run)
    return parser


def main(arguments: list[str] | None = None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        options.run_command(options)
        sys.stdout.flush()
    except Failure as failure:
        print(f"postprocess: error: {failure}", file=sys.stderr)
        return failure.status
    except ModuleNotFoundError as error:
        print(f"postprocess: error: {sys.executable} has no module {error.name} (Debian: python3-{error.name}, for "
              "/usr/bin/python3)", file=sys.stderr)
        return RESOURCES
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("postprocess: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
