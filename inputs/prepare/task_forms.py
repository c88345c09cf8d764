"""The evaluation tasks: raw records -> questions, as lm-evaluation-harness 0.4.13 puts them.

A task has one of three shapes. `multiple_choice` and `last_word` records become a Question: choices with the text before
each, of which the model's likeliest should be the right one; or one text and its last word. `rolling` records become a
Page, scored from its first to its last id.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

MULTIPLE_CHOICE, LAST_WORD, ROLLING = "multiple_choice", "last_word", "rolling"
METRICS = {MULTIPLE_CHOICE: ("acc", "acc_norm", "acc_bytes"), LAST_WORD: ("acc", "perplexity"),
           ROLLING: ("word_perplexity", "byte_perplexity", "bits_per_byte")}


@dataclass
class Question:
    """One record. `continuations` begin with what stands between context and choice (a space)."""

    contexts: list[str]  # before each choice; equal ones are one context
    continuations: list[str]
    choices: list[str]  # whose lengths acc_norm and acc_bytes divide by
    gold: int
    example_gap: str = ""

    @property
    def example(self) -> str:
        """The whole text with the right choice, as it stands before other questions."""
        return self.contexts[self.gold] + self.example_gap + self.continuations[self.gold]


@dataclass
class Page:
    """`text` is scored; words and bytes are counted in `original`."""

    text: str
    original: str

    @property
    def words(self) -> int:
        return len(re.split(r"\s+", self.original))

    @property
    def bytes(self) -> int:
        return len(self.original.encode("utf-8"))


@dataclass
class Task:
    """How one task's records are put; `put` raises KeyError, TypeError, ValueError or IndexError on a wrong record."""

    name: str
    shape: str
    metrics: tuple[str, ...]
    put: Callable[[dict], Question | Page]


def hellaswag(record: dict) -> Question:
    label, before, after = (text(record, field) for field in ("activity_label", "ctx_a", "ctx_b"))
    context = _hellaswag_text(label + ": " + before + " " + after.capitalize())
    return question(context, [_hellaswag_text(ending) for ending in texts(record, "endings")], number(record["label"], "label"))


def _hellaswag_text(text: str) -> str:
    """WikiHow's marks taken out: on each line what stands in brackets."""
    text = text.strip().replace(" [title]", ". ")
    return "\n".join(between(line, "[", "]", lambda inside: "") for line in text.split("\n")).replace("  ", " ")


def arc(record: dict) -> Question:
    choices = record["choices"]
    if not isinstance(choices, dict):
        raise TypeError("choices is not {text, label}")
    labels, answers, key = texts(choices, "label"), texts(choices, "text"), text(record, "answerKey")
    if key not in labels or len(labels) != len(answers):
        raise ValueError(f"its right choice {key!r} is none of its {len(answers)} choices, labelled {', '.join(labels)}")
    return question(f"Question: {text(record, 'question')}\nAnswer:", answers, labels.index(key))


def piqa(record: dict) -> Question:
    return question(f"Question: {text(record, 'goal')}\nAnswer:", [text(record, "sol1"), text(record, "sol2")],
                    number(record["label"], "label"))


def winogrande(record: dict) -> Question:
    """The choices differ in what stands before the scored text, which is the same for both."""
    begin, blank, rest = text(record, "sentence").partition("_")
    if not blank:
        raise ValueError("its sentence has no blank _")
    options = [text(record, "option1"), text(record, "option2")]
    gold = number(record["answer"], "answer") - 1
    rest = rest.strip()
    return checked(Question([begin + option for option in options], [" " + rest] * 2, [rest] * 2, gold))


def lambada(record: dict) -> Question:
    return last_word(text(record, "text"))


def wikitext(record: dict) -> Page:
    page = text(record, "page")
    return Page(detokenised(page), page)


def text(record: dict, field: str) -> str:
    if not isinstance(record[field], str):
        raise TypeError(f"{field} is no text")
    return record[field]


def texts(record: dict, field: str) -> list[str]:
    if not isinstance(record[field], list) or not all(isinstance(one, str) for one in record[field]):
        raise TypeError(f"{field} is no list of texts")
    return record[field]


def number(value: object, field: str) -> int:
    """A whole number, as JSON's number or written as text."""
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{field} is no whole number")
    return value


def question(context: str, choices: list[str], gold: int, delimiter: str = " ") -> Question:
    return checked(Question([context] * len(choices), [delimiter + choice for choice in choices], list(choices), gold))


def last_word(text: str) -> Question:
    """All but the last word, words being what single spaces separate; the space goes with the last.

    In an example the harness puts a second space before it.
    """
    before, blank, word = text.rpartition(" ")
    if not blank:
        raise ValueError("its text is one word")
    return Question([before], [" " + word], [word], 0, example_gap=" ")


def checked(asked: Question) -> Question:
    """A record whose right choice is not among its choices is wrong; a negative index must not wrap around."""
    if not 0 <= asked.gold < len(asked.continuations):
        raise ValueError(f"its right choice is number {asked.gold} of {len(asked.continuations)}")
    if "" in asked.choices:
        raise ValueError("a choice is empty")
    return asked


# In this order: what wikitext's tokenisation put between words and marks.
_BEFORE_BRACKETS = [("s '", "s'"), (" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), (" : ", ": "), (" ; ", "; "),
                    (" . ", ". "), (" ! ", "! "), (" ? ", "? "), (" , ", ", ")]
_BRACKETS = ["()", "[]", "{}", '""', "''"]  # the blanks just inside them are left out
_AFTER_BRACKETS = [("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" \u00b0 ", "\u00b0"), (" \n", "\n"),
                   ("\n ", "\n"), (" N ", " 1 "), (" 's", "'s")]


def detokenised(page: str) -> str:
    """WikiText's page as running text: the harness's rules, in its order."""
    for old, new in _BEFORE_BRACKETS[:1]:
        page = page.replace(old, new)
    page = re.sub(r"/' [0-9]/", r"/'[0-9]/", page)
    for old, new in _BEFORE_BRACKETS[1:]:
        page = page.replace(old, new)
    for first, last in _BRACKETS:
        page = between(page, first, last, lambda inside: first + inside.strip() + last)
    for old, new in _AFTER_BRACKETS:
        page = page.replace(old, new)
    return page


def between(text: str, first: str, last: str, put: Callable[[str], str]) -> str:
    """Each `first`, what follows, and the next `last` behind it replaced by put(what is between).

    Time grows with the length only: patterns of `re` for the same take its square where a bracket is never closed.
    """
    parts, at = [], 0
    while (begin := text.find(first, at)) >= 0 and (end := text.find(last, begin + 1)) >= 0:
        parts += [text[at:begin], put(text[begin + 1 : end])]
        at = end + 1
    return "".join(parts) + text[at:]


def pages_of(text: str) -> list[str]:
    """The pages of a raw WikiText file: each begins with its title, " = Title = "."""
    pages: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        title = line.replace("= = =", "===").replace("= =", "==").strip()
        if title.startswith("= ") and title.endswith(" ="):
            pages.append("\n".join(lines))
            lines = []
        lines.append(line)
    pages.append("\n".join(lines))
    return [page for page in pages if page.strip()]


_ACC_NORM = ("acc", "acc_norm")
TASKS = {task.name: task for task in (
    Task("hellaswag", MULTIPLE_CHOICE, _ACC_NORM, hellaswag),
    Task("arc_easy", MULTIPLE_CHOICE, _ACC_NORM, arc),
    Task("arc_challenge", MULTIPLE_CHOICE, _ACC_NORM, arc),
    Task("piqa", MULTIPLE_CHOICE, _ACC_NORM, piqa),
    Task("winogrande", MULTIPLE_CHOICE, ("acc",), winogrande),
    Task("lambada_openai", LAST_WORD, METRICS[LAST_WORD], lambada),
    Task("wikitext", ROLLING, METRICS[ROLLING], wikitext))}
