"""The report: one HTML page that needs nothing else, with pictures inside it, readable offline and on a phone."""

import math
import shlex
from pathlib import Path

from . import (columns, comparison, cosine_figure, cosine_table, deck, definitions, efficiency, epsilon_curves, epsilon_figure,
               frequency, frequency_figure, geometry_sections, history_figure, page, perplexity_figure,
               task_section)
from .page import text
from .reader import Member, Run
from .variants import DEFAULT_REFERENCE, Variant, ordered, several_seeds, singles, unpaired

FACTS = {"device": "device", "ranks": "MPI ranks", "threads": "threads per rank", "blas": "matrix products",
         "precision": "precision", "gemm_gflops": "matrix-product rate (GFLOP/s)", "code_version": "code version"}
MANY = 6  # a table of more members than this is folded


def build(run: Run, variants: list[Variant], reference: Variant | None, tokens: Path | None) -> str:
    """The whole page as text."""
    variants = ordered(variants, reference)
    members = [member for variant in variants for member in variant.members]
    rows = comparison.compare(variants, reference)
    problem = deck.comments(members[0]).get("problem", "")
    title = f"Lexikos: {run.name}"
    return page.document(title, [
        f"<h1>{text(title)}</h1>", f"<p>{text(problem)}</p>" if problem else "", _unfinished(members), _best(rows),
        _compared(variants), _loss_section(run, variants, reference),
        _validation_section(run, variants, rows, reference), _cost_section(run, variants, rows, reference),
        _unigram_section(rows), _frequency_section(run, variants, reference),
        _efficiency_section(run, variants, reference), _cosine_section(run, variants, tokens),
        _epsilon_section(run, variants),
        task_section.section(run, reference.name if reference else None,
                             _command("tasks", run, reference, "-o tasks.png")),
        geometry_sections.capacity(run.folder), geometry_sections.packing(run.folder), _facts_section(members),
        _deck_section(variants)])


def _unfinished(members: list[Member]) -> str:
    late = [f"{member.name} ({member.text('status')})" for member in members if not member.finished]
    if not late:
        return ""
    return (f'<p class="warning">Unfinished: {text(", ".join(late))}. Numbers of an unfinished member are those of its last '
            "validation so far; means and differences are taken at the last validation that all members concerned have "
            "made.</p>")


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
        parts.append(page.folded(f"Settings that all members share ({len(shared)})", f"<pre>{text(lines)}</pre>"))
    return "\n".join(parts)


def _loss_section(run: Run, variants: list[Variant], reference: Variant | None) -> str:
    caption = ("Validation loss (thick, with markers) and training loss (thin) against training tokens. The first steps may "
               "lie above the frame. Dashed: cross-entropy of the validation text under the training part's token "
               "frequencies; a model below it has learnt more than how often each token occurs.")
    if several_seeds(variants):
        caption += " Curves are means over the seeds; a band is one sample standard deviation to either side."
    if reference is not None:
        caption += f" Lower panel: validation loss minus that of {reference.name}; below zero is better."
    if reference is not None and several_seeds(variants):
        caption += (" Differences are taken seed by seed; their 95 % Student-t intervals are drawn as bands, or as bars at "
                    "the end where bands would hide one another, and may leave the frame.")
    return "<h2>Loss</h2>\n" + page.figure(history_figure.draw(variants, reference), "Loss against training tokens", caption,
                                           _command("history", run, reference, "-o history.png"))


def _validation_section(run: Run, variants: list[Variant], rows: list[comparison.Row], reference: Variant | None) -> str:
    several = several_seeds(variants)
    quality = definitions.chosen(["variant", "seeds", "loss", "loss_sd", "perplexity", "bits_per_byte", "word_perplexity",
                                  "tokens", "status"], several)
    change = definitions.chosen([key for block in columns.PERPLEXITY[1:] for key in block if key != "tokens"], several)
    change = list(dict.fromkeys(change))
    targets = sorted({f"{row.targets:,.0f}" for row in rows if math.isfinite(row.targets)})
    over = f" over {' or '.join(targets)} validation targets" if targets else ""
    against = f"Reference: {reference.name}." if reference else "No reference, so no differences."
    moved = [row for row in rows if math.isfinite(row.compared_at_tokens) and row.compared_at_tokens != row.tokens]
    notes = "".join(f" {row.variant} is compared at {row.compared_at_tokens:,.0f} training tokens, not at its last "
                    "validation." for row in moved)
    parts = [f"<h2>Validation</h2>\n<p>Losses are means{over}; perplexity is per token. {text(against + notes)}</p>",
             page.rows_table(rows, quality), page.listed(unpaired(variants, reference))]
    if reference and len(variants) > 1:
        parts += ["<h3>Differences to the reference</h3>", _difference_figure(run, variants, rows, reference, several),
                  page.rows_table(rows, change)]
    parts.append(page.definitions(quality + change))
    return "\n".join(parts)


def _difference_figure(run: Run, variants: list[Variant], rows: list[comparison.Row], reference: Variant,
                       several: bool) -> str:
    if not several:  # the loss figure shows as much
        return page.note(f"{_command('perplexity', run, reference, '--csv')} prints every number in full.")
    caption = (f"Difference of the validation loss to {reference.name}'s, seed by seed (small dots), its mean and 95 % "
               "Student-t interval.")
    return page.figure(perplexity_figure.draw(variants, rows, reference), "Differences with intervals", caption,
                       _command("perplexity", run, reference, "-o differences.png"))


def _cost_section(run: Run, variants: list[Variant], rows: list[comparison.Row], reference: Variant | None) -> str:
    several = several_seeds(variants)
    keys = definitions.chosen(columns.flat(columns.TABLE[2:]), several)
    parts = ["<h2>Size and speed</h2>", page.rows_table(rows, keys),
             page.note(f"{_command('table', run, reference, '--csv')} prints every number in full."), page.definitions(keys)]
    if several:
        every = comparison.compare(singles(variants), reference)
        shown = definitions.chosen(columns.of_members(columns.flat(columns.TABLE)), False)
        parts.append(page.folded(f"Each of the {len(every)} members", page.rows_table(every, shown)))
    return "\n".join(parts)


def _unigram_section(rows: list[comparison.Row]) -> str:
    return f"<h2>More than token frequencies?</h2>\n{page.listed(comparison.statements(rows))}"


def _frequency_section(run: Run, variants: list[Variant], reference: Variant | None) -> str:
    head = "<h2>Loss by token frequency</h2>\n"
    found = frequency.analyse(variants, reference)
    if found is None:
        return head + "<p>No frequency data yet at a validation that all members have made.</p>"
    caption = ("Validation loss of the targets whose id has the relative frequency below the axis in the training data. "
               f"At {found.tokens:,} training tokens.")
    if several_seeds(variants):
        caption += (" Mean and sample standard deviation over the seeds; lower panel: paired differences with 95 % "
                    "Student-t intervals, which may leave the frame.")
    keys = definitions.chosen(["bin", *columns.FREQUENCY], several_seeds(variants))
    bins = page.table(["bin", "ids", "targets", "of targets"],
                      [[row.bin, f"{row.ids:,}", f"{row.targets:,}", f"{100.0 * row.share:.2f} %"]
                       for row in found.of(found.variants[0])], [True, False, False, False])
    return (head + page.figure(frequency_figure.draw(found), "Loss by token frequency", caption,
                               _command("frequency", run, reference, "-o frequency.png"))
            + bins + page.listed(frequency.remarks(found)) + page.folded("Bin by bin", page.rows_table(found.rows, keys))
            + page.definitions(keys + ["ids", "targets", "share"]))


def _efficiency_section(run: Run, variants: list[Variant], target: Variant | None) -> str:
    if target is None or len(variants) < 2:
        return ""
    rows = efficiency.analyse(variants, target)
    keys = definitions.chosen(columns.flat(columns.EFFICIENCY), several_seeds(variants))
    command = _command("efficiency", run, None, f"--target {shlex.quote(target.name)}")
    return (f"<h2>Training tokens to reach {text(target.name)}'s final loss</h2>\n" + page.rows_table(rows, keys)
            + page.listed(efficiency.remarks(rows, target)) + page.note(f"{text(efficiency.METHOD)} {command} prints it.")
            + page.definitions(keys))


def _cosine_section(run: Run, variants: list[Variant], tokens: Path | None) -> str:
    members = [member for variant in variants for member in variant.members]
    measured, missing = cosine_table.measure_members(members, "input", tokens)
    parts, several = ["<h2>Geometry of the input embedding</h2>"], several_seeds(variants)
    if measured:
        rows = cosine_table.over_seeds(variants, measured)
        caption = ("Cosines of all pairs of rows of the input matrix. Filled: rows as they are; dashed: after removing the "
                   "mean row; dotted: random directions in the same width.")
        caption += " The pairs of all seeds are counted together." if several else ""
        extra = "-o cosine.png" + (f" --tokens {shlex.quote(str(tokens))}" if tokens else "")
        keys = definitions.chosen(columns.flat(columns.GEOMETRY), several)
        drawn = cosine_figure.draw([variant.name for variant in variants], rows, "input")
        parts += [page.figure(drawn, "Histograms of cosines", caption, _command("cosine", run, None, extra)),
                  page.rows_table(rows, keys), page.definitions(keys)]
        if several:
            every = cosine_table.over_seeds(singles(variants), measured)
            shown = definitions.chosen(columns.of_members(columns.flat(columns.GEOMETRY)), False)
            parts.append(page.folded(f"Each of the {len(members)} members", page.rows_table(every, shown)))
    if missing:
        parts.append(f"<p>No embedding file yet: {text(', '.join(missing))}.</p>")
    return "\n".join(parts)


def _epsilon_section(run: Run, variants: list[Variant]) -> str:
    """Empty where the deck did not ask for it."""
    measured = epsilon_curves.curves_of(variants)
    rows = epsilon_curves.last(measured)
    if not rows:
        return ""
    caption = ("Epsilon of the embedding matrices against training tokens; above the grey band class 1, below it class 2. "
               "Dashed: mean row removed.")
    caption += " Means over the seeds, with one sample standard deviation to either side." if several_seeds(variants) else ""
    keys = definitions.chosen(columns.EPSILON, several_seeds(variants))
    drawn = epsilon_figure.draw([variant.name for variant in variants], measured)
    return ("<h2>Epsilon while training</h2>\n" + page.figure(drawn, "Epsilon against training tokens", caption,
                                                              _command("epsilon", run, None, "-o epsilon.png"))
            + page.rows_table(rows, keys) + page.definitions(keys))


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
        parts.append(page.folded(f"What differs between the {len(members)} members", listing, len(members) > MANY))
    return "\n".join(parts)


def _fact(member: Member, key: str) -> str:
    if isinstance(member.attributes.get(key), float):
        return f"{member.number(key):.1f}" if math.isfinite(member.number(key)) else "N/A"
    return member.text(key)


def _seconds(member: Member) -> str:
    seconds = member.column("seconds")
    return f"{seconds[-1]:,.1f}" if seconds.size else "N/A"


def _deck_section(variants: list[Variant]) -> str:
    """One deck per variant: its other seeds' differ in the seed alone."""
    decks = []
    for variant in variants:
        first, others = variant.members[0], len(variant.members) - 1
        same = f"; its {others} other seed{'s differ' if others > 1 else ' differs'} in the seed alone" if others else ""
        decks.append(page.folded(f"Resolved deck of {first.name}{same}", f"<pre>{text(first.text('deck'))}</pre>"))
    return "<h2>Decks</h2>\n" + "\n".join(decks)


def _command(name: str, run: Run, reference: Variant | None, extra: str) -> str:
    """The command line that makes a figure or table again."""
    named = reference is not None and reference.name != DEFAULT_REFERENCE
    chosen = f" --reference {shlex.quote(reference.name)}" if named else ""
    return f"<code>{text(f'python3 -m postprocess {name} {shlex.quote(str(run.folder))}{chosen} {extra}')}</code>"


def _value(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
