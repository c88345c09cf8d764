"""The numbers of the validation tables, one row per variant. NaN means "not available" throughout."""

import math
from dataclasses import dataclass

import numpy as np

from ..numbers import FILE_FORM, Number
from ..reader import Member
from . import curves
from .seed_statistics import Spread, summarise
from .variants import Variant, ordered


class Difference:
    """What follows from a difference to the reference in nats; for rows with a Spread `paired`."""

    paired: Spread

    @property
    def pairs(self) -> int:
        return self.paired.n

    @property
    def difference_nats(self) -> float:
        return self.paired.mean

    @property
    def difference_sd(self) -> float:
        return self.paired.sd

    @property
    def difference_half(self) -> float:
        return self.paired.half

    @property
    def difference_low(self) -> float:
        return self.paired.low

    @property
    def difference_high(self) -> float:
        return self.paired.high

    @property
    def change_of_reference(self) -> float:
        return exp(self.paired.mean) - 1.0

    @property
    def change_of_reference_interval(self) -> tuple[float, float]:
        return exp(self.paired.low) - 1.0, exp(self.paired.high) - 1.0

    @property
    def change_of_member(self) -> float:
        return 1.0 - exp(-self.paired.mean)

    @property
    def change_of_member_interval(self) -> tuple[float, float]:
        return 1.0 - exp(-self.paired.low), 1.0 - exp(-self.paired.high)


@dataclass
class Row(Difference):
    """One variant's numbers, over its seeds; the definitions that readers see are in numbers.py."""

    variant: str
    seeds: int
    status: str
    step: float
    tokens: float
    targets: float
    loss: float
    loss_sd: float
    bytes_per_token: float
    words_per_token: float
    unigram_nats: float
    compared_at_tokens: float
    paired: Spread
    trainable: float
    fixed: float
    shared: float
    input_trainable: float
    tokens_per_second: float
    tokens_per_second_sd: float
    gemm_share: float
    members: list[Member]

    def column(self, path: str) -> float:
        """Mean over the seeds of a column of their history, such as "history/gradient_norm"; NaN where no seed has it.

        Of history/* the median over the logged steps without the first, of validation/* the value at the last validation
        that all seeds have made.
        """
        if path.startswith("validation/"):
            have = [member for member in self.members if member.column(path).size]
            return last_spread(curves.common(have, path.removeprefix("validation/"))[1]).mean
        return over_seeds([median_of_steps(member, path) for member in self.members]).mean

    def described(self, path: str) -> Number | None:
        """What the file says of that column, if it has it."""
        found = next((member.columns[path] for member in self.members if path in member.columns), None)
        if found is None or not path.startswith(("history/", "validation/")):
            return None
        how = "last validation" if path.startswith("validation/") else "median over the logged steps without the first"
        unit = "" if found.unit in ("", "1") else f", {found.unit}"
        return Number(path.split("/")[1], f"{found.definition}{unit} ({how})", FILE_FORM)

    @property
    def member(self) -> str:
        """The same name, where every row is one training run."""
        return self.variant

    @property
    def perplexity(self) -> float:
        return exp(self.loss)

    @property
    def nats_per_byte(self) -> float:
        return self.loss / _positive(self.bytes_per_token)

    @property
    def bits_per_byte(self) -> float:
        return self.nats_per_byte / math.log(2.0)

    @property
    def word_perplexity(self) -> float:
        return exp(self.loss / _positive(self.words_per_token))


def compare(variants: list[Variant], reference: Variant | None) -> list[Row]:
    """One row per variant, in the order of `ordered`."""
    return [_row(variant, reference) for variant in ordered(variants, reference)]


def _row(variant: Variant, reference: Variant | None) -> Row:
    first = variant.members[0]
    tokens, losses = curves.common(variant.members)
    loss = last_spread(losses)
    compared_at, differences = curves.differences(variant, reference)
    speeds = [median_of_steps(member, "history/tokens_per_second") for member in variant.members]
    speed = over_seeds(speeds)
    shares = [gemm_share(member, value) for member, value in zip(variant.members, speeds)]
    return Row(
        variant=variant.name,
        seeds=len(variant.members),
        status=variant.status,
        step=_last(curves.common(variant.members, "step")[1]),
        tokens=_last(tokens),
        targets=_last(curves.common(variant.members, "targets")[1]),
        loss=loss.mean,
        loss_sd=loss.sd,
        bytes_per_token=first.number("validation_bytes_per_token"),
        words_per_token=first.number("validation_words_per_token"),
        unigram_nats=first.number("validation_unigram_nats"),
        compared_at_tokens=_last(compared_at),
        paired=against_itself(last_spread(differences)) if variant is reference else last_spread(differences),
        trainable=first.number("parameters_trainable"),
        fixed=first.number("parameters_fixed"),
        shared=first.number("parameters_shared"),
        input_trainable=first.number("parameters_input_trainable"),
        tokens_per_second=speed.mean,
        tokens_per_second_sd=speed.sd,
        gemm_share=over_seeds(shares).mean,
        members=variant.members,
    )


def last_spread(values: np.ndarray) -> Spread:
    """Spread of the last column of `values` [n, K]: over seeds, at the last validation that all have made."""
    return summarise(values[:, -1] if values.size else [])


def against_itself(spread: Spread) -> Spread:
    """The reference against itself: the difference is zero, and an interval would say nothing."""
    return Spread(spread.n, spread.mean, math.nan * spread.sd, math.nan * spread.half)


def over_seeds(values: list[float]) -> Spread:
    """Spread of the values that are known."""
    return summarise([value for value in values if math.isfinite(value)])


def median_of_steps(member: Member, path: str) -> float:
    """Median of a history column without the first step (which pays for start-up)."""
    steps, values = member.column("history/step"), member.column(path)
    if steps.size != values.size or steps.size == 0:
        return math.nan
    later = values[steps > steps.min()]
    later = later[np.isfinite(later)]
    return float(np.median(later)) if later.size else math.nan


def gemm_share(member: Member, speed: float) -> float:
    """FLOP rate at `speed` tokens/s over the measured rate of matrix products."""
    return member.number("flops_per_token") * speed / _positive(member.number("gemm_gflops") * 1e9)


def unigram_entropy(variants: list[Variant]) -> float:
    """The reference line of the loss figure: nats per token, NaN if no member has it."""
    values = [member.number("validation_unigram_nats") for variant in variants for member in variant.members]
    return next((value for value in values if math.isfinite(value)), math.nan)


def statements(rows: list[Row]) -> list[str]:
    """One sentence per variant: is its validation loss below what token frequencies alone would give?"""
    return [f"{row.variant}: {_statement(row)}" for row in rows]


def _statement(row: Row) -> str:
    unfinished = "" if row.status == "finished" else f" (unfinished: status is {row.status})"
    mean = f"mean validation loss of {row.seeds} seeds" if row.seeds > 1 else "validation loss"
    if not math.isfinite(row.loss):
        return f"no validation yet{unfinished}."
    if not math.isfinite(row.unigram_nats):
        return f"{mean} {row.loss:.4f} nats per token; the unigram entropy is not available{unfinished}."
    relation = "below" if row.loss < row.unigram_nats else "NOT below"
    return (f"{mean} {row.loss:.4f} nats per token is {relation} the unigram entropy of the validation text "
            f"under training frequencies, {row.unigram_nats:.4f}{unfinished}.")


def _last(values: np.ndarray) -> float:
    """The last number of [K], or of the first row of [n, K]; NaN if there is none."""
    return float(np.atleast_2d(values)[0, -1]) if values.size else math.nan


def exp(value: float) -> float:
    """exp without overflow errors: infinite beyond double's range."""
    return math.exp(value) if value < 700.0 else math.inf if value == value else math.nan


def _positive(value: float) -> float:
    """`value`, or NaN where a division by it would mean nothing."""
    return value if value > 0.0 else math.nan
