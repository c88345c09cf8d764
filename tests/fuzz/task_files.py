#!/usr/bin/env python3
"""The Python readers of evaluation tasks under damaged input: a task description (TOML) and its records (JSON lines).

    tests/fuzz/task_files.py [INPUTS]      so many mutants of every seed pair; 1,500 in the suite

An input is a description and records with a line "----" between them; the built-in tasks read the records, too. The
same number gives the same inputs. Only Failure may leave a reader; what was accepted has a right choice among its
choices and ids for every request.
"""

import os
import random
import sys
import tempfile
import traceback
from pathlib import Path

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
sys.dont_write_bytecode = True
sys.path[:0] = [str(SOURCE / "inputs" / "prepare"), str(SOURCE)]

import task_description  # noqa: E402
import task_forms  # noqa: E402
import task_requests  # noqa: E402
import tokenizer  # noqa: E402

SEEDS = Path(__file__).resolve().parent / "seeds" / "task_files"
CASES = Path(__file__).resolve().parent / "cases" / "task_files"
BETWEEN = b"\n----\n"
WORDS = [b'{"', b'"}', b"[", b"]", b"{", b"}", b"null", b"true", b"1e400", b"-1", b"NaN", b"{a.b}", b"{answer}", b"\\ud800",
         b"\\u0000", b"'''", b"[[x]]", b'""', b"\xff", b"\xef\xbb\xbf", b"\r\n", b"1979-05-27", b"inf", b"9" * 400,
         b"[" * 2000, b'{"a":' * 500, b'shape = ["x"]', b"metrics = [{}]", b"labels = []"]


def changed(random_: random.Random, text: bytes, others: list[bytes]) -> bytes:
    """One change of a text."""
    if not text:
        return random_.choice(WORDS)
    at, end = sorted(random_.randrange(len(text) + 1) for _ in range(2))
    end = min(end, at + random_.choice((1, 4, 16, 200)))
    kind = random_.randrange(7)
    if kind == 0:
        return text[:at] + bytes([random_.randrange(256)]) + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[end:]
    if kind == 2:
        return text[:at] + text[at:end] * random_.choice((2, 3, 50)) + text[end:]
    if kind == 3:
        return text[:at] + random_.choice(others)[at:]
    if kind == 4:
        return text[:at]
    return text[:at] + random_.choice(WORDS) + text[end if kind == 5 else at :]


def mutant(number: int, seeds: list[bytes]) -> bytes:
    random_ = random.Random(number)
    text = random_.choice(seeds)
    for _ in range(random_.choice((1, 1, 2, 4))):
        text = changed(random_, text, seeds)
    return text


def check(found: task_requests.TaskRequests) -> None:
    assert found.documents, "what was accepted has documents"
    for document in found.documents:
        assert 0 <= document.gold < len(document.requests), "the right choice is one of the choices"
        for request in document.requests:
            assert request.context and request.continuation, "no context and no continuation is empty"
            assert request.code_points <= request.bytes, "a letter has a byte at least"


def read(folder: Path, text: bytes) -> int:
    """Reads one input in every way; how many ways accepted it."""
    description, _, records = text.partition(BETWEEN)
    (folder / "task.toml").write_bytes(description)
    (folder / "records.jsonl").write_bytes(records)
    tasks = list(task_forms.TASKS.values())
    accepted = 0
    try:
        tasks.append(task_description.read(folder / "task.toml"))
    except task_requests.Failure:
        pass
    for task in tasks:
        encoder = task_requests.Encoder(tokenizer.ByteTokenizer(), False)
        shots = 0 if task.shape == task_forms.ROLLING else 1
        for examples in (task_requests.Examples(), task_requests.Examples(shots)):
            try:
                check(task_requests.requests_of(task, folder / "records.jsonl", encoder, examples, None))
                accepted += 1
            except task_requests.Failure:
                pass
    return accepted


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    stored = [path for folder in (SEEDS, CASES) if folder.is_dir() for path in sorted(folder.iterdir())]
    seeds = [path.read_bytes() for path in stored]
    findings = accepted = 0
    places = set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(-len(seeds), count):
            text = seeds[number] if number < 0 else mutant(number, seeds)
            try:
                accepted += read(Path(folder), text)
            except Exception as error:  # whatever leaves a reader is what is looked for
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = (type(error).__name__, last.filename, last.lineno)
                if place in places:
                    continue
                places.add(place)
                findings += 1
                print(f"input {number}: {type(error).__name__}: {str(error)[:200]}\n  {text[:1000]!r}")
                print("".join(traceback.format_tb(error.__traceback__)[-3:]))
    print(f"{count + len(seeds)} inputs, accepted in {accepted} ways, {findings} places in which a reader breaks")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
