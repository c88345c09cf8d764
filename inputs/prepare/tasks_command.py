"""`prepare.py tasks`: evaluation records and a tokenizer -> requests.h5."""

import argparse
import time
from pathlib import Path

import task_requests
import tokenizer_choice
from postprocess.guard import command_line, program
from postprocess.guard.failure import USAGE, Failure

DESCRIPTION = """Turn the records of evaluation tasks into requests.h5, which the job `evaluate` scores. Records are JSON
objects, one a line, plain or .gz; of wikitext also its raw text. Take the tokenizer from the tokens file that the model
was trained on."""


def add_parser(commands, encodings: tuple[str, ...]) -> None:
    parser = commands.add_parser("tasks", help="evaluation tasks: requests.h5 for the job evaluate",
                                 description=DESCRIPTION)
    parser.add_argument("--out", required=True, type=command_line.path, metavar="FILE",
                        help="requests file to write; it appears, or replaces an older one, only when it is whole")
    tokenizer_choice.add_arguments(parser, encodings)
    parser.add_argument("--task", required=True, action="append", metavar="NAME=FILE",
                        help="a task and its records, again for each task. NAME: hellaswag, arc_easy, arc_challenge, piqa, "
                        "winogrande, lambada_openai, wikitext, or the path of a .toml that describes one")
    parser.add_argument("--shots", type=int, default=0, metavar="N", help="examples before each question (default 0)")
    parser.add_argument("--shots-from", action="append", default=[], metavar="NAME=FILE",
                        help="records that a task's examples are drawn from (default: its own others)")
    parser.add_argument("--seed", type=int, default=task_requests.SEED,
                        help=f"of that draw (default {task_requests.SEED}, the harness's)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N records of each task")
    parser.add_argument("--bos", action="store_true",
                        help="begin every text with the begin of text (else end of text), once")


def run(options: argparse.Namespace) -> None:
    import requests_file

    if options.shots < 0 or (options.limit is not None and options.limit < 1):
        raise Failure(USAGE, "--shots must not be negative, --limit must be positive")
    start = time.monotonic()
    asked = [(_task(name), path) for name, path in map(_pair, options.task)]
    names = [task.name for task, _ in asked]
    for name in names:
        if names.count(name) > 1:
            raise Failure(USAGE, f"--task {name} is there twice")
    sources = dict(map(_pair, options.shots_from))
    for name in sources:
        if name not in names or options.shots == 0:
            raise Failure(USAGE, f"--shots-from {name}: no task of that name with --shots")
    tokenizer = tokenizer_choice.chosen(options)
    encoder = task_requests.Encoder(tokenizer, options.bos)
    found = []
    for task, path in asked:
        examples = task_requests.Examples(options.shots, sources.get(task.name), options.seed)
        found.append(task_requests.requests_of(task, path, encoder, examples, options.limit))
    requests_file.write_requests(options.out, tokenizer, encoder.prefix, found)
    program.remark(f"tokenizer: {tokenizer.name}, vocabulary {tokenizer.vocabulary_size}, empty context: id {encoder.prefix}")
    for one in found:
        requests = [request for document in one.documents for request in document.requests]
        ids = sum(len(request.continuation) for request in requests)
        program.remark(f"{one.task.name}: {len(one.documents):,} documents, {len(requests):,} requests, {ids:,} ids to "
                       f"score ({one.description})")
    program.remark(f"wrote {options.out} in {time.monotonic() - start:.1f} s")


def inputs(options: argparse.Namespace) -> list[Path]:
    """Every file that the command reads."""
    tokenizer = [path for path in (options.tokens, options.tokenizer_model) if path]
    pairs = [_pair(argument) for argument in (*options.task, *options.shots_from)]
    return tokenizer + [path for _, path in pairs] + [Path(name) for name, _ in pairs if name.endswith(".toml")]


def _pair(argument: str) -> tuple[str, Path]:
    name, equals, file = argument.partition("=")
    if not (name and equals and file):
        raise Failure(USAGE, f"{argument}: give NAME=FILE")
    try:
        return name, command_line.path(file)
    except argparse.ArgumentTypeError as error:
        raise Failure(USAGE, str(error)) from None


def _task(name: str):
    import task_description
    import task_forms

    if name.endswith(".toml"):
        return task_description.read(command_line.path(name))
    if name not in task_forms.TASKS:
        raise Failure(USAGE, f"no task {name}: there are {', '.join(task_forms.TASKS)}, or give the path of a .toml")
    return task_forms.TASKS[name]
