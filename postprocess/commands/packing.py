"""packing: cells of the job "packing" beside the published ones, and the capacity laws fitted to either."""

import shlex
from pathlib import Path

from postprocess.guard.command_line import path

from .. import page, reader, tables
from ..analysis import packing as analysis
from . import shared
from .shared import Shown

DESCRIPTION = ("Cells of the job \"packing\" beside the published ones, and the capacity laws fitted to either. Without "
               "FOLDER: only the published cells.")

COLUMNS = ["kind", "d", "k", "p", "repeats", "coherence", "published", "to_published", "welch"]
FITS = ["data", "form", "cells", "number", "C", "r2", "mape"]
FITS_FOUR = ["data", "cells", "C", "a", "b", "c"]
FULL = ["source", *COLUMNS, "seconds", "learning_rate", "seed"]
FITS_FULL = ["data", "form", "cells", "number", "C", "a", "b", "c", "r2", "mape"]
MANY = 12  # cells: a longer table is collapsed


def options(parser) -> None:
    shared.add_figure(parser)
    parser.add_argument("folder", type=path, nargs="?", metavar="FOLDER", help="folder with cell_*.h5")
    parser.add_argument("--published", action="store_true", help="list the published cells that FOLDER lacks too")
    parser.add_argument("--fits", action="store_true", help="with --csv or --markdown: the fits instead of the cells")
    choice = parser.add_mutually_exclusive_group()
    shared.add_forms(choice)
    choice.add_argument("--toml", action="store_true", help="only the fitted law, as [capacity.law] for a deck")


def run(options) -> None:
    cells = reader.read_cells(options.folder) if options.folder else []
    if options.toml:
        print(analysis.toml(cells))
        return
    rows = analysis.rows(cells, options.published or not cells)
    fits = analysis.fits(cells)
    asked = (fits, FITS_FULL) if options.fits else (rows, FULL)
    if not shared.printed(options, *asked):
        if options.folder:
            print(tables.text_table(rows, COLUMNS) + "\n")
        print(tables.text_table(fits, FITS) + "\n")
        print(tables.text_table([fit for fit in fits if fit.form == "four-parameter"], FITS_FOUR) + "\n")
        print("".join(f"{tables.wrapped([line])}\n" for line in analysis.remarks(cells, fits)), end="")
        print(tables.definition_text([*(COLUMNS if options.folder else []), *FITS, *FITS_FOUR]))
    if options.output:
        from ..figures import packing as picture

        shared.save(picture.draw(cells, fits), options.output, options)


def section(shown: Shown) -> str:
    return of_folder(shown.run.folder)


def of_folder(folder: Path) -> str:
    """Empty without a cell_*.h5."""
    if not reader.cell_files(folder):
        return ""
    from ..figures import packing as picture

    cells = reader.read_cells(folder)
    rows, fits = analysis.rows(cells, False), analysis.fits(cells)
    command = f"packing {shlex.quote(str(folder))}"
    caption = ("Largest |cosine| of k vectors in d dimensions: measured cells (filled), published ones (open), the laws and "
               "the Welch bound, below which no vectors can come.")
    return "\n".join([
        "<h2>Packing of directions</h2>",
        page.figure(picture.draw(cells, fits), "Epsilon of packings against the number of vectors", caption,
                    page.command(f"{command} -o packing.png")),
        page.collapsed(f"Each of the {len(rows)} cells", page.rows_table(rows, COLUMNS), len(rows) > MANY),
        "<h3>Laws fitted to the cells</h3>", page.rows_table(fits, FITS_FULL),
        page.listed(analysis.remarks(cells, fits)),
        page.note(f"{page.command(f'{command} --toml')} prints the measured cells' law for a deck of the job capacity."),
        page.definitions([*COLUMNS, *FITS_FULL])])
