"""The resolved decks that the executable stored: what the members share and in what they differ."""

import json
import re

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    tomllib = None

from .reader import Member


def settings(member: Member) -> dict[str, object]:
    """`table.key` -> value of a member's resolved deck; empty if it cannot be parsed."""
    return parsed(str(member.attributes.get("deck", "")))


def parsed(text: str) -> dict[str, object]:
    """`table.key` -> value of a resolved deck; empty if it cannot be parsed."""
    if tomllib is None:
        return dict(_lines(text))
    try:
        return dict(_flat(tomllib.loads(text)))
    except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError
        return {}


def seed(member: Member) -> int | None:
    """The seed of initial values and data order; None if the deck does not say."""
    found = settings(member).get("seed")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _flat(table: dict, prefix: str = ""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _lines(text: str):
    """(`table.key`, value) of a deck as the executable resolves it: a key to a line, a comment at most behind it."""
    table = ""
    for line in text.splitlines():
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        entry = re.match(r"""\s*([\w.-]+)\s*=\s*((?:"(?:[^"\\]|\\.)*"|[^#"])*)""", line)
        if header:
            table = header[1].strip() + "."
        elif entry:
            yield table + entry[1], _value(entry[2].strip())


def _value(text: str) -> object:
    """TOML's strings, numbers, booleans and one-line arrays are JSON's; what is not stays text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # JSONDecodeError is a ValueError
        return text


def comments(member: Member) -> dict[str, str]:
    """The deck's [comment] table: problem, reference and the like."""
    return {key.removeprefix("comment."): str(value) for key, value in settings(member).items()
            if key.startswith("comment.")}


def differing(members: list[Member]) -> dict[str, list[object]]:
    """`table.key` -> one value per member (None where it is absent), for the keys on which the decks do not agree."""
    decks = [settings(member) for member in members]
    keys = dict.fromkeys(key for deck in decks for key in deck)
    rows = {key: [deck.get(key) for deck in decks] for key in keys}
    return {key: row for key, row in rows.items() if any(value != row[0] for value in row)}


def shared(members: list[Member]) -> dict[str, object]:
    """`table.key` -> value, for the keys on which all decks agree, comments left out."""
    other = differing(members)
    return {key: value for key, value in settings(members[0]).items()
            if key not in other and not key.startswith("comment.")}
