"""Sample efficiency: training tokens that a variant needs to reach the target's final validation loss.

Method, for each seed (a member and the target's member of the same seed):
1. The level is the last validation loss of the target's member.
2. A curve's validations at more than 0 training tokens are smoothed by a running mean of 3, shortened alike on both sides
   at the ends, so that the last value stays; a curve of fewer than 10 is not smoothed, since its curvature would show.
3. The running minimum makes the curve non-increasing.
4. Between two validations the loss is taken as linear in log(tokens). Nothing is extrapolated: a curve that stays above
   the level has not reached it, and one that starts at or below it was there before its first validation.
5. ratio = tokens at which the target's own curve first reaches the level / tokens at which the variant's does.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..reader import Member
from . import curves
from .seed_statistics import summarise
from .variants import Variant, ordered, pairs

METHOD = ("Method: running mean of 3 validations (curves of fewer than 10 are not smoothed), running minimum, linear in "
          "log(tokens) between validations, no extrapolation; seed by seed. A curve is that of one learning-rate schedule: "
          "one that ends at the level would reach it sooner.")
HALF_WIDTH = 1  # validations on either side: a running mean of 3
FEWEST = 10  # validations of a curve that is smoothed
NOT_REACHED, BEFORE = math.inf, 0.0  # tokens of a curve that stays above the level; that starts at or below it


@dataclass
class Row:
    """One variant against the target."""

    variant: str
    pairs: int
    reached: int
    reached_of: str
    level: float
    tokens_needed: float
    tokens_needed_sd: float
    ratio: float
    ratio_sd: float
    each: str
    tokens: float


def analyse(variants: list[Variant], target: Variant) -> list[Row]:
    """One row per variant, the target first."""
    return [_row(variant, target) for variant in ordered(variants, target)]


def _row(variant: Variant, target: Variant) -> Row:
    both = [(member, other) for member, other in pairs(variant, target) if other.column("validation/loss").size]
    levels = [final_loss(other) for _, other in both]
    needed = [tokens_to_reach(*curve(member), level) for (member, _), level in zip(both, levels)]
    own = [tokens_to_reach(*curve(other), level) for (_, other), level in zip(both, levels)]
    good = [i for i, value in enumerate(needed) if _is_number(value) and _is_number(own[i])]
    tokens = summarise([needed[i] for i in good])
    ratio = summarise([own[i] / needed[i] for i in good])
    trained = [float(member.column("validation/tokens").max(initial=0)) for member, _ in both]
    return Row(variant=variant.name, pairs=len(both), reached=len(good), reached_of=f"{len(good)} of {len(both)}",
               level=summarise(levels).mean, tokens_needed=tokens.mean, tokens_needed_sd=tokens.sd, ratio=ratio.mean,
               ratio_sd=ratio.sd, each=", ".join(_outcome(needed[i], own[i]) for i in range(len(both))) or "N/A",
               tokens=min(trained, default=math.nan))


def remarks(rows: list[Row], target: Variant) -> list[str]:
    """What a reader must know before using the numbers: an unfinished target, and variants that not every seed
    reaches."""
    lines = []
    if target.status != "finished":
        lines.append(f"{target.name} is unfinished (status is {target.status}): its last loss is not its final one.")
    for row in rows:
        outcomes = set(row.each.split(", "))
        if row.reached < row.pairs:
            each = f"{outcomes.pop()} by any seed" if len(outcomes) == 1 and row.pairs > 1 else row.each
            lines.append(f"{row.variant}: {each} (trained on at least {row.tokens:,.0f} tokens).")
    return lines


def _is_number(tokens: float) -> bool:
    return math.isfinite(tokens) and tokens > BEFORE


def _outcome(needed: float, own: float) -> str:
    if math.isnan(needed) or math.isnan(own):
        return "N/A"
    if needed == NOT_REACHED:
        return "not reached"
    return f"{own / needed:.2f}" if _is_number(needed) and _is_number(own) else "before first validation"


def final_loss(member: Member) -> float:
    """The last validation loss, nats per token."""
    return float(member.column("validation/loss")[-1])


def curve(member: Member) -> tuple[np.ndarray, np.ndarray]:
    """(training tokens [M], validation loss [M]), smoothed and non-increasing, without the validation before
    training."""
    tokens, loss = member.column("validation/tokens"), member.column("validation/loss")
    begun = tokens > 0
    return tokens[begun].astype(np.float64), monotone(loss[begun])


def monotone(loss: np.ndarray) -> np.ndarray:
    """Running mean where there are enough values, then running minimum."""
    smooth = curves.running_mean(loss, HALF_WIDTH) if loss.size >= FEWEST else loss
    return np.minimum.accumulate(smooth) if smooth.size else smooth


def tokens_to_reach(tokens: np.ndarray, loss: np.ndarray, level: float) -> float:
    """Where a non-increasing curve first reaches `level`, linear in log(tokens); NOT_REACHED and BEFORE as above.

    NaN where the level, or the curve before it reaches that, is not finite: nobody knows.
    """
    if not math.isfinite(level) or np.isnan(loss).any() and not np.any(loss <= level):
        return math.nan
    reached = np.flatnonzero(loss <= level)
    if not reached.size:
        return NOT_REACHED
    at = int(reached[0])
    if at == 0:
        return float(tokens[0]) if loss[0] == level else BEFORE
    if loss[at] == level:
        return float(tokens[at])  # without the rounding of exp(log(tokens))
    share = (loss[at - 1] - level) / (loss[at - 1] - loss[at])
    return float(np.exp(np.log(tokens[at - 1]) + share * (np.log(tokens[at]) - np.log(tokens[at - 1]))))
