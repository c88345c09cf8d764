"""Validation loss by how often a token occurs in the training data: one row per bin and variant."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from postprocess.guard.failure import FILES, Failure
from ..reader import Member
from .comparison import Difference, against_itself, exp
from .seed_statistics import Spread, summarise
from .variants import Variant, ordered, pairs

TOLERANCE = 1e-9  # relative: the bins together must give the loss over all targets
LARGEST_EDGE = 1e300  # an upper edge above it is "no limit"


@dataclass
class Bins:
    """One evaluation: relative training frequency in [lower, upper), ids, targets and loss (nats per target) of each
    bin."""

    lower: np.ndarray
    upper: np.ndarray
    ids: np.ndarray
    targets: np.ndarray
    loss: np.ndarray


@dataclass
class Row(Difference):
    """One variant in one bin."""

    bin: str
    lower: float
    upper: float
    ids: int
    targets: int
    share: float
    variant: str
    seeds: int
    loss: float
    loss_sd: float
    paired: Spread

    @property
    def perplexity(self) -> float:
        return exp(self.loss)


@dataclass
class Frequencies:
    """All rows, bin by bin, of the validation at `tokens` training tokens."""

    tokens: int
    labels: list[str]
    variants: list[str]
    reference: str | None
    rows: list[Row]
    missing: list[str]
    deviation: float

    def of(self, variant: str) -> list[Row]:
        return [row for row in self.rows if row.variant == variant]


def analyse(variants: list[Variant], reference: Variant | None) -> Frequencies | None:
    """The last validation that all members with frequency data have made; None if there is none yet."""
    evaluations = {id(member): evaluations_of(member) for variant in variants for member in variant.members}
    missing = [member.name for variant in variants for member in variant.members if not evaluations[id(member)]]
    known = [found for found in evaluations.values() if found]
    shared = functools.reduce(set.intersection, (set(found) for found in known)) if known else set()
    if not shared:
        return None
    tokens = max(shared)
    kept = [_with_data(variant, evaluations) for variant in ordered(variants, reference)]
    kept = [variant for variant in kept if variant.members]
    partner = next((variant for variant in kept if reference is not None and variant.name == reference.name), None)
    members = [member for variant in kept for member in variant.members]
    bins = {id(member): evaluations[id(member)][tokens] for member in members}
    deviation = max(_deviation(member, bins[id(member)], tokens) for member in members)
    _check_same(members, bins)
    first = bins[id(members[0])]
    labels = [bin_label(low, high) for low, high in zip(first.lower, first.upper)]
    rows = [_row(variant, partner, bins, number, labels[number])
            for number in range(len(labels)) for variant in kept]
    return Frequencies(tokens, labels, [variant.name for variant in kept], partner.name if partner else None, rows, missing,
                       deviation)


def evaluations_of(member: Member) -> dict[int, Bins]:
    """Training tokens -> bins, for every whole evaluation (its last bin has no upper limit) that also has its total."""
    tokens, upper = member.column("frequency/tokens"), member.column("frequency/upper")
    found = {}
    for value in np.intersect1d(tokens, member.column("validation/tokens")):
        rows = tokens == value
        if upper[rows][-1] > LARGEST_EDGE:
            found[int(value)] = Bins(*(member.column(f"frequency/{name}")[rows]
                                       for name in ("lower", "upper", "ids", "targets", "loss")))
    return found


def _with_data(variant: Variant, evaluations: dict[int, dict]) -> Variant:
    return Variant(variant.name, [member for member in variant.members if evaluations[id(member)]])


def _deviation(member: Member, bins: Bins, tokens: int) -> float:
    """Relative difference between the bins' loss, weighted by targets, and the loss over all targets; must be
    rounding."""
    at = int(np.flatnonzero(member.column("validation/tokens") == tokens)[-1])
    total, targets = (float(member.column(f"validation/{name}")[at]) for name in ("loss", "targets"))
    used = bins.targets > 0
    mean = float(np.sum(bins.targets[used] * bins.loss[used])) / max(1, int(bins.targets.sum()))
    deviation = abs(mean - total) / abs(total) if total else abs(mean)
    if int(bins.targets.sum()) != targets:
        raise Failure(FILES, f"{member.path}: at {tokens} training tokens the frequency bins hold {int(bins.targets.sum())} "
                             f"targets, the validation {targets:.0f}")
    if not deviation <= TOLERANCE and math.isfinite(total):
        raise Failure(FILES, f"{member.path}: at {tokens} training tokens the frequency bins give {mean!r} nats per target, "
                             f"the validation {total!r}: a relative deviation of {deviation:.1e}")
    return deviation


def _check_same(members: list[Member], bins: dict[int, Bins]) -> None:
    """Bins can only be compared if every member has the same edges, ids and targets in them."""
    first = bins[id(members[0])]
    for member in members[1:]:
        other = bins[id(member)]
        for name in ("lower", "upper", "ids", "targets"):
            if not np.array_equal(getattr(first, name), getattr(other, name)):
                raise Failure(FILES, f"{member.path}: `{name}` of its frequency bins is not that of {members[0].path}; "
                                     "members must share their data to be compared")


def _row(variant: Variant, reference: Variant | None, bins: dict[int, Bins], number: int, label: str) -> Row:
    first = bins[id(variant.members[0])]
    loss = summarise([bins[id(member)].loss[number] for member in variant.members])
    paired = summarise([bins[id(member)].loss[number] - bins[id(other)].loss[number]
                        for member, other in pairs(variant, reference)])
    return Row(bin=label, lower=float(first.lower[number]), upper=float(first.upper[number]), ids=int(first.ids[number]),
               targets=int(first.targets[number]), share=first.targets[number] / max(1, first.targets.sum()),
               variant=variant.name, seeds=loss.n, loss=loss.mean, loss_sd=loss.sd,
               paired=against_itself(paired) if variant is reference else paired)


def bin_title(row: Row) -> str:
    """The bin and what is in it."""
    return f"f {row.bin}: {row.ids:,} ids, {row.targets:,} targets ({100.0 * row.share:.2f} % of all)"


def remarks(found: Frequencies) -> list[str]:
    """What was compared, what was left out, and how well the bins add up to the whole."""
    lines = [f"validation at {found.tokens:,} training tokens, the last that all members with frequency data have made"]
    if found.missing:
        lines.append(f"no frequency data yet: {', '.join(found.missing)}")
    return lines + ["The bins' loss, weighted by targets, equals the loss over all targets up to a relative deviation of at "
                    f"most {found.deviation:.1e}."]


def bin_label(lower: float, upper: float) -> str:
    """"< 1e-7", "1e-7 to 1e-6", "> 1e-4"."""
    if upper > LARGEST_EDGE:
        return f"> {_edge(lower)}" if lower > 0.0 else "all"
    return f"{_edge(lower)} to {_edge(upper)}" if lower > 0.0 else f"< {_edge(upper)}"


def _edge(value: float) -> str:
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"
