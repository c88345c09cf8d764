"""A task of the user's own, from a TOML file: multiple choice or last word.

    name = "boolq"
    shape = "multiple_choice"
    context = "{passage}\\nQuestion: {question}?\\nAnswer:"   # {field} of the record; {a.b} a field of a field
    choices = ["no", "yes"]          # texts with {field}; or one "{field}" that is itself a list of texts
    gold = "{answer}"                # number of the right choice, from 0; or, with `labels`, one of them
    labels = ["A", "B"]              # left out, or as `choices`
    delimiter = " "                  # between context and choice; the default
    metrics = ["acc", "acc_norm"]    # the default; acc_bytes as well

    name = "my_words"
    shape = "last_word"
    text = "{text}"
"""

import re
import tomllib
from pathlib import Path

import task_forms
import text_sources
from postprocess.guard.failure import FILES, Failure, reason

_KEYS = {task_forms.MULTIPLE_CHOICE: {"context": str, "choices": (str, list), "gold": str},
         task_forms.LAST_WORD: {"text": str}}
_OPTIONAL = {task_forms.MULTIPLE_CHOICE: {"labels": (str, list), "delimiter": str, "metrics": list},
             task_forms.LAST_WORD: {"metrics": list}}
_FIELD = re.compile(r"\{([^{}]+)\}")


def read(path: Path) -> task_forms.Task:
    """The task that a TOML file describes; a key it does not know, or one missing, is an error."""
    try:
        found = tomllib.loads(text_sources.read_text(path))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise Failure(FILES, f"{path}: not TOML ({reason(error)})") from None
    _check(found, path)
    shape = found["shape"]
    metrics = tuple(found.get("metrics", task_forms.METRICS[shape][:2]))
    unknown = [metric for metric in metrics if metric not in task_forms.METRICS[shape]]
    if unknown or not metrics:
        raise Failure(FILES, f"{path}: metrics of {shape} are {', '.join(task_forms.METRICS[shape])}; "
                      f"found {', '.join(map(str, unknown)) or 'none'}")
    if shape == task_forms.LAST_WORD:
        return task_forms.Task(found["name"], shape, metrics,
                               lambda record: task_forms.last_word(filled(found["text"], record)))
    return task_forms.Task(found["name"], shape, metrics, lambda record: _question(found, record))


def filled(template: str, record: dict) -> str:
    """`template` with each {field} replaced by the record's, which must be text, a number or a truth value."""
    return _FIELD.sub(lambda match: _word(_field(match[1], record), match[1]), template)


def _check(found: dict, path: Path) -> None:
    shape = found.get("shape")
    if not isinstance(shape, str) or shape not in _KEYS:
        raise Failure(FILES, f"{path}: shape must be one of {', '.join(_KEYS)}; found {shape!r}")
    needed = {"name": str, "shape": str, **_KEYS[shape]}
    known = {**needed, **_OPTIONAL[shape]}
    for key, kind in needed.items():
        if key not in found:
            raise Failure(FILES, f"{path}: key {key} is missing")
    for key, value in found.items():
        if key not in known:
            raise Failure(FILES, f"{path}: unknown key {key}; a {shape} task has {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise Failure(FILES, f"{path}: {key} is of the wrong type")
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise Failure(FILES, f"{path}: {key} must be a list of texts")


def _question(found: dict, record: dict) -> task_forms.Question:
    choices = _list(found["choices"], record)
    gold = filled(found["gold"], record)
    labels = _list(found["labels"], record) if "labels" in found else None
    if labels is not None and gold not in labels:
        raise ValueError(f"its right choice {gold!r} is none of its labels")
    number = task_forms.number(gold, "gold") if labels is None else labels.index(gold)
    return task_forms.question(filled(found["context"], record), choices, number, found.get("delimiter", " "))


def _list(wanted: str | list, record: dict) -> list[str]:
    """Texts: each filled, or one field that holds them."""
    if isinstance(wanted, list):
        return [filled(one, record) for one in wanted]
    match = _FIELD.fullmatch(wanted)
    value = _field(match[1], record) if match else None
    if not isinstance(value, list):
        raise ValueError(f"{wanted} is no list in it")
    return [_word(one, match[1]) for one in value]


def _field(name: str, record: dict) -> object:
    found: object = record
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            raise KeyError(name)
        found = found[part]
    return found


def _word(value: object, name: str) -> str:
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{name} is neither text nor a number")
    return str(value)
