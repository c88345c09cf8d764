#!/usr/bin/env python3
"""Turn text into the tokens file that Lexikos trains on, and evaluation tasks into the requests file that it scores.
`prepare.py --help` lists the commands."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

import ids_command  # noqa: E402
import tasks_command  # noqa: E402
from postprocess.guard import program, whole_file  # noqa: E402
from postprocess.guard.command_line import Parser, path  # noqa: E402
from postprocess.guard.failure import FILES, USAGE, Failure, reason  # noqa: E402

EXAMPLES = """examples:
  prepare.py bible --out runs/data/bible.h5
  prepare.py debian --out runs/data/debian.h5
  prepare.py text --out runs/data/mine.h5 --train a.txt b.txt.gz --validation c.txt --vocabulary 16384
  prepare.py text --out runs/data/bytes.h5 --train a.txt --validation-fraction 0.1 --tokenizer bytes
  prepare.py encode --tokens runs/data/bible.h5 "In the beginning" > prompt.txt
  prepare.py decode --tokens runs/data/bible.h5 runs/first_run/tied/samples.txt
  prepare.py text --out runs/data/gpt2.h5 --train a.txt --tokenizer-model r50k_base.tiktoken
  prepare.py tasks --out runs/data/requests.h5 --tokens runs/data/mine.h5 --task hellaswag=hellaswag.jsonl.gz

exit status: 0 done, 1 a fault of this program, 2 command line, 3 files, 5 a Python module or memory is missing,
128 + n ended by signal n"""

# How a file of tiktoken ranks may be used; the definitions are in tokenizer_files.py.
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
MOST_IDS = 1 << 20  # of a vocabulary that is learnt


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="prepare.py", description="Turn text into tokens.h5: token ids of a training and a validation "
                    "part, ready to be memory-mapped; and evaluation tasks into requests.h5.", epilog=EXAMPLES,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", required=True, type=path, metavar="FILE",
                        help="tokens file to write; it appears, or replaces an older one, only when it is whole")
    common.add_argument("--tokenizer", choices=("sentencepiece", "bytes"), default="sentencepiece",
                        help="sentencepiece: byte-pair encoding learnt from the training part (default); bytes: one id "
                        "per byte, 257 ids")
    common.add_argument("--vocabulary", type=int, metavar="V",
                        help="number of ids for sentencepiece (default 8192; debian: 16384)")
    common.add_argument("--tokenizer-model", type=path, metavar="FILE",
                        help="use this one instead of learning one: a SentencePiece model, a tokenizer.json, or a file of "
                        "tiktoken ranks")
    common.add_argument("--tiktoken-encoding", choices=ENCODINGS,
                        help="how a file of tiktoken ranks is used that is none of the published ones")
    commands.add_parser("bible", parents=[common], help="the King James Bible of Debian's package bible-kjv",
                        description="The King James Bible (4.1 MB, public domain) from Debian's package bible-kjv: one "
                        "document per chapter, validation by whole books.")
    debian = commands.add_parser("debian", parents=[common], help="58 MB of English from four Debian packages",
                                 description="The King James Bible, the GCIDE dictionary and the documentation of Python "
                                 "and Perl, from Debian's packages bible-kjv, dict-gcide, python3-doc and perl-doc; "
                                 "validation by whole documents.")
    debian.add_argument("--root", type=path, default=Path("/"), metavar="DIR",
                        help="folder that the last three packages were unpacked in (default /)")
    text = commands.add_parser("text", parents=[common], help="your own text files",
                               description="UTF-8 text files, plain or gzip, one document each.")
    text.add_argument("--train", required=True, nargs="+", type=path, metavar="FILE", help="files to train on")
    held = text.add_mutually_exclusive_group()
    held.add_argument("--validation", nargs="+", type=path, metavar="FILE", help="files to validate on")
    held.add_argument("--validation-fraction", type=float, default=0.05, metavar="F",
                      help="without --validation: hold out the last F of each file, in characters, cut back to a line "
                      "start (default 0.05)")
    ids_command.add_parsers(commands, ENCODINGS)
    tasks_command.add_parser(commands, ENCODINGS)
    return parser


def check_options(options: argparse.Namespace) -> None:
    """Options that contradict each other, before any work is done."""
    if options.tokenizer == "bytes" and (options.vocabulary is not None or options.tokenizer_model is not None):
        raise Failure(USAGE, "--tokenizer bytes has 257 ids and no model: leave out --vocabulary and --tokenizer-model")
    if options.vocabulary is not None and options.tokenizer_model is not None:
        raise Failure(USAGE, "--tokenizer-model brings its own vocabulary: leave out --vocabulary")
    if options.tiktoken_encoding is not None and options.tokenizer_model is None:
        raise Failure(USAGE, "--tiktoken-encoding goes with --tokenizer-model")
    if options.vocabulary is not None and not 0 < options.vocabulary <= MOST_IDS:
        raise Failure(USAGE, f"--vocabulary {options.vocabulary}: must be between 1 and {MOST_IDS:,}")
    if options.command == "text" and not 0.0 < options.validation_fraction < 1.0:
        raise Failure(USAGE, f"--validation-fraction {options.validation_fraction:g}: must be between 0 and 1")
    if options.command == "text" and options.validation:
        for path in {path.resolve() for path in options.train} & {path.resolve() for path in options.validation}:
            raise Failure(USAGE, f"{path} is both a training and a validation file")


def check_output(out: Path, inputs: list[Path]) -> None:
    """Make the folder of the output, and find out before any work whether the file can be written there."""
    place = whole_file.writable_place(out)
    for one in inputs:
        if place.exists() and one.exists() and os.path.samefile(place, one):
            raise Failure(USAGE, f"--out {out}: is the input {one} too, which it would replace")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(FILES, f"--out {out}: cannot make the folder {place.parent} ({reason(error)})") from None
    if not os.access(place.parent, os.W_OK):
        raise Failure(FILES, f"--out {out}: the folder {place.parent} cannot be written to")


def inputs_of(options: argparse.Namespace) -> list[Path]:
    """Every file that the command reads."""
    if options.command == "tasks":
        return tasks_command.inputs(options)
    texts = [*options.train, *(options.validation or [])] if options.command == "text" else []
    return texts + [options.tokenizer_model] * (options.tokenizer_model is not None)


def load_corpus(options: argparse.Namespace):
    import text_sources

    if options.command == "bible":
        return text_sources.bible_corpus()
    if options.command == "debian":
        import debian_sources

        return debian_sources.debian_corpus(options.root)
    return text_sources.text_corpus(options.train, options.validation, options.validation_fraction)


def make_tokenizer(options: argparse.Namespace, train: list[str]):
    import tokenizer

    if options.tokenizer == "bytes":
        return tokenizer.ByteTokenizer()
    if options.tokenizer_model is not None:
        import tokenizer_files

        return tokenizer_files.load(options.tokenizer_model, options.tiktoken_encoding)
    return tokenizer.train_sentencepiece(train, options.vocabulary or (16384 if options.command == "debian" else 8192))


def check_round_trip(tokenizer, documents: list[str], most: int = 64) -> int:
    """Encode and decode up to `most` documents, evenly spread; one that comes back changed is an error."""
    sample = documents[:: -(-len(documents) // most)]
    for text in sample:
        back = tokenizer.decode(tokenizer.encode(text))
        if back != text:
            at = next((i for i, (a, b) in enumerate(zip(text, back)) if a != b), min(len(text), len(back)))
            raise Failure(FILES, f"the tokenizer {tokenizer.name} does not give the text back: {text[at : at + 20]!r} "
                          f"came back as {back[at : at + 20]!r}; use a model without normalisation and with byte fallback")
    return len(sample)


def prepare(options: argparse.Namespace) -> None:
    import tokens_file

    check_options(options)
    start = time.monotonic()
    corpus = load_corpus(options)
    program.remark(f"source: {corpus.source}")
    tokenizer = make_tokenizer(options, corpus.train)
    checked = check_round_trip(tokenizer, corpus.train) + check_round_trip(tokenizer, corpus.validation)
    train = tokens_file.encode_part(tokenizer, corpus.train)
    validation = tokens_file.encode_part(tokenizer, corpus.validation)
    tokens_file.write_tokens(options.out, tokenizer, train, validation, corpus.source)
    program.remark(f"tokenizer: {tokenizer.name}, vocabulary {tokenizer.vocabulary_size}, end of text "
                   f"{tokenizer.end_of_text}, round trip checked on {checked} documents")
    for name, part in (("train", train), ("validation", validation)):
        program.remark(f"{name}: {part.ids.size:,} tokens, {part.documents:,} documents, {part.source_bytes:,} bytes, "
                       f"{part.source_words:,} words, {part.source_bytes / part.ids.size:.3f} bytes per token")
    share = validation.source_bytes / (train.source_bytes + validation.source_bytes)
    program.remark(f"validation share: {100 * share:.2f} % of the bytes")
    program.remark(f"wrote {options.out} in {time.monotonic() - start:.1f} s")


def main(arguments: list[str]) -> None:
    options = build_parser().parse_args(arguments)
    if options.command in ids_command.COMMANDS:
        ids_command.run(options)
        return
    check_output(options.out, inputs_of(options))
    tasks_command.run(options) if options.command == "tasks" else prepare(options)


if __name__ == "__main__":
    program.run("prepare.py", main)
