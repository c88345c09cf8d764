"""Sections of the page on files of the jobs "capacity" and "packing", where a run's folder has some."""

import shlex
from pathlib import Path

from . import capacity_figure, capacity_histograms, capacity_table, columns, page, published, reader
from .page import text

MANY = 12  # cells: a longer table is folded


def files_of(folder: Path) -> bool:
    """Whether there is anything to show."""
    return bool(reader.capacity_files(folder) or reader.cell_files(folder))


def alone(folder: Path) -> str:
    """The whole page of a folder that has no training run."""
    title = f"Lexikos: {folder.resolve().name}"
    return page.document(title, [f"<h1>{text(title)}</h1>", capacity(folder), packing(folder)])


def capacity(folder: Path) -> str:
    """Empty without a capacity.h5."""
    paths = reader.capacity_files(folder)
    if not paths:
        return ""
    files = [reader.read_capacity(path) for path in paths]
    rows, keys = capacity_table.rows(files), columns.flat(columns.CAPACITY)
    command = f"capacity {' '.join(shlex.quote(str(path)) for path in paths)}"
    caption = (f"Left: epsilon against the width, above the grey band class 1, below it class 2. Right: directions that fit at "
               f"this epsilon. Filled: rows as they are; open: mean row removed. Crosses: {len(published.models())} of the "
               f"{published.MODELS_IN_PAPER} models of arXiv:2606.02765.")
    cosines = ("Cosines of all pairs of rows; each panel has a range of its own. Filled: rows as they are; dashed: mean row "
               "removed; dotted: random directions in the same width. Lines with triangles: epsilon.")
    return "\n".join([
        "<h2>Representational capacity</h2>", page.rows_table(capacity_table.facts(files), columns.CAPACITY_FACTS),
        page.figure(capacity_figure.draw(rows, capacity_table.laws(files)[0]), "Epsilon and capacity against the width",
                    caption, _command(f"{command} -o capacity.png")),
        page.rows_table(rows, keys), page.listed(capacity_table.remarks(files)),
        page.figure(capacity_histograms.draw(rows), "Histograms of cosines with epsilon", cosines,
                    _command(f"{command} --histograms cosines.png")),
        page.definitions([*columns.CAPACITY_FACTS, *keys])])


def packing(folder: Path) -> str:
    """Empty without a cell_*.h5."""
    if not reader.cell_files(folder):
        return ""
    from . import packing_figure, packing_table  # these need SciPy, which the page of a training run does without

    cells = reader.read_cells(folder)
    rows, fits = packing_table.rows(cells, False), packing_table.fits(cells)
    command = f"packing {shlex.quote(str(folder))}"
    caption = ("Largest |cosine| of k vectors in d dimensions: measured cells (filled), published ones (open), the laws and "
               "the Welch bound, below which no vectors can come.")
    return "\n".join([
        "<h2>Packing of directions</h2>",
        page.figure(packing_figure.draw(cells, fits), "Epsilon of packings against the number of vectors", caption,
                    _command(f"{command} -o packing.png")),
        page.folded(f"Each of the {len(rows)} cells", page.rows_table(rows, columns.PACKING), len(rows) > MANY),
        "<h3>Laws fitted to the cells</h3>", page.rows_table(fits, columns.FITS_FULL),
        page.listed(packing_table.remarks(cells, fits)),
        page.note(f"{_command(f'{command} --toml')} prints the measured cells' law for a deck of the job capacity."),
        page.definitions([*columns.PACKING, *columns.FITS_FULL])])


def _command(words: str) -> str:
    return f"<code>{text(f'python3 -m postprocess {words}')}</code>"
