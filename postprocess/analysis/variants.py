"""Variants: members whose decks differ only in their seed, and how the members of two variants are paired.

A member is one training run. Runs of one variant differ in nothing but the seed (of initial values and data order), so
their spread says how much a result changes by chance; the same seed under two variants is a pair, whose difference is
free of what the seed does to both.
"""

import re
from dataclasses import dataclass

from .. import deck
from postprocess.guard.failure import USAGE, Failure
from ..reader import Member, Run

DEFAULT_REFERENCE = "tied"


@dataclass
class Variant:
    """Members that differ only in their seed, in ascending order of it."""

    name: str
    members: list[Member]

    def by_seed(self) -> dict[int | None, Member]:
        """Seed -> member; None where the deck does not say."""
        return {deck.seed(member): member for member in self.members}

    @property
    def status(self) -> str:
        """The members' status if they agree, else how many have finished."""
        found = {member.text("status") for member in self.members}
        done = sum(member.finished for member in self.members)
        return found.pop() if len(found) == 1 else f"{done} of {len(self.members)} finished"


def variants_of(run: Run) -> list[Variant]:
    """The run's members by variant, in the order of their names."""
    groups: dict[object, list[Member]] = {}
    for member in run.members:
        groups.setdefault(_what_it_is(member), []).append(member)
    parts = [part for members in groups.values() for part in _distinct_seeds(members)]
    names = [_name(members, run) for members in parts]
    found = [Variant(name if names.count(name) == 1 else members[0].name, members) for name, members in zip(names, parts)]
    return sorted(found, key=lambda variant: variant.name)


def _what_it_is(member: Member) -> object:
    """What members of one variant have in common."""
    kept = {key: value for key, value in deck.settings(member).items()
            if key not in ("seed", "output.directory") and not key.startswith("sweep.")}
    return repr(sorted(kept.items()))


def _distinct_seeds(members: list[Member]) -> list[list[Member]]:
    """`members` in one list by seed; each alone if one is unknown or two are the same: a copy is no second run."""
    seeds = [deck.seed(member) for member in members]
    if len(set(seeds)) < len(seeds) or (None in seeds and len(seeds) > 1):
        return [[member] for member in members]
    return [sorted(members, key=lambda member: deck.seed(member) or 0)]


def _name(members: list[Member], run: Run) -> str:
    """The first member's name without its seed part; for a sweep of nothing but seeds the interface's name."""
    first = members[0]
    name = re.sub(rf"(^|-)seed{deck.seed(first)}(?=-|$)", "", first.name, count=1).removeprefix("-")
    return name or str(deck.settings(first).get("embedding.interface", run.name))


def find_reference(variants: list[Variant], name: str | None, option: str = "--reference") -> Variant | None:
    """The variant that differences are taken against: `name` if given, else `tied` if there is one, else none."""
    found = {variant.name: variant for variant in variants}
    if name is None:
        return found.get(DEFAULT_REFERENCE) if len(variants) > 1 else None
    if name not in found:
        raise Failure(USAGE, f"{option} {name}: no such variant; variants are {', '.join(sorted(found))}")
    return found[name]


def ordered(variants: list[Variant], reference: Variant | None) -> list[Variant]:
    """Variants as figures and tables show them: the reference first, then by name."""
    return sorted(variants, key=lambda variant: (variant is not reference, variant.name))


def singles(variants: list[Variant]) -> list[Variant]:
    """Each member as a variant of its own: for tables of single runs."""
    return [Variant(member.name, [member]) for variant in variants for member in variant.members]


def pairs(variant: Variant, reference: Variant | None) -> list[tuple[Member, Member]]:
    """(member of the variant, member of the reference with the same seed), for the seeds that both have."""
    if reference is None:
        return []
    theirs = reference.by_seed()
    return [(member, theirs[seed]) for seed, member in variant.by_seed().items() if seed in theirs]


def several_seeds(variants: list[Variant]) -> bool:
    """Whether any variant has a spread to show."""
    return any(len(variant.members) > 1 for variant in variants)


def unpaired(variants: list[Variant], reference: Variant | None) -> list[str]:
    """One sentence for every variant whose seeds are not all among the reference's."""
    lines = []
    for variant in variants:
        count, matched = len(variant.members), len(pairs(variant, reference))
        if reference is not None and matched < count:
            lines.append(f"{variant.name}: {matched} of {count} seeds {'is' if matched == 1 else 'are'} paired with "
                         f"{reference.name}'s; differences use only these.")
    return lines
