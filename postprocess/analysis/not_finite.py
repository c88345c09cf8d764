"""Values that should be numbers and are NaN or infinite, in words: tables and figures can show them only as gaps."""

import math

import numpy as np

from ..reader import Capacity, Member, Run, Task

# Where NaN is not a way of saying "not known".
MEASURED = {"history/train_loss", "history/gradient_norm", "history/learning_rate", "history/seconds",
            "history/tokens_per_second", "validation/loss", "validation/perplexity", "geometry/mu", "geometry/sigma",
            "geometry/epsilon", "geometry/epsilon_centred", "frequency/loss"}
LIMITS = {"frequency/upper", "frequency/lower"}


def remarks(run: Run) -> list[str]:
    """One sentence for each member that has some."""
    found = {member.name: [words for key in member.columns if (words := _in_column(member, key))] for member in run.members}
    return [f"{name}: NaN or infinite are {'; '.join(words)}. Means over them are N/A or infinite, and curves have gaps there."
            for name, words in found.items() if words]


def _in_column(member: Member, key: str) -> str:
    values = member.column(key)
    bad = ~np.isfinite(values) if key in MEASURED else np.isinf(values)
    if key == "frequency/loss":
        bad &= member.column("frequency/targets") > 0
    if key in LIMITS or not bad.any():
        return ""
    steps = member.column(key.split("/")[0] + "/step")
    where = f", first at step {steps[np.argmax(bad)]:,}" if steps.size else ""
    return f"{np.count_nonzero(bad):,} of {values.size:,} values of {key}{where}"


def in_capacity(files: list[Capacity]) -> list[str]:
    """One sentence for each matrix whose statistics have some."""
    lines = []
    for matrix in (matrix for file in files for matrix in file.matrices):
        bad = {name: [key for key, value in rows.attributes.items() if isinstance(value, float) and not math.isfinite(value)]
               for name, rows in matrix.sets.items()}
        words = [f"{name}: {', '.join(keys)}" for name, keys in bad.items() if keys]
        if words:
            lines.append(f"{matrix.file} ({matrix.side}): NaN or infinite in {matrix.path} are {'; '.join(words)}.")
    return lines


def in_tasks(scores: dict[str, list[Task]]) -> list[str]:
    """One sentence for each member's task whose documents have some."""
    lines = []
    for folder, tasks in scores.items():
        for task in tasks:
            bad = {metric.name: int(np.count_nonzero(~np.isfinite(metric.numerators))) for metric in task.metrics}
            words = [f"{name} of {count:,}" for name, count in bad.items() if count]
            if words:
                lines.append(f"{folder}: NaN or infinite are, of the {task.metrics[0].weights.size:,} documents of {task.name}, "
                             f"{', '.join(words)}.")
    return lines
