"""`prepare.py encode` and `prepare.py decode`: text to the ids of a prompt, and what a model said back to text."""

import argparse
from pathlib import Path

import text_sources
import tokenizer_choice
from postprocess.guard import command_line, program
from postprocess.guard.failure import FILES, Failure

COMMANDS = ("encode", "decode")


def add_parsers(commands, encodings: tuple[str, ...]) -> None:
    encode = commands.add_parser("encode", help="text to the ids of a prompt, for the job sample",
                                 description="Print the ids of a text on one line: a file for sample.prompt_file.")
    decode = commands.add_parser("decode", help="ids that the job sample wrote back to text",
                                 description="Print the text of each line of ids; what follows '#' is left out.")
    for parser in (encode, decode):
        tokenizer_choice.add_arguments(parser, encodings)
    encode.add_argument("text", type=command_line.text, help="the prompt; - reads it from standard input")
    decode.add_argument("ids", type=command_line.path, metavar="FILE", help="samples.txt of a run")


def run(options: argparse.Namespace) -> None:
    tokenizer = tokenizer_choice.chosen(options)
    if options.command == "encode":
        text = options.text
        if text == "-":
            text = text_sources.decode_utf8(program.standard_input(), "standard input")
        print(*tokenizer.encode(text))
        return
    for number, ids in enumerate(_lines_of_ids(options.ids, tokenizer.vocabulary_size)):
        print(f"--- {number}\n{_text_of(tokenizer, ids)}")


def _text_of(tokenizer, ids) -> str:
    """The text, with the end of text written out: no piece of text has its id."""
    import numpy as np
    from tokenizer import END_OF_TEXT

    cuts = np.flatnonzero(ids == tokenizer.end_of_text)
    parts = [part[part != tokenizer.end_of_text] for part in np.split(ids, cuts)]
    return END_OF_TEXT.join(tokenizer.decode(part) for part in parts)


def _lines_of_ids(path: Path, vocabulary_size: int) -> list:
    """int64 arrays, one for each line with ids."""
    import numpy as np

    found = []
    for number, line in enumerate(text_sources.read_text(path).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not all(word.isascii() and word.isdigit() for word in words):
            raise Failure(FILES, f"{path} line {number}: not a list of ids")
        if any(len(word) > 18 or int(word) >= vocabulary_size for word in words):
            raise Failure(FILES, f"{path} line {number}: an id that the tokenizer, of {vocabulary_size}, has not")
        if words:
            found.append(np.array([int(word) for word in words], dtype=np.int64))
    return found
