"""Questions and pages -> ids: where a context ends, what is scored, examples in front.

The rules are those of lm-evaluation-harness 0.4.13 (its `_encode_pair` and `loglikelihood`):
  - blanks at the end of a context go to the continuation;
  - the continuation's ids are those of context + continuation after the first len(ids of the context);
  - an empty context is one id: begin of text, else end of text.
What is too long for a model is cut by the executable, which knows T.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import task_forms
import text_sources
from postprocess.guard.failure import FILES, USAGE, Failure, printable, reason
from task_forms import Page, Question, Task

SEED = 1234  # the harness's


@dataclass
class Request:
    context: list[int]
    continuation: list[int]
    choice: int
    code_points: int
    bytes: int


@dataclass
class Document:
    """One record of a task: its requests, the right one, and of a page the words and bytes that losses are divided by."""

    requests: list[Request]
    gold: int
    words: int = 0
    bytes: int = 0


@dataclass
class TaskRequests:
    task: Task
    documents: list[Document]
    description: str


@dataclass
class Examples:
    """`shots` records in front of every question, drawn from `source` (None: the questions' own file)."""

    shots: int = 0
    source: Path | None = None
    seed: int = SEED


class Encoder:
    """A tokenizer, and whether every text begins with its begin of text (else end of text), never twice."""

    def __init__(self, tokenizer, with_bos: bool):
        self._tokenizer = tokenizer
        self._with_bos = with_bos
        self._context: tuple[str, list[int]] = ("", [])  # the last one: a question's choices share it
        self.prefix = tokenizer.end_of_text if tokenizer.begin_of_text is None else tokenizer.begin_of_text

    def encode(self, text: str) -> list[int]:
        """A text that already begins with the begin of text has it as one id, whoever put it there."""
        piece = self._tokenizer.begin_piece
        rest = text.removeprefix(piece)
        head = [self.prefix] if self._with_bos or rest != text else []
        return head + self._tokenizer.encode(rest).tolist()

    def pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Ids of the context and those that are scored."""
        kept = context.rstrip()
        continuation = context[len(kept) :] + continuation
        if not kept:
            ids = self._tokenizer.encode(continuation.removeprefix(self._tokenizer.begin_piece)).tolist()
            return [self.prefix], ids
        if self._context[0] != kept:
            self._context = (kept, self.encode(kept))
        before = self._context[1]
        return before, self.encode(kept + continuation)[len(before) :]

    def page(self, text: str) -> tuple[list[int], list[int]]:
        """The prefix, and all ids of a page without one of their own."""
        ids = self.encode(text)
        return [self.prefix], ids[1:] if ids[:1] == [self.prefix] else ids


def requests_of(task: Task, path: Path, encoder: Encoder, examples: Examples, limit: int | None) -> TaskRequests:
    """Every record of a file, or the first `limit`, in its order."""
    records = [_put(task, record, f"{path}: record {number}") for number, record in enumerate(_records(task, path), start=1)]
    if not records:
        raise Failure(FILES, f"{path}: no records")
    asked = records[:limit]
    fronts = _fronts(task, records, len(asked), examples)
    documents = []
    for number, (record, front) in enumerate(zip(asked, fronts), start=1):
        where = f"{path}: record {number}"
        documents.append(_page(record, encoder, where) if isinstance(record, Page)
                         else _question(record, front, encoder, where))
    return TaskRequests(task, documents, _description(path, len(records), len(asked), examples))


def _question(asked: Question, front: str, encoder: Encoder, where: str) -> Document:
    requests = []
    for number, (context, continuation, choice) in enumerate(zip(asked.contexts, asked.continuations, asked.choices)):
        before, scored = encoder.pair(front + context, continuation)
        if not scored:
            raise Failure(FILES, f"{where}: no id is left for {continuation!r}: the tokenizer joins it with its context")
        requests.append(Request(before, scored, number, len(choice), len(choice.encode("utf-8"))))
    return Document(requests, asked.gold)


def _page(page: Page, encoder: Encoder, where: str) -> Document:
    before, scored = encoder.page(page.text)
    if not scored:
        raise Failure(FILES, f"{where}: the page is empty")
    request = Request(before, scored, 0, len(page.text), len(page.text.encode("utf-8")))
    return Document([request], 0, page.words, page.bytes)


def _fronts(task: Task, records: list, count: int, examples: Examples) -> list[str]:
    """What stands before each of the first `count` questions: the harness's draws for its seed.

    From a file of their own: n of it for each question in turn. From the questions' file: n + 1, the question itself
    left out.
    """
    if examples.shots == 0:
        return [""] * count
    if task.shape == task_forms.ROLLING:
        raise Failure(USAGE, f"--shots {examples.shots}: a page of {task.name} has no examples before it")
    draw = random.Random(examples.seed)
    own = examples.source is None
    pool = records if own else [_put(task, record, f"{examples.source}: record {number}") for number, record
                                in enumerate(_records(task, examples.source), start=1)]
    if len(pool) < examples.shots + own:
        raise Failure(FILES, f"{examples.source or 'the task file'}: {len(pool)} records are too few for {examples.shots} "
                      "examples")
    fronts = []
    for record in records[:count]:
        drawn = draw.sample(pool, examples.shots + own)
        if own:
            drawn = [one for one in drawn if one != record][: examples.shots]
            if len(drawn) < examples.shots:  # the record is there more than once
                others = [one for one in pool if one != record]
                if len(others) < examples.shots:
                    raise Failure(FILES, f"the task file of {task.name}: {len(others)} records that differ from one that is "
                                  f"there more than once are too few for {examples.shots} examples; give other records with "
                                  f"--shots-from {task.name}=FILE")
                drawn = draw.sample(others, examples.shots)
        fronts.append("".join(one.example + "\n\n" for one in drawn))
    return fronts


def _put(task: Task, record: dict, where: str) -> Question | Page:
    try:
        return task.put(record)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        what = f"no field {error}" if isinstance(error, KeyError) else reason(error)
        raise Failure(FILES, f"{where}: not a record of {task.name} ({what})") from None


def _records(task: Task, path: Path) -> Iterator[dict]:
    """JSON objects, one a line, gzip-compressed if the name ends in .gz; pages also as WikiText's raw text."""
    if task.shape == task_forms.ROLLING and not path.name.removesuffix(".gz").endswith(".jsonl"):
        yield from ({"page": page} for page in task_forms.pages_of(text_sources.read_text(path)))
        return
    for number, line in enumerate(text_sources.read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # JSONDecodeError is a ValueError
            raise Failure(FILES, f"{path}: line {number} is not JSON ({getattr(error, 'msg', None) or reason(error)})") from None
        if not isinstance(record, dict):
            raise Failure(FILES, f"{path}: line {number} is not a JSON object; records are objects, one a line")
        if "\\u" in line and _has_surrogate(record):
            raise Failure(FILES, f"{path}: line {number} holds half a character (a lone surrogate such as \\ud800), which no "
                          "UTF-8 text can have; write it whole")
        yield record


def _has_surrogate(record: dict) -> bool:
    try:
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _description(path: Path, found: int, asked: int, examples: Examples) -> str:
    text = f"{printable(path.name)}: {'all' if asked == found else f'the first {asked:,} of'} {found:,} records"
    if examples.shots:
        source = printable(examples.source.name) if examples.source else "the same file"
        text += f"; {examples.shots} examples from {source}, seed {examples.seed}"
    return text
