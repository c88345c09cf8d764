"""The report: one HTML page that needs nothing else, with pictures inside it, readable offline and on a phone."""

import base64
import html
import math
import shlex
from pathlib import Path

from . import comparison, cosine_figure, cosine_table, deck, definitions, history_figure, style
from .definitions import ALL, shown
from .reader import Member, Run

FACTS = {"device": "device", "ranks": "MPI ranks", "threads": "threads per rank", "blas": "matrix products",
         "precision": "precision", "gemm_gflops": "measured matrix-product rate (GFLOP/s)", "code_version": "code version"}

STYLE = """
body { margin: 0 auto; padding: 1rem; max-width: 58rem; background: #fff; color: #1b1b1b;
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; }
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


def build(run: Run, reference: Member | None, tokens: Path | None) -> str:
    """The whole page as text."""
    members = comparison.ordered(run, reference)
    rows = comparison.compare(run, reference)
    problem = deck.comments(members[0]).get("problem", "")
    title = f"Lexikos: {run.name}"
    sections = [
        f"<h1>{_text(title)}</h1>", f"<p>{_text(problem)}</p>" if problem else "", _unfinished(members),
        _best(rows), _compared(members), _loss_section(run, reference), _table_section(run, rows, reference),
        _unigram_section(rows), _cosine_section(run, members, tokens), _facts_section(members), _deck_section(members),
    ]
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_text(title)}</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(filter(None, sections)) + "\n</body>\n</html>\n")


def _unfinished(members: list[Member]) -> str:
    late = [f"{member.name} ({member.text('status')})" for member in members if not member.finished]
    if not late:
        return ""
    return (f'<p class="warning">Unfinished: {_text(", ".join(late))}. Numbers of an unfinished member are those of '
            "its last validation so far; differences are taken at the last validation that both members have made.</p>")


def _best(rows: list[comparison.Row]) -> str:
    """The result in a sentence, and what it does not say."""
    known = [row for row in rows if math.isfinite(row.loss)]
    if not known:
        return "<p>No validation has been made yet.</p>"
    best = min(known, key=lambda row: row.loss)
    text = (f"Lowest validation loss: {best.member}, {best.loss:.4f} nats per token "
            f"(perplexity {best.perplexity:.2f} per token).")
    if len({row.tokens for row in known}) > 1:
        text += " The members have not trained on the same number of tokens."
    if len(rows) > 1:
        text += " Each member is one training run; how much a result changes from seed to seed is not part of this page."
    return f"<p>{_text(text)}</p>"


def _compared(members: list[Member]) -> str:
    """What differs between the members' decks, and what they share."""
    differing, shared = deck.differing(members), deck.shared(members)
    parts = ["<h2>What was compared</h2>", f"<p>{len(members)} member{'s' * (len(members) != 1)}: "
             f"{_text(', '.join(member.name for member in members))}.</p>"]
    if differing:
        head = ["member"] + list(differing)
        body = [[member.name] + [_value(values[i]) for values in differing.values()] for i, member in enumerate(members)]
        parts += ["<p>Their decks differ in:</p>", _table(head, body, [True] * len(head))]
    if shared:
        lines = "\n".join(f"{key} = {_value(value)}" for key, value in shared.items())
        parts.append(f"<details><summary>Settings that all members share ({len(shared)})</summary>"
                     f"<pre>{_text(lines)}</pre></details>")
    return "\n".join(parts)


def _loss_section(run: Run, reference: Member | None) -> str:
    picture = _picture(history_figure.draw(run, reference), "Loss against training tokens for every member")
    caption = ("Validation loss (thick, with markers) and training loss (thin) against training tokens. The first steps may "
               "lie above the frame. Dashed: cross-entropy of the validation text under the training part's token "
               "frequencies; a model below it has learnt more than how often each token occurs.")
    if reference is not None:
        caption += f" Lower panel: validation loss minus that of {reference.name}; below zero is better."
    return "<h2>Loss</h2>\n" + _figure(picture, caption, _command("history", run, reference, "-o history.png"))


def _table_section(run: Run, rows: list[comparison.Row], reference: Member | None) -> str:
    quality, cost = list(definitions.QUALITY), list(definitions.COST)
    targets = sorted({f"{row.targets:,.0f}" for row in rows if math.isfinite(row.targets)})
    over = f" over {' or '.join(targets)} validation targets" if targets else ""
    against = f"Reference: {reference.name}." if reference else "No reference member, so no differences."
    moved = [row for row in rows if math.isfinite(row.compared_at_tokens) and row.compared_at_tokens != row.tokens]
    notes = "".join(f" {row.member} is compared at {row.compared_at_tokens:,.0f} training tokens, not at its last "
                    "validation." for row in moved)
    return (f"<h2>Validation</h2>\n<p>Losses are means{over}; perplexity is per token. {_text(against + notes)}</p>\n"
            + _rows(rows, quality) + "\n<h2>Size and speed</h2>\n" + _rows(rows, cost)
            + f'\n<p class="note">{_command("table", run, reference, "--csv")} prints every number in full.</p>\n'
            + _definitions({**definitions.QUALITY, **definitions.COST}))


def _unigram_section(rows: list[comparison.Row]) -> str:
    items = "".join(f"<li>{_text(line)}</li>" for line in comparison.statements(rows))
    return f"<h2>More than token frequencies?</h2>\n<ul>{items}</ul>"


def _cosine_section(run: Run, members: list[Member], tokens: Path | None) -> str:
    measured, missing = cosine_table.measure_members(members, "input", tokens)
    parts = ["<h2>Geometry of the input embedding</h2>"]
    if measured:
        names = [member.name for member in members]
        picture = _picture(cosine_figure.draw(names, measured, "input"), "Histograms of cosines for every member")
        caption = ("Cosines of all pairs of rows of the input matrix. Filled: rows as they are; dashed: after removing the "
                   "mean row; dotted: random directions in the same width.")
        extra = "-o cosine.png" + (f" --tokens {shlex.quote(str(tokens))}" if tokens else "")
        parts += [_figure(picture, caption, _command("cosine", run, None, extra)),
                  _rows(measured, list(definitions.GEOMETRY)), _definitions(definitions.GEOMETRY)]
    if missing:
        parts.append(f"<p>No embedding file yet: {_text(', '.join(missing))}.</p>")
    return "\n".join(parts)


def _facts_section(members: list[Member]) -> str:
    body = [[label] + [_fact(member, key) for member in members] for key, label in FACTS.items()]
    body.append(["training time (s)"] + [_seconds(member) for member in members])
    return "<h2>How it was run</h2>\n" + _table([""] + [member.name for member in members], body,
                                               [True] * (len(members) + 1))


def _fact(member: Member, key: str) -> str:
    if isinstance(member.attributes.get(key), float):
        return f"{member.number(key):.1f}" if math.isfinite(member.number(key)) else "N/A"
    return member.text(key)


def _seconds(member: Member) -> str:
    seconds = member.column("seconds")
    return f"{seconds[-1]:,.1f}" if seconds.size else "N/A"


def _deck_section(members: list[Member]) -> str:
    decks = "\n".join(f"<details><summary>Resolved deck of {_text(member.name)}</summary>"
                      f"<pre>{_text(member.text('deck'))}</pre></details>" for member in members)
    return f"<h2>Decks</h2>\n{decks}"


def _command(name: str, run: Run, reference: Member | None, extra: str) -> str:
    """The command line that makes a figure or table again."""
    named = reference is not None and reference.name != comparison.DEFAULT_REFERENCE
    chosen = f" --reference {shlex.quote(reference.name)}" if named else ""
    line = f"python3 -m postprocess {name} {shlex.quote(str(run.folder))}{chosen} {extra}"
    return f"<code>{_text(line)}</code>"


def _figure(picture: str, caption: str, command: str) -> str:
    return (f"<figure><div class=scroll>{picture}</div>\n"
            f"<figcaption>{_text(caption)}<br>To make it again: {command}</figcaption></figure>")


def _picture(figure, alternative: str) -> str:
    data = base64.b64encode(style.image(figure)).decode("ascii")
    return f'<img src="data:image/png;base64,{data}" alt="{_text(alternative)}">'


def _rows(rows: list, keys: list[str]) -> str:
    flush = [isinstance(getattr(rows[0], key), str) for key in keys]
    return _table([ALL[key][0] for key in keys], [[shown(key, getattr(row, key)) for key in keys] for row in rows], flush)


def _table(head: list[str], body: list[list[str]], flush: list[bool]) -> str:
    """An HTML table that scrolls sideways on a narrow screen; `flush` columns are set to the left."""
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f'<{tag}{" class=text" * left}>{_text(cell)}</{tag}>'
                                for cell, left in zip(cells, flush)) + "</tr>"

    return ('<div class="scroll"><table>\n<thead>' + line(head, "th") + "</thead>\n<tbody>"
            + "\n".join(line(cells, "td") for cells in body) + "</tbody>\n</table></div>")


def _definitions(keys) -> str:
    items = "".join(f"<dt>{_text(ALL[key][0])}</dt><dd>{_text(ALL[key][1])}</dd>" for key in keys)
    return f"<details><summary>What each number means</summary><dl>{items}</dl></details>"


def _value(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(text: str) -> str:
    return html.escape(str(text), quote=True)
