"""Which tokenizer a command uses: that of a tokens file, one of its own file, or bytes."""

import argparse
import hashlib
from pathlib import Path

from postprocess.guard import child, command_line, seal
from postprocess.guard.failure import FILES, USAGE, Failure, reason


def add_arguments(parser: argparse.ArgumentParser, encodings: tuple[str, ...]) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tokens", type=command_line.path, metavar="FILE",
                        help="tokens file that the model was trained on; it carries its tokenizer")
    source.add_argument("--tokenizer-model", type=command_line.path, metavar="FILE",
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
    import tokenizer_files

    if not path.is_file():
        raise Failure(FILES, f"{path}: no such file")
    seal.intact(path)
    try:
        name, model = child.call(lambda: _stored_tokenizer(path), seconds=2.0)
    except child.Ended as end:
        raise Failure(FILES, f"{path}: damaged: reading it came to {end}") from None
    return tokenizer_files.from_model(name, model, str(path))


def _stored_tokenizer(path: Path) -> tuple[str, bytes]:
    """(name, model) of the tokenizer in a tokens file; the model is what its hash says."""
    import h5py
    import numpy as np
    import tokens_file

    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError, ValueError):
        raise Failure(FILES, f"{path}: cannot be read: no HDF5 file, or cut short or damaged") from None
    try:
        with file:
            if _text(file.attrs.get("format")) != tokens_file.FORMAT:
                raise Failure(FILES, f"{path}: not a tokens file")
            name, digest = _text(file.attrs["tokenizer"]), _text(file.attrs.get("tokenizer_hash"))
            stored = file["tokenizer_model"]
            if not isinstance(stored, h5py.Dataset) or stored.dtype != np.uint8:
                raise ValueError("its tokenizer_model is no array of bytes")
            model = stored[()].tobytes()
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise Failure(FILES, f"{path}: cannot be read ({reason(error)})") from None
    if digest and digest != hashlib.sha256(model).hexdigest():
        raise Failure(FILES, f"{path}: damaged: its tokenizer is not the one that its tokenizer_hash names")
    return name, model


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
