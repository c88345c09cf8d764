"""Validation curves over the seeds of a variant, where all of them have been. Losses in nats per token."""

import functools

import numpy as np

from ..reader import Member
from .variants import Variant, pairs


def common(members: list[Member], column: str = "loss") -> tuple[np.ndarray, np.ndarray]:
    """(tokens [K] at which every member has validated, values [n, K]); members without any validation are left out."""
    begun = [member for member in members if member.column("validation/tokens").size]
    return aligned([(member.column("validation/tokens"), _values(member, f"validation/{column}")) for member in begun])


def _values(member: Member, key: str) -> np.ndarray:
    """A column, NaN where a file has none such."""
    values, rows = member.column(key), member.column(key.split("/")[0] + "/tokens").size
    return values if values.size == rows else np.full(rows, np.nan)


def training(members: list[Member]) -> tuple[np.ndarray, np.ndarray]:
    """(tokens [N], training loss [n, N]) at the logged steps that all members which have begun share."""
    begun = [member for member in members if member.column("history/tokens").size]
    return aligned([(member.column("history/tokens"), member.column("history/train_loss")) for member in begun])


def differences(variant: Variant, reference: Variant | None) -> tuple[np.ndarray, np.ndarray]:
    """(tokens [K], loss of each member minus that of its pair [n, K]) at the validations that all pairs have made.

    Pairs without a common validation are left out.
    """
    found = [difference(member, other) for member, other in pairs(variant, reference)]
    return aligned([(tokens, values) for tokens, values in found if tokens.size])


def difference(member: Member, other: Member) -> tuple[np.ndarray, np.ndarray]:
    """(tokens [K], loss of member minus loss of other [K]) at the validations that both have made."""
    tokens, losses = aligned([(one.column("validation/tokens"), one.column("validation/loss")) for one in (member, other)])
    return tokens, losses[0] - losses[1]


def aligned(curves: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """(arguments that all (arguments, values) share, values [n, K] there)."""
    if not curves:
        return np.empty(0), np.empty((0, 0))
    tokens = functools.reduce(np.intersect1d, [arguments for arguments, _ in curves])
    return tokens, np.array([values[np.searchsorted(arguments, tokens)] for arguments, values in curves])


def running_mean(values: np.ndarray, half: int) -> np.ndarray:
    """Mean over the `half` values on either side and the value itself.

    At the ends there are fewer values on both sides alike, so that a straight line stays one and the ends stay.
    """
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    at = np.arange(values.size)
    reach = np.minimum(half, np.minimum(at, values.size - 1 - at))
    means = (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1)
    return np.where(reach == 0, values, means)  # a value alone stays as it is, without the rounding of the sums
