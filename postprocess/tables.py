"""Rows -> text, Markdown or CSV. A row is any dataclass; its columns are keys of `definitions.ALL`."""

import csv
import io

from .definitions import ALL, shown


def text_table(rows: list, keys: list[str]) -> str:
    """Columns in line for a terminal: names to the left, numbers to the right."""
    cells = [[ALL[key][0] for key in keys]] + [[shown(key, getattr(row, key)) for key in keys] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
    left = [isinstance(getattr(rows[0], key), str) for key in keys] if rows else [True] * len(keys)
    return "\n".join("  ".join(cell.ljust(width) if flush else cell.rjust(width)
                               for cell, width, flush in zip(line, widths, left)).rstrip() for line in cells)


def markdown_table(rows: list, keys: list[str]) -> str:
    """A Markdown table with the same cells."""
    lines = ["| " + " | ".join(ALL[key][0] for key in keys) + " |",
             "|" + "|".join("---" if rows and isinstance(getattr(rows[0], key), str) else "---:" for key in keys) + "|"]
    lines += ["| " + " | ".join(shown(key, getattr(row, key)).replace("|", "\\|") for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def csv_table(rows: list, keys: list[str]) -> str:
    """CSV with the keys as headings and every number in full; an unavailable one is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        values = (getattr(row, key) for key in keys)
        writer.writerow(["" if value != value else value if isinstance(value, str) else repr(value) for value in values])
    return out.getvalue().rstrip("\n")
