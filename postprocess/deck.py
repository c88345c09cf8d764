"""The resolved decks that the executable stored: what the members share and in what they differ."""

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11: decks are shown as text only
    tomllib = None

from pathlib import Path

from .reader import Member


def settings(member: Member) -> dict[str, object]:
    """`table.key` -> value of a member's resolved deck; empty if it cannot be parsed."""
    if tomllib is None:
        return {}
    try:
        return dict(_flat(tomllib.loads(str(member.attributes.get("deck", "")))))
    except tomllib.TOMLDecodeError:
        return {}


def _flat(table: dict, prefix: str = ""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


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


def tokens_file(members: list[Member]) -> Path | None:
    """The tokens file that the deck's [data] table names, if it is where the deck says."""
    for member in members:
        for key, value in settings(member).items():
            if key.startswith("data.") and isinstance(value, str) and value.endswith(".h5") and Path(value).is_file():
                return Path(value)
    return None
