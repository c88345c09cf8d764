"""Command line: `python3 -m postprocess COMMAND RUN`."""

import argparse
import os
import sys
from pathlib import Path

from . import commands
from .failure import RESOURCES, USAGE, Failure

EXAMPLES = """examples:
  python3 -m postprocess report runs/first_run
  python3 -m postprocess history runs/first_run -o loss.png
  python3 -m postprocess table runs/first_run --markdown
  python3 -m postprocess perplexity runs/first_run --evaluation -o differences.png
  python3 -m postprocess frequency runs/first_run -o frequency.png
  python3 -m postprocess efficiency runs/first_run --target untied
  python3 -m postprocess tasks runs/first_run -o tasks.png
  python3 -m postprocess cosine runs/first_run --matrix output
  python3 -m postprocess capacity runs/capacity/capacity.h5 -o map.png --histograms cosines.png
  python3 -m postprocess packing runs/packing -o packing.png
  python3 -m postprocess packing --toml

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
    parser = Parser(prog="postprocess", description="Figures, tables and a report from the HDF5 files of a run.",
                    epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = _shared()
    run, reference, tokens, form, evaluation = shared.values()

    _add(group, "history", [run, reference], "figure: loss against training tokens", "Validation loss (thick) and training "
         "loss (thin) of all variants against training tokens, and the difference to the reference.", "RUN/history.png")
    table = _add(group, "table", [run, reference, form], "overview and cost, on standard output", "Validation loss, "
                 "perplexity, difference to the reference, parameters, speed: one row per variant.")
    table.add_argument("--members", action="store_true", help="one row per member (training run) instead")
    _add(group, "perplexity", [run, reference, evaluation, form], "table: loss in all units, spread and intervals",
         "Loss per token and per byte, perplexity per token and per word, over seeds; paired differences to the reference "
         "with 95 % intervals. The figure shows these differences.", "no figure")
    _add(group, "frequency", [run, reference, evaluation, form], "table: loss by token frequency", "Loss of the validation "
         "targets by how often their id occurs in the training data, at the last validation that all members have made.",
         "no figure")
    efficiency = _add(group, "efficiency", [run, form], "table: training tokens to reach the target's final loss",
                      "Training tokens that each variant needs to reach the target's last validation loss.")
    efficiency.add_argument("--target", metavar="VARIANT", help="variant whose last loss is to be reached (default: tied)")
    _add(group, "tasks", [run, reference, form], "table: evaluation tasks", "Accuracies and perplexities of evaluation "
         "tasks, with standard errors, and paired differences to the reference with their intervals.", "no figure")
    cosine = _add(group, "cosine", [run, reference, tokens], "figure and table: cosines of embedding rows",
                  "Cosines of all pairs of rows of each embedding matrix.",
                  "RUN/cosine.png, for output RUN/cosine_output.png")
    cosine.add_argument("--matrix", choices=("input", "output"), default="input", help="which matrix (default: input)")
    _add(group, "epsilon", [run, reference, form], "figure and table: epsilon while the model trains", "Epsilon of the "
         "embedding matrices against training tokens, where the deck set geometry.every.", "RUN/epsilon.png")
    _add_geometry(group, form)
    report = _add(group, "report", [run, reference, tokens], "one HTML page with all of it",
                  "A self-contained HTML page: figures, tables, definitions, run facts, deck.")
    report.add_argument("-o", "--output", type=Path, metavar="FILE", help="HTML file (default: RUN/report.html)")
    return parser


def _add_geometry(group, form: argparse.ArgumentParser) -> None:
    """The commands on files of the jobs capacity and packing."""
    capacity = _add(group, "capacity", [form], "table: epsilon, class and capacity of embedding matrices", "Geometry of the "
                    "matrices that the job \"capacity\" measured, beside published ones. The figure shows epsilon and "
                    "capacity against the width.", "no figure")
    capacity.add_argument("files", type=Path, nargs="+", metavar="FILE", help="capacity.h5, or a folder that has one")
    capacity.add_argument("--histograms", type=Path, metavar="FILE", help="another figure: histograms of the cosines")
    packing = _add(group, "packing", [], "table: packing cells, and fits of the capacity laws", "Cells of the job "
                   "\"packing\" beside the published ones, and the capacity laws fitted to either. Without FOLDER: the "
                   "published cells alone.", "no figure")
    packing.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="folder with cell_*.h5")
    packing.add_argument("--published", action="store_true", help="list the published cells that FOLDER lacks too")
    packing.add_argument("--fits", action="store_true", help="with --csv or --markdown: the fits instead of the cells")
    choice = packing.add_mutually_exclusive_group()
    _add_forms(choice)
    choice.add_argument("--toml", action="store_true", help="the fitted law alone, as [capacity.law] for a deck")


def _add_forms(group) -> None:
    group.add_argument("--csv", action="store_true", help="all columns, numbers in full, missing ones empty")
    group.add_argument("--markdown", action="store_true", help="all columns as a Markdown table")


def _add(group, name: str, parents: list, summary: str, description: str, figure: str = "") -> argparse.ArgumentParser:
    """A command; with `figure`, what -o is by default, it takes -o."""
    command = group.add_parser(name, parents=parents, help=summary, description=description)
    if figure:
        command.add_argument("-o", "--output", type=Path, metavar="FILE",
                             help=f"figure: png, svg or pdf (default: {figure})")
    return command


def _shared() -> dict[str, argparse.ArgumentParser]:
    """Options that several commands take, by what they are about."""
    shared = {name: argparse.ArgumentParser(add_help=False) for name in ("run", "reference", "tokens", "form", "evaluation")}
    shared["run"].add_argument("run", type=Path, metavar="RUN", help="folder of the run, such as runs/first_run")
    shared["reference"].add_argument("--reference", metavar="VARIANT", help="variant that differences are taken against "
                                     "(default: tied, if there is one)")
    shared["tokens"].add_argument("--tokens", type=Path, metavar="FILE", help="tokens file of the run, to tell which rows "
                                  "were seen in training (default: the deck's, if it is there)")
    _add_forms(shared["form"].add_mutually_exclusive_group())
    shared["evaluation"].add_argument("--evaluation", action="store_true", help="read evaluation.h5, which the job "
                                      '"evaluate" writes, instead of the validations in history.h5')
    return shared


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        getattr(commands, options.command)(options)
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
