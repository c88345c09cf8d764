"""cosine: the cosines between the rows of each variant's embedding matrix, as the job "capacity" measured them."""

from dataclasses import replace

from postprocess.guard import program
from postprocess.guard.failure import FILES, Failure

from .. import numbers, page, tables
from ..analysis import cosines
from ..analysis.variants import singles
from ..page import command_of, text
from . import shared
from .shared import Shown

DESCRIPTION = ("Cosines of all pairs of rows of each embedding matrix, over seeds. Read from a capacity.h5 in RUN or in a "
               "folder of it, which the job \"capacity\" writes.")

COLUMNS = [["variant", "rows", "count", "zero_rows", "mean", "deviation", "epsilon"],
           ["variant", "rows", "relative", "relative_sd", "effective_rank", "effective_rank_sd"]]


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    shared.add_figure(parser, "RUN/cosine.png, for output RUN/cosine_output.png")
    parser.add_argument("--matrix", choices=("input", "output"), default="input", help="which matrix (default: input)")


def run(options) -> None:
    from .. import style
    from ..figures import histograms

    shown = shared.read(options)
    measured, missing = cosines.measured_members(shown.run, options.matrix)
    if not measured:
        raise Failure(FILES, f"{options.run}: no capacity.h5 with a member's {options.matrix} matrix; "
                             f"{cosines.how_to_measure(options.run)} writes one")
    rows = cosines.over_seeds(shown.variants, measured)
    path = options.output or options.run / ("cosine.png" if options.matrix == "input" else "cosine_output.png")
    style.save(histograms.draw(rows), path)
    blocks = shared.chosen_blocks(COLUMNS, shown.several)
    print(tables.text_blocks(rows, blocks))
    print("".join(f"\nnot measured yet: {name}" for name in missing))
    print(tables.definition_text(numbers.flat(blocks)))
    program.remark(f"\nwrote {path}")


def section(shown: Shown) -> str:
    measured, missing = cosines.measured_members(shown.run, "input")
    parts = ["<h2>Geometry of the input embedding</h2>"]
    if measured:
        parts += _measured(shown, measured)
    if missing:
        how = cosines.how_to_measure(shown.run.folder)
        parts.append(f"<p>Not measured yet: {text(', '.join(missing))}. <code>{text(how)}</code> does it.</p>")
    return "\n".join(parts)


def _measured(shown: Shown, measured: cosines.Measured) -> list[str]:
    from ..figures import histograms

    rows = cosines.over_seeds(shown.variants, measured)
    caption = ("Cosines of all pairs of rows of the input matrix; each panel has a range of its own. Filled: rows as they "
               "are; dashed: after removing the mean row; dotted: random directions in the same width. Lines with triangles: "
               "epsilon.")
    caption += " The pairs of all seeds are counted together." if shown.several else ""
    keys = numbers.chosen(numbers.flat(COLUMNS), shown.several)
    parts = [page.figure(histograms.draw(rows), "Histograms of cosines", caption,
                         command_of("cosine", replace(shown, reference=None), "-o cosine.png")),
             page.rows_table(rows, keys), page.definitions(keys)]
    if shown.several:
        every = cosines.over_seeds(singles(shown.variants), measured)
        keys = numbers.chosen(numbers.of_members(numbers.flat(COLUMNS)), False)
        parts.append(page.collapsed(f"Each of the {len(measured)} members", page.rows_table(every, keys)))
    return parts
