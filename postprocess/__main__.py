"""Command line: `python3 -m postprocess COMMAND RUN`. Each command is a few lines; the work is in the other modules."""

import argparse
import os
import sys
from pathlib import Path

from .failure import FILES, RESOURCES, USAGE, Failure

EXAMPLES = """examples:
  python3 -m postprocess report runs/first_run
  python3 -m postprocess history runs/first_run -o loss.png
  python3 -m postprocess table runs/first_run --markdown
  python3 -m postprocess cosine runs/first_run --matrix output

RUN is a folder written by lexikos: one history.h5, or one folder with a history.h5 per sweep member.
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
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("run", type=Path, metavar="RUN", help="folder of the run, such as runs/first_run")
    common.add_argument("--reference", metavar="MEMBER",
                        help="member that differences are taken against (default: tied, if there is one)")
    tokens = argparse.ArgumentParser(add_help=False)
    tokens.add_argument("--tokens", type=Path, metavar="FILE",
                        help="tokens file of the run, to tell which rows were seen in training (default: the deck's, if it "
                        "is there)")

    history = commands.add_parser("history", parents=[common], help="figure: loss against training tokens",
                                  description="Validation loss (thick) and training loss (thin) of all members against "
                                  "training tokens, and the difference to the reference.")
    history.add_argument("-o", "--output", type=Path, metavar="FILE", help="png, svg or pdf (default: RUN/history.png)")
    table = commands.add_parser("table", parents=[common], help="validation and cost table, on standard output",
                                description="Validation loss, perplexity, difference to the reference, parameters, speed.")
    form = table.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="all columns, numbers in full, missing ones empty")
    form.add_argument("--markdown", action="store_true", help="all columns as a Markdown table")
    cosine = commands.add_parser("cosine", parents=[common, tokens], help="figure and table: cosines of embedding rows",
                                 description="Cosines of all pairs of rows of each member's embedding matrix.")
    cosine.add_argument("--matrix", choices=("input", "output"), default="input", help="which matrix (default: input)")
    cosine.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="png, svg or pdf (default: RUN/cosine.png, for output RUN/cosine_output.png)")
    report = commands.add_parser("report", parents=[common, tokens], help="one HTML page with all of it",
                                 description="A self-contained HTML page: figures, tables, definitions, run facts, deck.")
    report.add_argument("-o", "--output", type=Path, metavar="FILE", help="HTML file (default: RUN/report.html)")
    return parser


def history(options: argparse.Namespace) -> None:
    from . import comparison, history_figure, reader, style

    run = reader.read_run(options.run)
    figure = history_figure.draw(run, comparison.find_reference(run, options.reference))
    path = options.output or options.run / "history.png"
    style.save(figure, path)
    print(f"wrote {path}")


def table(options: argparse.Namespace) -> None:
    from . import comparison, definitions, reader, tables

    run = reader.read_run(options.run)
    reference = comparison.find_reference(run, options.reference)
    rows = comparison.compare(run, reference)
    every = list({**definitions.QUALITY, **definitions.COST, **definitions.MORE})
    if options.csv:
        print(tables.csv_table(rows, every))
    elif options.markdown:
        print(tables.markdown_table(rows, every))
    else:
        print(tables.text_table(rows, list(definitions.QUALITY)))
        print("\n" + tables.text_table(rows, list(definitions.COST)))
        print(f"\nreference: {reference.name if reference else 'none'}")
        print("\n".join(comparison.statements(rows)))
        print("\n" + "\n".join(definitions.definition_lines({**definitions.QUALITY, **definitions.COST})))


def cosine(options: argparse.Namespace) -> None:
    from . import comparison, cosine_figure, cosine_table, definitions, reader, style, tables

    run = reader.read_run(options.run)
    members = comparison.ordered(run, comparison.find_reference(run, options.reference))
    measured, missing = cosine_table.measure_members(members, options.matrix, options.tokens)
    if not measured:
        raise Failure(FILES, f"{options.run}: no embedding.h5 yet in any member")
    path = options.output or options.run / ("cosine.png" if options.matrix == "input" else "cosine_output.png")
    style.save(cosine_figure.draw([member.name for member in members], measured, options.matrix), path)
    print(tables.text_table(measured, list(definitions.GEOMETRY)))
    print("".join(f"\nno embedding.h5 yet: {name}" for name in missing))
    print("\n".join(definitions.definition_lines(definitions.GEOMETRY)))
    print(f"\nwrote {path}")


def report(options: argparse.Namespace) -> None:
    from . import comparison, reader, report as page, style

    run = reader.read_run(options.run)
    path = options.output or options.run / "report.html"
    text = page.build(run, comparison.find_reference(run, options.reference), options.tokens)
    style.write_whole(path, text.encode("utf-8"))
    print(f"wrote {path}")


def main(arguments: list[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        {"history": history, "table": table, "cosine": cosine, "report": report}[options.command](options)
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
