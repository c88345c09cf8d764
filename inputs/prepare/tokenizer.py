"""Tokenizers: text <-> token ids. `decode(encode(text)) == text` for every text is what each one promises.

Each has the same attributes: `name`, `vocabulary_size` (V, ids are 0 .. V-1), `end_of_text` (an id that no text can
produce), `model` (the raw model file, empty for bytes), `pieces` (V strings for reports), `begin_of_text` (an id, or
None where the tokenizer has none) and `begin_piece` (how text spells it, or else the end of text). tokenizer_files.py
has those that others made.
"""

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from failure import FILES, RESOURCES, USAGE, Failure

END_OF_TEXT = "<|endoftext|>"
SPACE_MARK = "\u2581"  # SentencePiece writes a space as this character inside its pieces
SEED = 1


class ByteTokenizer:
    """One id per byte of UTF-8, 0 .. 255, then end-of-text = 256: V = 257."""

    name = "bytes"
    vocabulary_size = 257
    end_of_text = 256
    begin_of_text = None
    begin_piece = END_OF_TEXT
    model = b""

    @property
    def pieces(self) -> list[str]:
        return [f"<0x{byte:02X}>" for byte in range(256)] + [END_OF_TEXT]

    def encode(self, text: str) -> np.ndarray:
        """uint32 ids, one per UTF-8 byte."""
        return np.frombuffer(text.encode("utf-8"), dtype=np.uint8).astype(np.uint32)

    def decode(self, ids: np.ndarray) -> str:
        return ids.astype(np.uint8).tobytes().decode("utf-8", errors="replace")


class SentencePieceTokenizer:
    """A SentencePiece model. The end-of-text id is the model's eos, or one id added at the end if it has none."""

    def __init__(self, model: bytes, name: str):
        self._processor = _sentencepiece().SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)
        size, eos = self._processor.vocab_size(), self._processor.eos_id()
        self.name = name
        self.model = model
        self.end_of_text = eos if eos >= 0 else size
        self.vocabulary_size = size if eos >= 0 else size + 1
        bos = self._processor.bos_id()
        self.begin_of_text = bos if bos >= 0 else None
        self.begin_piece = self._processor.id_to_piece(bos if bos >= 0 else eos) if max(bos, eos) >= 0 else END_OF_TEXT
        # A model that puts a space before its input cannot be given a text in parts.
        self._in_parts = self.decode(np.concatenate([self._ids(["a\n"]), self._ids(["b"])])) == "a\nb"
        self._mark_ids = self._byte_ids(SPACE_MARK) if self._in_parts else None

    @property
    def pieces(self) -> list[str]:
        names = [self._processor.id_to_piece(i) for i in range(self._processor.vocab_size())]
        return names + [END_OF_TEXT] * (self.vocabulary_size - len(names))

    def encode(self, text: str) -> np.ndarray:
        """uint32 ids. Given line by line: no piece holds a line break, so the ids are the same and come sooner."""
        if not self._in_parts:
            return self._ids([text])
        if self._mark_ids is not None and SPACE_MARK in text:
            parts = [self.encode(part) for part in text.split(SPACE_MARK)]
            spelt = [ids for part in parts for ids in (self._mark_ids, part)]
            return np.concatenate(spelt[1:])
        groups = [self._ids(lines) for lines in _line_groups(text)]
        return np.concatenate(groups) if groups else np.empty(0, np.uint32)

    def decode(self, ids: np.ndarray) -> str:
        return self._processor.decode(ids.tolist())

    def _ids(self, texts: list[str]) -> np.ndarray:
        lists = self._processor.encode(texts)
        return np.fromiter((i for ids in lists for i in ids), dtype=np.uint32, count=sum(map(len, lists)))

    def _byte_ids(self, text: str) -> np.ndarray | None:
        """Ids that spell `text` byte by byte, or None if the model has no byte pieces.

        Needed for a character by itself: a literal U+2581 would otherwise come back as a space.
        """
        ids = [self._processor.piece_to_id(f"<0x{byte:02X}>") for byte in text.encode("utf-8")]
        return None if self._processor.unk_id() in ids else np.array(ids, dtype=np.uint32)


def train_sentencepiece(texts: Iterable[str], vocabulary_size: int) -> SentencePieceTokenizer:
    """A byte-pair-encoding model of exactly `vocabulary_size` ids, learnt from `texts` (the training part).

    Lossless: no normalisation, no added space, a byte piece for whatever was not learnt, so nothing is unknown.
    Reproducible: one thread, all the text, a fixed seed; the same text gives the same model file byte for byte.
    Ids: 0 <unk> (never used), 1 end of text, 2 .. 257 the bytes, then the pieces.
    """
    sentencepiece = _sentencepiece()
    sentencepiece.set_random_generator_seed(SEED)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line for text in texts for line in text.split("\n") if line),
            model_writer=model, model_type="bpe", vocab_size=vocabulary_size, hard_vocab_limit=True,
            byte_fallback=True, character_coverage=1.0,
            normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
            num_threads=1, input_sentence_size=0, shuffle_input_sentence=False, max_sentence_length=1 << 30,
            unk_id=0, eos_id=1, bos_id=-1, pad_id=-1, unk_piece="<unk>", eos_piece=END_OF_TEXT, minloglevel=2)
    except RuntimeError as error:
        raise Failure(USAGE, _training_error(str(error), vocabulary_size)) from None
    return SentencePieceTokenizer(model.getvalue(), "sentencepiece-bpe")


def load_sentencepiece(path: Path) -> SentencePieceTokenizer:
    """A SentencePiece model file made elsewhere, of any kind."""
    try:
        return SentencePieceTokenizer(path.read_bytes(), "sentencepiece")
    except RuntimeError:
        raise Failure(FILES, f"{path}: not a SentencePiece model") from None
    except OSError as error:
        raise Failure(FILES, f"{path}: {error.strerror or error}") from None


def _training_error(text: str, vocabulary_size: int) -> str:
    """SentencePiece's message, turned into what to do."""
    most = re.search(r"value <= (\d+)", text)
    if most:
        return f"--vocabulary {vocabulary_size} is more than this text can fill: give at most {most[1]}"
    least = re.search(r"required_chars\. \d+ vs (\d+)", text)
    if least:
        return f"--vocabulary {vocabulary_size} is too small for the characters of this text: give at least {least[1]}"
    return f"SentencePiece could not learn a vocabulary of {vocabulary_size}: {text}"


def _line_groups(text: str, characters: int = 1 << 20) -> Iterator[list[str]]:
    """The lines of `text`, each with its line break, in lists of about `characters` so that memory stays bounded."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + characters)
        end = len(text) if end < 0 else end + 1
        lines = text[start:end].split("\n")
        yield [line + "\n" for line in lines[:-1]] + [lines[-1]] * bool(lines[-1])
        start = end


def _sentencepiece():
    """The module, or a message that says how to get it."""
    try:
        import sentencepiece
    except ImportError:
        raise Failure(RESOURCES, "this Python has no module sentencepiece (Debian: python3-sentencepiece, for "
                      "/usr/bin/python3); --tokenizer bytes needs none") from None
    return sentencepiece
