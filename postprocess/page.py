"""Pieces of the HTML page: style, tables, figures, definitions. Everything that comes from outside is escaped."""

import base64
import html
import shlex

from . import numbers
from .analysis.variants import DEFAULT_REFERENCE

STYLE = """
body { margin: 0 auto; padding: 1rem; max-width: 58rem; background: #fff; color: #1b1b1b;
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
img { width: 100%; min-width: 34rem; height: auto; } figure { margin: 0; }
figcaption, dl, .note { font-size: 0.9rem; color: #444; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #999; vertical-align: bottom; } th.text, td.text { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; padding-left: 0; }
code, pre { font: 0.85rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; background: #f4f4f2; }
pre { padding: 0.6rem; overflow-x: auto; } code { padding: 0 0.2rem; overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 0.3rem 1rem; } summary { cursor: pointer; }
.warning { border-left: 4px solid #d55e00; padding: 0.3rem 0.8rem; background: #fdf3ec; }
"""


def document(title: str, sections: list[str]) -> str:
    """The whole page; empty sections are left out."""
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{text(title)}</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(filter(None, sections)) + "\n</body>\n</html>\n")


def figure(drawn, alternative: str, caption: str, command: str) -> str:
    """A picture inside the page, with its caption and the command that makes it again."""
    from . import style

    data = base64.b64encode(style.image(drawn)).decode("ascii")
    picture = f'<img src="data:image/png;base64,{data}" alt="{text(alternative)}">'
    return (f"<figure><div class=scroll>{picture}</div>\n"
            f"<figcaption>{text(caption)}<br>To make it again: {command}</figcaption></figure>")


def rows_table(rows: list, keys: list[str]) -> str:
    """Rows with the columns `keys`, as `tables` prints them."""
    flush = [isinstance(numbers.value(rows[0], key), str) for key in keys]
    return table([numbers.of(key, rows).heading for key in keys], [[numbers.cell(row, key) for key in keys] for row in rows],
                 flush)


def table(head: list[str], body: list[list[str]], flush: list[bool]) -> str:
    """An HTML table that scrolls sideways on a narrow screen; `flush` columns are set to the left."""
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag}{" class=text" * left}>{text(cell)}</{tag}>'
                                for cell, left in zip(cells, flush)) + "</tr>"

    return ('<div class="scroll"><table>\n<thead>' + line(head, "th") + "</thead>\n<tbody>"
            + "\n".join(line(cells, "td") for cells in body) + "</tbody>\n</table></div>")


def collapsed(summary: str, content: str, when: bool = True) -> str:
    """`content` behind a line that opens it; as it is where `when` is false."""
    return f"<details><summary>{text(summary)}</summary>\n{content}</details>" if when else content


def definitions(keys, rows: list = ()) -> str:
    items = "".join(f"<dt>{text(heading)}</dt><dd>{text(words)}</dd>" for heading, words in numbers.definitions(keys, rows))
    return collapsed("What each number means", f"<dl>{items}</dl>")


def listed(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>" if lines else ""


def note(words: str) -> str:
    return f'<p class="note">{words}</p>'


def command(words: str) -> str:
    """A command line of postprocess."""
    return f"<code>{text(f'python3 -m postprocess {words}')}</code>"


def command_of(name: str, shown, extra: str) -> str:
    """The command line that makes a figure or table of `shown` (a run, its variants and their reference) again."""
    named = shown.reference is not None and shown.reference.name != DEFAULT_REFERENCE
    chosen = f" --reference {shlex.quote(shown.reference.name)}" if named else ""
    return command(f"{name} {shlex.quote(str(shown.run.folder))}{chosen} {extra}")


def text(words: object) -> str:
    return html.escape(str(words), quote=True)
