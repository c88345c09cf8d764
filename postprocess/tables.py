"""Rows -> text, Markdown or CSV. A row is any dataclass; its columns are keys as `numbers` has them."""

import csv
import io
import textwrap

from . import numbers

WIDTH = 80  # columns of a terminal


def text_table(rows: list, keys: list[str]) -> str:
    """Columns in line for a terminal: names to the left, numbers to the right."""
    cells = [[numbers.of(key, rows).heading for key in keys]] + [[numbers.cell(row, key) for key in keys] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
    left = [not rows or isinstance(numbers.value(rows[0], key), str) for key in keys]
    return "\n".join("  ".join(cell.ljust(width) if flush else cell.rjust(width)
                               for cell, width, flush in zip(line, widths, left)).rstrip() for line in cells)


def text_blocks(rows: list, blocks: list[list[str]]) -> str:
    """One text table per block of columns, below one another."""
    return "\n\n".join(text_table(rows, keys) for keys in blocks if len(keys) > 1)


def definition_text(keys, rows: list = ()) -> str:
    """The definitions of columns, wrapped for a terminal."""
    return wrapped([f"{heading}: {definition}" for heading, definition in numbers.definitions(keys, rows)])


def wrapped(lines: list[str]) -> str:
    """Lines of text, wrapped for a terminal."""
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
                     for line in lines)


def markdown_table(rows: list, keys: list[str]) -> str:
    """A Markdown table with the same cells."""
    lines = ["| " + " | ".join(numbers.of(key, rows).heading for key in keys) + " |",
             "|" + "|".join("---" if rows and isinstance(numbers.value(rows[0], key), str) else "---:" for key in keys) + "|"]
    lines += ["| " + " | ".join(numbers.cell(row, key).replace("|", "\\|") for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def csv_table(rows: list, keys: list[str]) -> str:
    """CSV with the keys as headings and every number in full; N/A for an unavailable one.

    An interval takes two columns, its key with _low and _high.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    numbers.definitions(keys, rows)  # every column is there
    for number, row in enumerate(rows):
        cells = {}
        for key in keys:
            value = numbers.value(row, key)
            ends = {f"{key}_low": value[0], f"{key}_high": value[1]} if isinstance(value, tuple) else {key: value}
            cells.update({name.replace("_interval", ""): _full(one) for name, one in ends.items()})
        if number == 0:
            writer.writerow(cells)
        writer.writerow(cells.values())
    return out.getvalue().rstrip("\n")


def _full(value: object) -> str:
    if isinstance(value, str):
        return value
    return numbers.NOT_AVAILABLE if value != value else repr(value.item() if hasattr(value, "item") else value)
