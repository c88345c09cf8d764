"""tasks: accuracies and perplexities of evaluation tasks."""

from .. import numbers, page, reader, tables
from ..analysis import not_finite
from ..analysis import tasks as analysis
from ..analysis.variants import find_reference, several_seeds, variants_of
from ..page import command_of, text
from . import shared
from .shared import Shown

DESCRIPTION = ("Accuracies and perplexities of evaluation tasks, with standard errors, and paired differences to the "
               "reference with their intervals.")

COLUMNS = ["task", "metric", "variant", "seeds", "value", "stderr", "value_sd", "task_difference", "document_half", "pairs",
           "seed_half"]
FULL = [*COLUMNS[:4], "documents", *COLUMNS[4:], "chance"]


def options(parser) -> None:
    shared.add_run(parser)
    shared.add_reference(parser)
    shared.add_forms(parser.add_mutually_exclusive_group())
    shared.add_figure(parser)


def run(options) -> None:
    members, scores, missing = reader.read_tasks(options.run)
    shared.say(not_finite.in_tasks(scores))
    found = variants_of(members)
    reference = find_reference(found, options.reference)
    rows = analysis.rows(found, reference, scores)
    if not shared.printed(options, rows, FULL):
        keys = numbers.chosen(COLUMNS, several_seeds(found))
        print(tables.text_table(rows, keys))
        shared.print_reference(Shown(members, found, reference))
        print("".join(f"no {reader.TASKS} yet: {name}\n" for name in missing), end="")
        print(tables.wrapped(analysis.remarks(scores)) + "\n")
        print(tables.definition_text(keys))
    if options.output:
        from ..figures import tasks as picture

        shared.save(picture.draw(rows), options.output, options)


def section(shown: Shown) -> str:
    """Empty where no member has a tasks.h5."""
    if not reader.has_tasks(shown.run.folder):
        return ""
    members, found, missing = reader.read_tasks(shown.run.folder)
    from ..figures import tasks as picture

    variants = variants_of(members)
    names = {variant.name for variant in variants}
    reference = shown.reference.name if shown.reference and shown.reference.name in names else None
    rows = analysis.rows(variants, find_reference(variants, reference), found)
    keys = numbers.chosen(COLUMNS, several_seeds(variants))
    caption = ("Evaluation tasks. Bars: two standard errors over the documents, or two sample standard deviations over the "
               "seeds if these are larger. Dashed: a blind choice.")
    parts = ["<h2>Evaluation tasks</h2>", page.figure(picture.draw(rows), "Evaluation tasks", caption,
                                                      command_of("tasks", shown, "-o tasks.png")),
             page.rows_table(rows, keys), page.listed(analysis.remarks(found) + not_finite.in_tasks(found))]
    if missing:
        parts.append(f"<p>No {reader.TASKS} yet: {text(', '.join(missing))}.</p>")
    return "\n".join(parts + [page.definitions(keys)])
