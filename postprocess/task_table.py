"""Evaluation tasks over the variants of a run: one row for each task, metric and variant."""

import math
from dataclasses import dataclass

import numpy as np

from . import task_metrics
from .comparison import against_itself
from .failure import FILES, Failure
from .reader import Member, TaskScores
from .seed_statistics import Spread, summarise
from .task_metrics import Measured
from .variants import Variant, ordered, pairs

Found = dict[str, list[TaskScores]]  # folder of a member -> its tasks


@dataclass
class TaskRow:
    """One metric of one variant. NaN: not available."""

    task: str
    metric: str
    variant: str
    seeds: int
    documents: int
    value: float
    stderr: float
    over_seeds: Spread
    chance: float
    paired: Spread
    document_half: float

    @property
    def value_sd(self) -> float:
        return self.over_seeds.sd

    @property
    def pairs(self) -> int:
        return self.paired.n

    @property
    def task_difference(self) -> float:
        return self.paired.mean

    @property
    def seed_half(self) -> float:
        return self.paired.half


def rows(variants: list[Variant], reference: Variant | None, found: Found) -> list[TaskRow]:
    """By task and metric in the order of the files; variants as `ordered` has them."""
    shown = ordered(variants, reference)
    first = found[str(shown[0].members[0].folder)]
    for variant in shown:
        for member in variant.members:
            _check_same(first, found[str(member.folder)], member)
    return [_row(number, metric, variant, reference, found) for number, task in enumerate(first) for metric in task.metrics
            for variant in shown]


def _check_same(first: list[TaskScores], other: list[TaskScores], member: Member) -> None:
    """Members are compared document by document: they must have been asked the same."""
    same = [task.name for task in first] == [task.name for task in other] and all(
        one.metrics == two.metrics and np.array_equal(one.gold, two.gold)
        and np.array_equal(one.first_request, two.first_request)
        and np.array_equal(one.code_points, two.code_points) for one, two in zip(first, other))
    if not same:
        raise Failure(FILES, f"{member.path}: not the same tasks and documents as in the other members; evaluate all with "
                      "the same requests file")


def _row(number: int, metric: str, variant: Variant, reference: Variant | None, found: Found) -> TaskRow:
    def measured(member: Member) -> Measured:
        return task_metrics.measure(found[str(member.folder)][number], metric)

    each = [measured(member) for member in variant.members]
    score = summarise([one.score for one in each])
    exponential = each[0].exponential
    value = math.exp(min(score.mean, 700.0)) if exponential else score.mean
    residuals = np.mean([one.residuals for one in each], axis=0)
    stderr = task_metrics.standard_error(residuals, each[0].weights) * (value if exponential else 1.0)
    matched = [(measured(a), measured(b)) for a, b in pairs(variant, reference)]
    differences = summarise([a.score - b.score for a, b in matched])
    half = math.nan
    if matched and variant is not reference:
        residuals = np.mean([a.residuals - b.residuals for a, b in matched], axis=0)
        half = 1.96 * task_metrics.standard_error(residuals, each[0].weights)
    task = found[str(variant.members[0].folder)][number]
    return TaskRow(task.name, metric, variant.name, len(each), task.gold.size, value, stderr,
                   summarise([one.value for one in each]),
                   task_metrics.chance(task) if metric.startswith("acc") else math.nan,
                   against_itself(differences) if variant is reference else differences, half)


def remarks(found: Found) -> list[str]:
    """Where each task's records come from."""
    tasks = next(iter(found.values()))
    return [f"{task.name}: {task.description}" for task in tasks]


def primary(rows: list[TaskRow]) -> list[TaskRow]:
    """Of each task one metric, for a figure: acc_norm if it has it, else its first."""
    metrics: dict[str, list[str]] = {}
    for row in rows:
        metrics.setdefault(row.task, []).append(row.metric)
    return [row for row in rows
            if row.metric == ("acc_norm" if "acc_norm" in metrics[row.task] else metrics[row.task][0])]
