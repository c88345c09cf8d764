"""report: one HTML page that needs nothing else, with pictures inside it, readable offline and on a phone."""

import math
from pathlib import Path

from postprocess.guard import program
from postprocess.guard.command_line import path
from postprocess.guard.failure import FILES, USAGE, Failure
from postprocess.guard.whole_file import write_whole

from .. import deck, page, reader
from ..analysis import comparison, not_finite
from ..analysis.variants import Variant, several_seeds
from ..page import text
from ..reader import Member, Run
from . import capacity, cosine, efficiency, epsilon, frequency, history, packing, perplexity, shared, table, tasks
from .shared import Shown

DESCRIPTION = "A self-contained HTML page: figures, tables, definitions, run facts, deck."

SECTIONS = (history, perplexity, table, frequency, efficiency, cosine, epsilon, tasks, capacity, packing)
FACTS = {"device": "device", "ranks": "MPI ranks", "threads": "threads per rank", "blas": "matrix products",
         "precision": "precision", "gemm_gflops": "matrix-product rate (GFLOP/s)", "code_version": "code version"}
MANY = 6  # a table of more members than this is collapsed


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help="HTML file (default: RUN/report.html)")


def run(options) -> None:
    path = options.output or options.run / "report.html"
    if path.suffix.lower() not in (".html", ".htm"):
        raise Failure(USAGE, f"{path}: a report's name must end in .html")
    if not reader.has_run(options.run) and (reader.capacity_files(options.run) or reader.cell_files(options.run)):
        contents = _without_run(options.run)
    else:
        contents = build(shared.read(options))
    write_whole(path, contents.encode("utf-8"))
    program.remark(f"wrote {path}")


def build(shown: Shown) -> str:
    """The whole page as text. A section that cannot be made says why, and the others stay."""
    members = [member for variant in shown.variants for member in variant.members]
    problem = deck.comments(members[0]).get("problem", "")
    title = f"Lexikos: {shown.run.name}"
    return page.document(title, [
        f"<h1>{text(title)}</h1>", f"<p>{text(problem)}</p>" if problem else "", _unfinished(members), _not_finite(shown.run),
        _best(comparison.compare(shown.variants, shown.reference)), _compared(shown.variants),
        *(_section(command, shown) for command in SECTIONS), _facts_section(members), _deck_section(shown.variants)])


def _section(command, shown: Shown) -> str:
    try:
        return command.section(shown)
    except Failure as failure:
        if failure.status != FILES:
            raise
        name = command.__name__.rsplit(".", 1)[-1]
        program.warn(f"the report has no section {name}: {failure}")
        return f'<h2>{name.capitalize()}</h2>\n<p class="warning">{text(failure)}</p>'


def _without_run(folder: Path) -> str:
    """The page of a folder that has no training run, but files of the jobs capacity and packing."""
    title = f"Lexikos: {folder.resolve().name}"
    return page.document(title, [f"<h1>{text(title)}</h1>", capacity.of_folder(folder), packing.of_folder(folder)])


def _unfinished(members: list[Member]) -> str:
    late = [f"{member.name} ({member.text('status')})" for member in members if not member.finished]
    if not late:
        return ""
    return (f'<p class="warning">Unfinished: {text(", ".join(late))}. Numbers of an unfinished member are those of its last '
            "validation so far; means and differences are taken at the last validation that all members concerned have "
            "made.</p>")


def _not_finite(run: Run) -> str:
    return "".join(f'<p class="warning">{text(line)}</p>\n' for line in not_finite.remarks(run))


def _best(rows: list[comparison.Row]) -> str:
    """The result in a sentence, and what it does not say."""
    known = [row for row in rows if math.isfinite(row.loss)]
    if not known:
        return "<p>No validation has been made yet.</p>"
    best = min(known, key=lambda row: row.loss)
    over = f", mean of {best.seeds} seeds, standard deviation {best.loss_sd:.4f}" if math.isfinite(best.loss_sd) else ""
    words = (f"Lowest validation loss: {best.variant}, {best.loss:.4f} nats per token{over} "
             f"(perplexity {best.perplexity:.2f} per token).")
    if len({row.tokens for row in known}) > 1:
        words += " The variants have not trained on the same number of tokens."
    once = [row.variant for row in rows if row.seeds == 1]
    if len(once) == len(rows) > 1:
        words += " Each member is one training run; how much a result changes from seed to seed is not part of this page."
    elif once and len(rows) > 1:
        words += f" One training run only, so without a spread over seeds: {', '.join(once)}."
    return f"<p>{text(words)}</p>"


def _compared(variants: list[Variant]) -> str:
    """What differs between the variants' decks, their seeds, and what they share."""
    firsts = [variant.members[0] for variant in variants]
    count = sum(len(variant.members) for variant in variants)
    several = several_seeds(variants)
    words = f"{count} member{'s' * (count != 1)}" + (f" in {len(variants)} variants" if several else "")
    parts = ["<h2>What was compared</h2>", f"<p>{words}: {text(', '.join(variant.name for variant in variants))}.</p>"]
    differing = {key: values for key, values in deck.differing(firsts).items() if key not in ("seed", "output.directory")}
    if several:
        differing["seeds"] = [", ".join(_value(seed) for seed in variant.by_seed()) for variant in variants]
    if differing:
        head = ["variant"] + list(differing)
        body = [[variant.name] + [_value(values[i]) for values in differing.values()] for i, variant in enumerate(variants)]
        parts += ["<p>Their decks differ in:</p>", page.table(head, body, [True] * len(head))]
    shared = deck.shared([member for variant in variants for member in variant.members])
    if shared:
        lines = "\n".join(f"{key} = {_value(value)}" for key, value in shared.items())
        parts.append(page.collapsed(f"Settings that all members share ({len(shared)})", f"<pre>{text(lines)}</pre>"))
    return "\n".join(parts)


def _facts_section(members: list[Member]) -> str:
    """Facts that all members share in one table, one row each; the others with one row per member."""
    facts = {label: [_fact(member, key) for member in members] for key, label in FACTS.items()}
    facts["training time (s)"] = [_seconds(member) for member in members]
    shared = [[label, values[0]] for label, values in facts.items() if len(set(values)) == 1]
    other = {label: values for label, values in facts.items() if len(set(values)) > 1}
    parts = ["<h2>How it was run</h2>"]
    if shared:
        parts.append(page.table(["", "every member" if len(members) > 1 else members[0].name], shared, [True, True]))
    if other:
        body = [[member.name] + [values[i] for values in other.values()] for i, member in enumerate(members)]
        listing = page.table(["member", *other], body, [True] * (1 + len(other)))
        parts.append(page.collapsed(f"What differs between the {len(members)} members", listing, len(members) > MANY))
    return "\n".join(parts)


def _fact(member: Member, key: str) -> str:
    if key == "gemm_gflops":  # 0: not measured
        return f"{member.number(key):.1f}" if 0.0 < member.number(key) < math.inf else "N/A"
    return member.text(key)


def _seconds(member: Member) -> str:
    seconds = member.column("history/seconds")
    return f"{seconds[-1]:,.1f}" if seconds.size and math.isfinite(seconds[-1]) else "N/A"


def _deck_section(variants: list[Variant]) -> str:
    """One deck per variant: its other seeds' differ only in the seed."""
    decks = []
    for variant in variants:
        first, others = variant.members[0], len(variant.members) - 1
        same = f"; its {others} other seed{'s differ' if others > 1 else ' differs'} only in the seed" if others else ""
        decks.append(page.collapsed(f"Resolved deck of {first.name}{same}", f"<pre>{text(first.text('deck'))}</pre>"))
    return "<h2>Decks</h2>\n" + "\n".join(decks)


def _value(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
