"""Tokenizers that others made: HF tokenizer.json (package tokenizers) and tiktoken rank files (package tiktoken).

Both have the attributes that tokenizer.py states. Their packages are imported only where such a file is used. Text that
spells a special token is text: no text can produce the id of one.
"""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import text_sources
import tokenizer
from postprocess.guard import child
from postprocess.guard.failure import FILES, RESOURCES, USAGE, Failure, reason
from postprocess.guard.program import Stopped

# End of text and begin of text by the names that published tokenizers give them; a file that has none or several of the
# first is an error.
ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")
BEGINS_OF_TEXT = ("<|begin_of_text|>", "<s>", "<bos>")


@dataclass(frozen=True)
class Encoding:
    """What a rank file does not say: how text is cut before merging, and the special tokens. As tiktoken defines them."""

    pattern: str
    special: dict[str, int]
    vocabulary_size: int
    sha256: str  # of the published rank file


_R50K_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K_PATTERN = (r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"""
                   r"""\s*[\r\n]|\s+(?!\S)|\s""")
_O200K_PATTERN = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""])

ENCODINGS = {
    "r50k_base": Encoding(_R50K_PATTERN, {"<|endoftext|>": 50256}, 50257,
                          "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"),
    "cl100k_base": Encoding(_CL100K_PATTERN, {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258,
                                              "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
                                              "<|endofprompt|>": 100276}, 100277,
                            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": Encoding(_O200K_PATTERN, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}, 200019,
                           "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
}
PREFIX = "tiktoken-"  # of the names of tokenizers from rank files
JSON_NAME = "tokenizer.json"


def load(path: Path, encoding: str | None = None):
    """A tokenizer file of any kind, recognised by its content: tokenizer.json, tiktoken ranks, else SentencePiece.

    `encoding` (a key of ENCODINGS) says how a rank file is to be used that is none of the published ones.
    """
    content = text_sources.read_bytes(path).removeprefix(text_sources.BYTE_ORDER_MARK)
    if content.lstrip()[:1] == b"{":
        if encoding is None:
            return JsonTokenizer(content, str(path))
    elif _is_rank_line(content.split(b"\n", 1)[0]):
        return TiktokenTokenizer(content, encoding or known_encoding(content, path), str(path))
    if encoding is not None:
        raise Failure(USAGE, f"--tiktoken-encoding {encoding}: {path} is no file of tiktoken ranks")
    return tokenizer.load_sentencepiece(path, content)


def from_model(name: str, model: bytes, source: str):
    """The tokenizer that a prepared file (`source`) carries, from its name and its model file."""
    if name == tokenizer.ByteTokenizer.name:
        return tokenizer.ByteTokenizer()
    if name == JSON_NAME:
        return JsonTokenizer(model, source)
    if name.startswith(PREFIX) and name.removeprefix(PREFIX) in ENCODINGS:
        return TiktokenTokenizer(model, name.removeprefix(PREFIX), source)
    if name.startswith("sentencepiece"):
        return tokenizer.SentencePieceTokenizer(model, name, source)
    raise Failure(FILES, f"{source}: its tokenizer {name!r} cannot be rebuilt from it")


class JsonTokenizer:
    """An HF tokenizer.json. Nothing is added around a text: BOS is the business of whoever encodes."""

    name = JSON_NAME

    def __init__(self, model: bytes, source: str):
        tokenizers = _package("tokenizers", "tokenizer.json")
        self.model = model
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(model.decode("utf-8"))
            special = {token["content"]: token["id"] for token in json.loads(model).get("added_tokens", [])
                       if token.get("special")}
            ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
            special = {str(name): int(number) for name, number in special.items()}
        except BaseException as error:  # the package raises plain Exception, and its own panics
            _let_pass(error)
            raise Failure(FILES, f"{source}: not a tokenizer.json that the package tokenizers "
                          f"{tokenizers.__version__} reads ({reason(error)})") from None
        # What the file asks for in truncation and padding would change ids silently.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self.vocabulary_size = tokenizer.checked_size(max(ids, default=-1) + 1, source)
        ends = [name for name in ENDS_OF_TEXT if name in special]
        if len(ends) != 1:
            raise Failure(FILES, f"{source}: {len(ends)} of its special tokens are an end of text (known: "
                          f"{', '.join(ENDS_OF_TEXT)}); it must be one")
        begins = [name for name in BEGINS_OF_TEXT if name in special]
        self.end_of_text = special[ends[0]]
        self.begin_of_text = special[begins[0]] if begins else None
        self.begin_piece = begins[0] if begins else ends[0]

    @property
    def pieces(self) -> list[str]:
        return [self._tokenizer.id_to_token(i) or f"<unused {i}>" for i in range(self.vocabulary_size)]

    def encode(self, text: str) -> np.ndarray:
        """uint32 ids of nothing but the text."""
        return _cut("tokenizers", lambda: self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: np.ndarray) -> str:
        return self._tokenizer.decode(ids.tolist(), skip_special_tokens=False)


class TiktokenTokenizer:
    """A file of tiktoken ranks (base64 of a token, blank, its rank; one a line) under one of ENCODINGS."""

    begin_of_text = None
    begin_piece = tokenizer.END_OF_TEXT

    def __init__(self, model: bytes, encoding: str, source: str):
        tiktoken = _package("tiktoken", "tiktoken ranks")
        self.name = PREFIX + encoding
        self.model = model
        definition = ENCODINGS[encoding]
        ranks = _ranks(model, source)
        largest = max(*definition.special.values(), *ranks.values())
        self.vocabulary_size = tokenizer.checked_size(largest + 1, source)
        if set(ranks.values()) & set(definition.special.values()):
            raise Failure(FILES, f"{source}: its ranks reach into the special ids of {encoding}; another encoding is meant")
        self.end_of_text = definition.special[tokenizer.END_OF_TEXT]
        self._pieces = {rank: token for token, rank in ranks.items()}
        self._special = {rank: name for name, rank in definition.special.items()}
        try:
            self._encoding = tiktoken.Encoding(encoding, pat_str=definition.pattern, mergeable_ranks=ranks,
                                               special_tokens=definition.special)
        except BaseException as error:  # the package raises plain ValueError and its own panics
            _let_pass(error)
            raise Failure(FILES, f"{source}: the package tiktoken does not take these ranks ({reason(error)})") from None

    @property
    def pieces(self) -> list[str]:
        return [self._special.get(i) or self._piece(i) for i in range(self.vocabulary_size)]

    def encode(self, text: str) -> np.ndarray:
        """uint32 ids of nothing but the text."""
        return _cut("tiktoken", lambda: self._encoding.encode_ordinary(text))

    def decode(self, ids: np.ndarray) -> str:
        return self._encoding.decode(ids.tolist())

    def _piece(self, i: int) -> str:
        token = self._pieces.get(i)
        if token is None:
            return f"<unused {i}>"
        try:
            return token.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in token)


def known_encoding(content: bytes, path: Path) -> str:
    """The encoding that a published rank file belongs to, by its SHA-256."""
    digest = hashlib.sha256(content).hexdigest()
    for name, encoding in ENCODINGS.items():
        if encoding.sha256 == digest:
            return name
    raise Failure(USAGE, f"{path}: none of the published rank files ({', '.join(ENCODINGS)}); say how text is cut with "
                  "--tiktoken-encoding")


def _is_rank_line(line: bytes) -> bool:
    token, blank, rank = line.strip().partition(b" ")
    if not blank or not (rank.isdigit() and len(rank) < 20):
        return False
    try:
        return bool(base64.b64decode(token, validate=True))
    except (binascii.Error, ValueError):
        return False


def _ranks(model: bytes, source: str) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(model.splitlines(), start=1):
        if not line.strip():
            continue
        if not _is_rank_line(line):
            raise Failure(FILES, f"{source}: line {number} is not a base64 token and its rank")
        token, rank = line.strip().split(b" ")
        ranks[base64.b64decode(token)] = int(rank)
    if len(set(ranks.values())) != len(ranks):
        raise Failure(FILES, f"{source}: two of its tokens have the same rank")
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise Failure(FILES, f"{source}: no rank for the byte {missing[0]}; it cannot spell every text")
    return ranks


def _cut(package: str, encode) -> np.ndarray:
    """uint32 ids; the packages have limits of their own, at which they panic, and say so on standard error."""
    try:
        with child.silent():
            return np.array(encode(), dtype=np.uint32)
    except BaseException as error:
        _let_pass(error)
        raise Failure(FILES, f"the package {package} cannot cut a text of these into ids ({reason(error)}); a text of one endless "
                      "word is such a one") from None


def _let_pass(error: BaseException) -> None:
    """Raises again what is not about the file: signals, and memory."""
    if isinstance(error, (KeyboardInterrupt, Stopped, MemoryError)):
        raise error


def _package(name: str, what: str):
    """The package, or a message that says how to get it."""
    try:
        return __import__(name)
    except Exception:
        raise Failure(RESOURCES, f"this Python has no package {name}, which {what} needs; type: pip install {name} (in a "
                      "virtual environment made with --system-site-packages)") from None
