"""The numbers of the validation table, one row per member. NaN means "not available" throughout."""

import math
from dataclasses import dataclass

import numpy as np

from .failure import USAGE, Failure
from .reader import Member, Run

DEFAULT_REFERENCE = "tied"


@dataclass
class Row:
    """One member's numbers; the definitions that readers see are in `definitions.py`."""

    member: str
    status: str
    step: float
    tokens: float
    targets: float
    loss: float
    perplexity: float
    nats_per_byte: float
    bits_per_byte: float
    word_perplexity: float
    unigram_nats: float
    compared_at_tokens: float
    difference_nats: float
    change_of_reference: float
    change_of_member: float
    trainable: float
    fixed: float
    shared: float
    input_trainable: float
    tokens_per_second: float
    gemm_share: float


def ordered(run: Run, reference: Member | None) -> list[Member]:
    """Members as figures and tables show them: the reference first, then by name."""
    return sorted(run.members, key=lambda member: (member is not reference, member.name))


def find_reference(run: Run, name: str | None) -> Member | None:
    """The member that differences are taken against: `name` if given, else `tied` if there is one, else none."""
    members = {member.name: member for member in run.members}
    if name is None:
        return members.get(DEFAULT_REFERENCE) if len(members) > 1 else None
    if name not in members:
        raise Failure(USAGE, f"--reference {name}: no such member; members are {', '.join(sorted(members))}")
    return members[name]


def compare(run: Run, reference: Member | None) -> list[Row]:
    """One row per member, in the order of `ordered`."""
    return [_row(member, reference) for member in ordered(run, reference)]


def _row(member: Member, reference: Member | None) -> Row:
    loss = _last(member.validation_column("loss"))
    per_byte = loss / _positive(member.number("validation_bytes_per_token"))
    compared_at, difference = loss_difference(member, reference)
    speed = median_speed(member)
    return Row(
        member=member.name,
        status=member.text("status"),
        step=_last(member.validation_column("step")),
        tokens=_last(member.validation_column("tokens")),
        targets=_last(member.validation_column("targets")),
        loss=loss,
        perplexity=_exp(loss),
        nats_per_byte=per_byte,
        bits_per_byte=per_byte / math.log(2.0),
        word_perplexity=_exp(loss / _positive(member.number("validation_words_per_token"))),
        unigram_nats=member.number("validation_unigram_nats"),
        compared_at_tokens=compared_at,
        difference_nats=difference,
        change_of_reference=_exp(difference) - 1.0,
        change_of_member=1.0 - _exp(-difference),
        trainable=member.number("parameters_trainable"),
        fixed=member.number("parameters_fixed"),
        shared=member.number("parameters_shared"),
        input_trainable=member.number("parameters_input_trainable"),
        tokens_per_second=speed,
        gemm_share=member.number("flops_per_token") * speed / _positive(member.number("gemm_gflops") * 1e9),
    )


def difference_curve(member: Member, reference: Member) -> tuple[np.ndarray, np.ndarray]:
    """(tokens [K], loss of member minus loss of reference [K], nats) at the validations that both have made."""
    common, mine, theirs = np.intersect1d(member.validation_column("tokens"), reference.validation_column("tokens"),
                                          return_indices=True)
    return common, member.validation_column("loss")[mine] - reference.validation_column("loss")[theirs]


def loss_difference(member: Member, reference: Member | None) -> tuple[float, float]:
    """(tokens, difference in nats per token) at the last validation that both have made; NaN if there is none."""
    if reference is None:
        return math.nan, math.nan
    tokens, difference = difference_curve(member, reference)
    return _last(tokens), _last(difference)


def median_speed(member: Member) -> float:
    """Median of the tokens-per-second column without the first step (which pays for start-up)."""
    steps, speed = member.column("step"), member.column("tokens_per_second")
    if steps.size != speed.size or steps.size == 0:
        return math.nan
    later = speed[steps > steps.min()]
    later = later[np.isfinite(later)]
    return float(np.median(later)) if later.size else math.nan


def unigram_entropy(run: Run) -> float:
    """The reference line of the loss figure: nats per token, NaN if no member has it."""
    values = [member.number("validation_unigram_nats") for member in run.members]
    return next((value for value in values if math.isfinite(value)), math.nan)


def statements(rows: list[Row]) -> list[str]:
    """One sentence per member: is its validation loss below what token frequencies alone would give?"""
    return [f"{row.member}: {_statement(row)}" for row in rows]


def _statement(row: Row) -> str:
    unfinished = "" if row.status == "finished" else f" (unfinished: status is {row.status})"
    if not math.isfinite(row.loss):
        return f"no validation yet{unfinished}."
    if not math.isfinite(row.unigram_nats):
        return f"validation loss {row.loss:.4f} nats per token; the unigram entropy is not available{unfinished}."
    relation = "below" if row.loss < row.unigram_nats else "NOT below"
    return (f"validation loss {row.loss:.4f} nats per token is {relation} the unigram entropy of the validation text "
            f"under training frequencies, {row.unigram_nats:.4f}{unfinished}.")


def _last(values: np.ndarray) -> float:
    return float(values[-1]) if len(values) else math.nan


def _exp(value: float) -> float:
    return math.exp(value) if value < 700.0 else math.inf if value == value else math.nan


def _positive(value: float) -> float:
    """`value`, or NaN where a division by it would mean nothing."""
    return value if value > 0.0 else math.nan
