"""The report's section on evaluation tasks."""

from . import columns, definitions, page, reader, task_figure, task_table
from .page import text
from .reader import Run
from .variants import find_reference, several_seeds, variants_of


def section(run: Run, reference: str | None, command: str) -> str:
    """Empty where no member has a tasks.h5. `command` makes the figure again."""
    if not reader.has_tasks(run.folder):
        return ""
    members, found, missing = reader.read_tasks(run.folder)
    variants = variants_of(members)
    names = {variant.name for variant in variants}
    chosen = find_reference(variants, reference if reference in names else None)
    rows = task_table.rows(variants, chosen, found)
    keys = definitions.chosen(columns.TASKS, several_seeds(variants))
    caption = ("Evaluation tasks. Bars: two standard errors over the documents, or two sample standard deviations over the "
               "seeds if these are larger. Dashed: a blind choice.")
    parts = ["<h2>Evaluation tasks</h2>", page.figure(task_figure.draw(rows), "Evaluation tasks", caption, command),
             page.rows_table(rows, keys), page.listed(task_table.remarks(found))]
    if missing:
        parts.append(f"<p>No {reader.TASKS} yet: {text(', '.join(missing))}.</p>")
    return "\n".join(parts + [page.definitions(keys)])
