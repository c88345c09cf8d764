"""The metrics of evaluation tasks, as lm-evaluation-harness 0.4.13 defines them, and their standard errors.

Every metric is a ratio sum(a) / sum(w) over the documents of a task, or the exponential of one: accuracies have a = 1 where
the answer is right and w = 1; perplexities have a = -log-likelihood in nats and w = 1 (last words), or the words or bytes
of a page.
"""

import math
from dataclasses import dataclass

import numpy as np

from .failure import FILES, Failure
from .reader import TaskScores


@dataclass
class Measured:
    """One metric of one task for one model: `numerators` and `weights` [documents]; `exponential` of their ratio or not."""

    numerators: np.ndarray
    weights: np.ndarray
    exponential: bool

    @property
    def score(self) -> float:
        """What differences are taken of: the ratio, for perplexities the logarithm of the metric."""
        return float(self.numerators.sum() / self.weights.sum())

    @property
    def value(self) -> float:
        return math.exp(min(self.score, 700.0)) if self.exponential else self.score

    @property
    def residuals(self) -> np.ndarray:
        """What each document adds to the score's error."""
        return self.numerators - self.score * self.weights

    @property
    def stderr(self) -> float:
        """Of the value, over documents: for w = 1 the sample standard deviation / sqrt(n); for an exponential to first
        order."""
        return standard_error(self.residuals, self.weights) * (self.value if self.exponential else 1.0)


def standard_error(residuals: np.ndarray, weights: np.ndarray) -> float:
    """Of a ratio of sums over n documents, to first order in the residuals; NaN for one document."""
    n = residuals.size
    if n < 2:
        return math.nan
    return math.sqrt(n / (n - 1) * float((residuals**2).sum())) / float(weights.sum())


def measure(scores: TaskScores, metric: str) -> Measured:
    """One metric of a task."""
    firsts = scores.first_request[:-1]
    ones = np.ones(firsts.size)
    if metric in ("acc", "acc_norm", "acc_bytes") and scores.shape == "multiple_choice":
        lengths = {"acc": None, "acc_norm": scores.code_points, "acc_bytes": scores.bytes}[metric]
        return Measured((chosen(scores, lengths) == scores.gold).astype(float), ones, False)
    if metric == "acc":
        return Measured(scores.greedy[firsts].astype(float), ones, False)
    nats = -scores.log_likelihood[firsts]
    if metric == "perplexity":
        return Measured(nats, ones, True)
    if metric == "word_perplexity":
        return Measured(nats, scores.page_words.astype(float), True)
    if metric == "byte_perplexity":
        return Measured(nats, scores.page_bytes.astype(float), True)
    if metric == "bits_per_byte":
        return Measured(nats / math.log(2.0), scores.page_bytes.astype(float), False)
    raise Failure(FILES, f"task {scores.name}: unknown metric {metric!r}")


def chosen(scores: TaskScores, lengths: np.ndarray | None) -> np.ndarray:
    """Number of each document's likeliest choice, its log-likelihood divided by `lengths`; the first of equal ones."""
    values = scores.log_likelihood if lengths is None else scores.log_likelihood / lengths
    ends = scores.first_request
    return np.array([int(np.argmax(values[begin:end])) for begin, end in zip(ends[:-1], ends[1:])])


def chance(scores: TaskScores) -> float:
    """Mean accuracy of a blind choice; NaN where there is none."""
    if scores.shape != "multiple_choice":
        return math.nan
    return float((1.0 / np.diff(scores.first_request)).mean())
