"""capacity: epsilon, class and capacity of the matrices that the job "capacity" measured, beside published ones."""

import shlex
from pathlib import Path

from postprocess.guard.command_line import path

from .. import numbers, page, published, reader, tables
from ..analysis import capacity as analysis
from ..analysis import not_finite
from ..analysis.cosines import measured_members
from . import shared
from .shared import Shown

DESCRIPTION = ("Geometry of the matrices that the job \"capacity\" measured, beside published ones. The figure shows epsilon "
               "and capacity against the width.")

FACTS = ["matrix", "vocabulary", "width", "element", "zero_rows", "padding", "untrained", "outliers"]
COLUMNS = [["matrix", "row_set", "mean", "deviation", "epsilon", "capacity_class", "relative"],
           ["matrix", "row_set", "log10_k_jl_textbook", "log10_k_jl_random", "log10_k_adjusted", "log10_k_fitted"],
           ["matrix", "row_set", "effective_rank", "participation"],
           ["matrix", "row_set", "count", "skewness", "smallest", "largest"]]
FULL = ["matrix", "file", "side", "vocabulary", "width", "row_set", "count", *COLUMNS[0][2:], *COLUMNS[1][2:],
        *COLUMNS[2][2:], *COLUMNS[3][3:]]


def options(parser) -> None:
    shared.add_forms(parser.add_mutually_exclusive_group())
    shared.add_figure(parser)
    parser.add_argument("files", type=path, nargs="+", metavar="FILE", help="capacity.h5, or a folder that has one")
    parser.add_argument("--histograms", type=path, metavar="FILE", help="another figure: histograms of the cosines")


def run(options) -> None:
    files = [reader.read_capacity(path) for path in options.files]
    shared.say(not_finite.in_capacity(files))
    rows = analysis.rows(files)
    if not shared.printed(options, rows, FULL):
        print(tables.text_table(analysis.facts(files), FACTS) + "\n")
        print(tables.text_blocks(rows, COLUMNS) + "\n")
        print("".join(f"{tables.wrapped([line])}\n" for line in analysis.remarks(files)), end="")
        print(tables.definition_text([*FACTS, *numbers.flat(COLUMNS)]))
    if options.output:
        from ..figures import capacity as picture

        shared.save(picture.draw(rows, analysis.laws(files)[0]), options.output, options)
    if options.histograms:
        from ..figures import histograms

        shared.save(histograms.draw(rows), options.histograms, options)


def section(shown: Shown) -> str:
    """Without the histograms where the section on the members' cosines has them."""
    return of_folder(shown.run.folder, histograms=not measured_members(shown.run, "input")[0])


def of_folder(folder: Path, histograms: bool = True) -> str:
    """Empty without a capacity.h5."""
    paths = reader.capacity_files(folder)
    if not paths:
        return ""
    from ..figures import capacity as picture

    files = [reader.read_capacity(path) for path in paths]
    rows, keys = analysis.rows(files), numbers.flat(COLUMNS)
    command = f"capacity {' '.join(shlex.quote(str(path)) for path in paths)}"
    caption = (f"Left: epsilon against the width, above the grey band class 1, below it class 2. Right: directions that fit at "
               f"this epsilon. Filled: rows as they are; open: mean row removed. Crosses: {len(published.models())} of the "
               f"{published.MODELS_IN_PAPER} models of arXiv:2606.02765.")
    return "\n".join([
        "<h2>Representational capacity</h2>", page.rows_table(analysis.facts(files), FACTS),
        page.figure(picture.draw(rows, analysis.laws(files)[0]), "Epsilon and capacity against the width", caption,
                    page.command(f"{command} -o capacity.png")),
        page.rows_table(rows, keys), page.listed(analysis.remarks(files) + not_finite.in_capacity(files)),
        _histograms(rows, page.command(f"{command} --histograms cosines.png")) if histograms else "",
        page.definitions([*FACTS, *keys])])


def _histograms(rows: list[analysis.Row], command: str) -> str:
    from ..figures import histograms

    caption = ("Cosines of all pairs of rows; each panel has a range of its own. Filled: rows as they are; dashed: mean row "
               "removed; dotted: random directions in the same width. Lines with triangles: epsilon.")
    return page.figure(histograms.draw(rows), "Histograms of cosines with epsilon", caption, command)
