"""The tokens file, tokens.h5: what the executable reads.

Layout, format "lexikos-tokens" version 1:
  root attributes   format, format_version, vocabulary_size (V), tokenizer, tokenizer_hash (SHA-256 of
                    /tokenizer_model), end_of_text (id), source, code_version
  /train            ids, 1-D, little-endian uint16 (uint32 if V > 65,536), contiguous so that it can be memory-mapped;
  /validation       attributes source_bytes and source_words (UTF-8 bytes and whitespace-separated words of the text),
                    documents, description
  /train_counts     uint64[V], how often each id is in /train
  /pieces           string[V], the text of each id, for reports
  /tokenizer_model  uint8, the model file (length 0 for bytes; SentencePiece, tokenizer.json or tiktoken ranks)
"""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

import hdf5_file
from postprocess.guard.failure import printable

FORMAT = "lexikos-tokens"
FORMAT_VERSION = 1


@dataclass
class Part:
    """The ids of one part (training or validation) and what they came from."""

    ids: np.ndarray
    source_bytes: int
    source_words: int
    documents: int


def encode_part(tokenizer, documents: list[str]) -> Part:
    """Ids of the documents in order, each followed by the end-of-text id."""
    end = np.array([tokenizer.end_of_text], dtype=np.uint32)
    dtype = id_type(tokenizer.vocabulary_size)
    ids = [np.concatenate([tokenizer.encode(text), end]).astype(dtype) for text in documents]
    return Part(np.concatenate(ids), sum(len(text.encode("utf-8")) for text in documents),
                sum(len(text.split()) for text in documents), len(documents))


def id_type(vocabulary_size: int) -> np.dtype:
    """Little-endian uint16 as long as every id fits, else uint32."""
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<u4")


def write_tokens(path: Path, tokenizer, train: Part, validation: Part, source: str) -> None:
    """The file, whole or not at all."""
    parts = {"train": train, "validation": validation}
    hdf5_file.write(path, lambda file: _write_contents(file, tokenizer, parts, source))


def _write_contents(file: h5py.File, tokenizer, parts: dict[str, Part], source: str) -> None:
    vocabulary = tokenizer.vocabulary_size
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = np.int64(FORMAT_VERSION)
    file.attrs["vocabulary_size"] = np.int64(vocabulary)
    file.attrs["tokenizer"] = tokenizer.name
    file.attrs["tokenizer_hash"] = hashlib.sha256(tokenizer.model).hexdigest()
    file.attrs["end_of_text"] = np.int64(tokenizer.end_of_text)
    file.attrs["source"] = printable(source)
    file.attrs["code_version"] = code_version()
    for name, part in parts.items():
        _write_part(file, name, part, vocabulary)
    counts = np.bincount(parts["train"].ids, minlength=vocabulary).astype("<u8")
    file.create_dataset("train_counts", data=counts).attrs["description"] = "occurrences of each id in /train"
    pieces = file.create_dataset("pieces", data=[_spelt(piece) for piece in tokenizer.pieces], dtype=h5py.string_dtype("utf-8"))
    pieces.attrs["description"] = "text of each id; SentencePiece writes a space as U+2581, a lone byte, and NUL, as <0x41>"
    model = file.create_dataset("tokenizer_model", data=np.frombuffer(tokenizer.model, dtype=np.uint8))
    model.attrs["description"] = "the tokenizer's model file; length 0 for bytes"


def _spelt(piece: str) -> str:
    """A piece without the characters that HDF5's text cannot have: NUL, lone surrogates."""
    spelt = piece.replace("\0", "<0x00>")
    return spelt if spelt.isprintable() else "".join(c if not "\ud800" <= c <= "\udfff" else printable(c) for c in spelt)


def _write_part(file: h5py.File, name: str, part: Part, vocabulary: int) -> None:
    if part.ids.size and int(part.ids.max()) >= vocabulary:
        raise ValueError(f"id {part.ids.max()} in /{name} is not below the vocabulary size {vocabulary}")
    dataset = file.create_dataset(name, data=part.ids.astype(id_type(vocabulary), copy=False))
    dataset.attrs["source_bytes"] = np.int64(part.source_bytes)
    dataset.attrs["source_words"] = np.int64(part.source_words)
    dataset.attrs["documents"] = np.int64(part.documents)
    dataset.attrs["description"] = ("token ids, each document followed by end_of_text; source_bytes: UTF-8 bytes of the "
                                    "text; source_words: its whitespace-separated words")


def code_version() -> str:
    """The commit of this source tree, with -dirty after it if files were changed; "unknown" outside git."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return "unknown"
    try:
        done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True,
                              text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else "unknown"
