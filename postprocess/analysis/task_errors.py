"""Errors and differences of evaluation tasks' metrics; the metrics themselves are in tasks.h5, document by document."""

import math

import numpy as np

from ..reader import TaskMetric
from .comparison import exp


def score(metric: TaskMetric) -> float:
    """What differences are taken of: the ratio, for perplexities the logarithm of the metric."""
    return float(metric.numerators.sum() / metric.weights.sum())


def value(metric: TaskMetric, of_score: float) -> float:
    """The metric whose score is `of_score`."""
    return exp(of_score) if metric.exponential else of_score


def residuals(metric: TaskMetric) -> np.ndarray:
    """What each document adds to the score's error."""
    return metric.numerators - score(metric) * metric.weights


def standard_error(residuals_of: np.ndarray, weights: np.ndarray) -> float:
    """Of a ratio of sums over n documents, to first order in the residuals; NaN for one document. For weights of 1: the
    sample standard deviation / sqrt(n)."""
    n = residuals_of.size
    if n < 2:
        return math.nan
    return math.sqrt(n / (n - 1) * float((residuals_of**2).sum())) / float(weights.sum())
