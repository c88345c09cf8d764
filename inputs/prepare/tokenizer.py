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

from postprocess.guard import child, program
from postprocess.guard.failure import FILES, RESOURCES, USAGE, Failure, reason

END_OF_TEXT = "<|endoftext|>"
SPACE_MARK = "\u2581"  # SentencePiece writes a space as this character inside its pieces
SEED = 1
LARGEST_VOCABULARY = 1 << 24
LONGEST_WORD = 4096  # characters that SentencePiece learns from in one piece; it ends the process on 65,534
NOT_LEARNT = re.compile("[\n\0\u2585]")  # line breaks, and the characters for which SentencePiece drops a whole line


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

    def __init__(self, model: bytes, name: str, source: str):
        """`source` names in messages where the model is from. Failure (FILES) where it is none."""
        _check_model(model, source)
        self._processor = _loaded(model)
        size, eos = self._processor.vocab_size(), self._processor.eos_id()
        self.name = name
        self.model = model
        self.end_of_text = eos if eos >= 0 else size
        self.vocabulary_size = checked_size(size if eos >= 0 else size + 1, source)
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
    _sentencepiece()
    if next(_learnt_lines(texts), None) is None:
        raise Failure(FILES, "the training text has nothing to learn a vocabulary from: no line of it has a character; use "
                      "other files, or --tokenizer bytes")
    if any(map(_has_long_word, texts)):
        program.remark(f"vocabulary: learnt from words cut after {LONGEST_WORD:,} characters")
    try:
        model = child.call(lambda: _trained(texts, vocabulary_size))
    except RuntimeError as error:
        raise Failure(USAGE, _training_error(str(error), vocabulary_size)) from None
    except child.Ended as end:
        raise Failure(FILES, f"SentencePiece could not learn a vocabulary of {vocabulary_size} from this text: it came to "
                      f"{end}; use --tokenizer bytes, or a model made elsewhere (--tokenizer-model)") from None
    return SentencePieceTokenizer(model, "sentencepiece-bpe", "the model that SentencePiece learnt")


def _trained(texts: Iterable[str], vocabulary_size: int) -> bytes:
    sentencepiece = _sentencepiece()
    sentencepiece.set_random_generator_seed(SEED)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=_learnt_lines(texts),
        model_writer=model, model_type="bpe", vocab_size=vocabulary_size, hard_vocab_limit=True,
        byte_fallback=True, character_coverage=1.0,
        normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
        num_threads=1, input_sentence_size=0, shuffle_input_sentence=False, max_sentence_length=1 << 30,
        unk_id=0, eos_id=1, bos_id=-1, pad_id=-1, unk_piece="<unk>", eos_piece=END_OF_TEXT, minloglevel=2)
    return model.getvalue()


def _learnt_lines(texts: Iterable[str]) -> Iterator[str]:
    """What a vocabulary is learnt from: the lines, a word of more than LONGEST_WORD characters cut into several."""
    for line in (line for text in texts for line in NOT_LEARNT.split(text) if line):
        if not _has_long_word(line):
            yield line
            continue
        for word in line.split(" "):
            yield from (word[i : i + LONGEST_WORD] for i in range(0, len(word), LONGEST_WORD))


def _has_long_word(text: str) -> bool:
    return len(text) > LONGEST_WORD and max(map(len, re.split("[ \n]", text))) > LONGEST_WORD


def checked_size(vocabulary_size: int, source: str) -> int:
    """A number of ids that a vocabulary can have."""
    if not 0 < vocabulary_size <= LARGEST_VOCABULARY:
        raise Failure(FILES, f"{source}: its ids go up to {vocabulary_size - 1:,}; a vocabulary has at most "
                      f"{LARGEST_VOCABULARY:,}")
    return vocabulary_size


def _check_model(model: bytes, source: str) -> None:
    """Loads and uses it in a child first: a damaged one can crash, and speaks on stderr."""
    _sentencepiece()
    try:
        usable = child.call(lambda: _works(model), seconds=4.0)
    except (RuntimeError, child.Ended):
        usable = False
    if not usable:
        raise Failure(FILES, f"{source}: not a SentencePiece model, or a damaged one")


def _works(model: bytes) -> bool:
    processor = _loaded(model)
    size = processor.vocab_size()
    pieces = [processor.id_to_piece(i) for i in range(size)]
    ids = processor.encode("a\nb c")
    return size > 0 and len(pieces) == size and isinstance(processor.decode(ids), str) and processor.eos_id() < size \
        and processor.bos_id() < size


def _loaded(model: bytes):
    processor = _sentencepiece().SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


def load_sentencepiece(path: Path, content: bytes) -> SentencePieceTokenizer:
    """A SentencePiece model made elsewhere, of any kind."""
    if content.startswith(b"\x89HDF"):
        raise Failure(USAGE, f"{path}: an HDF5 file; the tokenizer of a tokens file is given with --tokens")
    return SentencePieceTokenizer(content, "sentencepiece", str(path))


def _training_error(text: str, vocabulary_size: int) -> str:
    """SentencePiece's message, turned into what to do."""
    most = re.search(r"value <= (\d+)", text)
    if most:
        return f"--vocabulary {vocabulary_size} is more than this text can fill: give at most {most[1]}"
    least = re.search(r"required_chars\. \d+ vs (\d+)", text)
    if least:
        return f"--vocabulary {vocabulary_size} is too small for the characters of this text: give at least {least[1]}"
    return (f"SentencePiece could not learn a vocabulary of {vocabulary_size} from this text; give another --vocabulary, or "
            "--tokenizer bytes")


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
    except Exception as error:
        raise Failure(RESOURCES, f"this Python cannot load the module sentencepiece ({reason(error)}; Debian: "
                      "python3-sentencepiece, for /usr/bin/python3); --tokenizer bytes needs none") from None
    return sentencepiece
