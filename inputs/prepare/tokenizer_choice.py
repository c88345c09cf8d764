"""Which tokenizer a command uses: that of a tokens file, one of its own file, or bytes."""

import argparse
from pathlib import Path

from failure import FILES, USAGE, Failure


def add_arguments(parser: argparse.ArgumentParser, encodings: tuple[str, ...]) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tokens", type=Path, metavar="FILE",
                        help="tokens file that the model was trained on; it carries its tokenizer")
    source.add_argument("--tokenizer-model", type=Path, metavar="FILE",
                        help="SentencePiece model, tokenizer.json or file of tiktoken ranks")
    source.add_argument("--tokenizer", choices=("bytes",), help="one id per byte, 257 ids")
    parser.add_argument("--tiktoken-encoding", choices=encodings,
                        help="how a file of tiktoken ranks is used that is none of the published ones")


def chosen(options: argparse.Namespace):
    import tokenizer
    import tokenizer_files

    if options.tiktoken_encoding and options.tokenizer_model is None:
        raise Failure(USAGE, "--tiktoken-encoding goes with --tokenizer-model")
    if options.tokenizer:
        return tokenizer.ByteTokenizer()
    if options.tokenizer_model:
        return tokenizer_files.load(options.tokenizer_model, options.tiktoken_encoding)
    return of_tokens_file(options.tokens)


def of_tokens_file(path: Path):
    """The tokenizer that a tokens file carries."""
    import h5py

    import tokenizer_files
    import tokens_file

    if not path.is_file():
        raise Failure(FILES, f"{path}: no such file")
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != tokens_file.FORMAT:
                raise Failure(FILES, f"{path}: not a tokens file")
            name, model = str(file.attrs["tokenizer"]), file["tokenizer_model"][()].tobytes()
    except (OSError, KeyError) as error:
        raise Failure(FILES, f"{path}: cannot be read ({error})") from None
    return tokenizer_files.from_model(name, model, str(path))
