"""Evaluation tasks over the variants of a run: one row for each task, metric and variant."""

import math
from dataclasses import dataclass

import numpy as np

from postprocess.guard.failure import FILES, Failure
from ..reader import Member, Task, TaskMetric
from . import task_errors
from .comparison import against_itself
from .seed_statistics import Spread, summarise
from .variants import Variant, ordered, pairs

Found = dict[str, list[Task]]  # folder of a member -> its tasks


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
    return [_row(task, number, variant, reference, found) for task in range(len(first))
            for number in range(len(first[task].metrics)) for variant in shown]


def _check_same(first: list[Task], other: list[Task], member: Member) -> None:
    """Members are compared document by document: they must have been asked the same."""
    same = [task.name for task in first] == [task.name for task in other] and all(
        [metric.name for metric in one.metrics] == [metric.name for metric in two.metrics]
        and all(map(np.array_equal, one.asked, two.asked)) for one, two in zip(first, other))
    if not same:
        raise Failure(FILES, f"{member.path}: not the same tasks and documents as in the other members; evaluate all with "
                      "the same requests file")


def _row(task: int, number: int, variant: Variant, reference: Variant | None, found: Found) -> TaskRow:
    def metric_of(member: Member) -> TaskMetric:
        return found[str(member.folder)][task].metrics[number]

    each = [metric_of(member) for member in variant.members]
    first = each[0]
    value = task_errors.value(first, summarise([task_errors.score(one) for one in each]).mean)
    error = _error_over_documents([task_errors.residuals(one) for one in each], first)
    matched = [(metric_of(a), metric_of(b)) for a, b in pairs(variant, reference)]
    differences = summarise([task_errors.score(a) - task_errors.score(b) for a, b in matched])
    half = math.nan
    if matched and variant is not reference:
        half = 1.96 * _error_over_documents([task_errors.residuals(a) - task_errors.residuals(b) for a, b in matched],
                                            first)
    return TaskRow(found[str(variant.members[0].folder)][task].name, first.name, variant.name, len(each),
                   first.weights.size, value, error * (value if first.exponential else 1.0),
                   summarise([task_errors.value(one, task_errors.score(one)) for one in each]), first.chance,
                   against_itself(differences) if variant is reference else differences, half)


def _error_over_documents(residuals: list[np.ndarray], first: TaskMetric) -> float:
    """Standard error of the score's mean over seeds; `residuals` [documents] of each."""
    return task_errors.standard_error(np.mean(residuals, axis=0), first.weights)


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
