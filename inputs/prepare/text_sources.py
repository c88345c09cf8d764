"""Text sources: where documents come from and how they are cut into train and validation.

A corpus is two lists of documents. A document is one `str` (Unicode, nothing normalised) that the model sees as one
stretch of text; the tokens file ends each with the end-of-text id.
"""

import codecs
import gzip
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from postprocess.guard.failure import FILES, Failure, printable, reason

BIBLE_REFERENCE = "Gen1:1-Rev22:21"
BIBLE_VERSES = 31102
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"  # begins no UTF-8 text

# The labels that `bible -f` prints, in its order, and the name of each book.
BOOKS = {
    "Ge": "Genesis", "Exo": "Exodus", "Lev": "Leviticus", "Num": "Numbers", "Deu": "Deuteronomy", "Josh": "Joshua",
    "Jdgs": "Judges", "Ruth": "Ruth", "1Sm": "1 Samuel", "2Sm": "2 Samuel", "1Ki": "1 Kings", "2Ki": "2 Kings",
    "1Chr": "1 Chronicles", "2Chr": "2 Chronicles", "Ezra": "Ezra", "Neh": "Nehemiah", "Est": "Esther", "Job": "Job",
    "Psa": "Psalms", "Prv": "Proverbs", "Eccl": "Ecclesiastes", "SSol": "Song of Solomon", "Isa": "Isaiah",
    "Jer": "Jeremiah", "Lam": "Lamentations", "Eze": "Ezekiel", "Dan": "Daniel", "Hos": "Hosea", "Joel": "Joel",
    "Amos": "Amos", "Obad": "Obadiah", "Jonah": "Jonah", "Mic": "Micah", "Nahum": "Nahum", "Hab": "Habakkuk",
    "Zep": "Zephaniah", "Hag": "Haggai", "Zec": "Zechariah", "Mal": "Malachi", "Mat": "Matthew", "Mark": "Mark",
    "Luke": "Luke", "John": "John", "Acts": "Acts", "Rom": "Romans", "1Cor": "1 Corinthians", "2Cor": "2 Corinthians",
    "Gal": "Galatians", "Eph": "Ephesians", "Phi": "Philippians", "Col": "Colossians", "1Th": "1 Thessalonians",
    "2Th": "2 Thessalonians", "1Tim": "1 Timothy", "2Tim": "2 Timothy", "Titus": "Titus", "Phmn": "Philemon",
    "Heb": "Hebrews", "Jas": "James", "1Pet": "1 Peter", "2Pet": "2 Peter", "1Jn": "1 John", "2Jn": "2 John",
    "3Jn": "3 John", "Jude": "Jude", "Rev": "Revelation",
}

# Narrative, wisdom, prophecy and letters, 6.3 % of the text. Books that share long passages with another book (the
# gospels, Samuel to Chronicles, 2 Kings and Isaiah, Jude and 2 Peter) stay in training: held out, they would be half known.
VALIDATION_BOOKS = ("Ruth", "Esther", "Ecclesiastes", "Daniel", "Amos", "Jonah", "Romans", "Hebrews", "James")

_VERSE = re.compile(r"([1-3]?[A-Za-z]+)(\d+):(\d+) (.+)")


@dataclass
class Corpus:
    """Documents of both parts, and one line that says what they are and how they were cut."""

    train: list[str]
    validation: list[str]
    source: str


def bible_corpus() -> Corpus:
    """The King James Bible of Debian's package bible-kjv, one document per chapter, cut by whole books."""
    return cut_by_books(parse_bible(_run_bible()))


def has_bible() -> bool:
    return shutil.which("bible") is not None


def _run_bible() -> str:
    """Text of `bible -f`: one verse a line, each with its label, as in `Ge1:1 In the beginning ...`."""
    program = shutil.which("bible")
    if program is None:
        raise Failure(FILES, "no program named bible on PATH; install Debian's package bible-kjv, or use `prepare.py text`")
    done = subprocess.run([program, "-f", BIBLE_REFERENCE], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Failure(FILES, f"`bible -f {BIBLE_REFERENCE}` ended with exit status {done.returncode}")
    return decode_utf8(done.stdout, "the output of bible")


def parse_bible(text: str) -> dict[str, list[list[str]]]:
    """Book name -> chapters -> verses, in the order of the text, with the labels removed.

    Every line must be a verse; books must be known and verses numbered 1, 2, 3 ... without a gap, and all 31,102
    must be there: a cut or reworded text is an error, never a smaller corpus.
    """
    books: dict[str, list[list[str]]] = {}
    count = 0
    for number, line in enumerate(text.splitlines(), start=1):
        match = _VERSE.fullmatch(line)
        if match is None or match[1] not in BOOKS:
            raise Failure(FILES, f"line {number} of the output of bible is not a labelled verse: {line[:60]!r}")
        chapters = books.setdefault(BOOKS[match[1]], [])
        chapter, verse = int(match[2]), int(match[3])
        if verse == 1:
            chapters.append([])
        if chapter != len(chapters) or verse != len(chapters[-1]) + 1:
            raise Failure(FILES, f"line {number} of the output of bible is out of order: {line[:60]!r}")
        chapters[-1].append(match[4].strip())
        count += 1
    if count != BIBLE_VERSES:
        raise Failure(FILES, f"bible gave {count} verses where {BIBLE_VERSES} were expected")
    return books


def cut_by_books(books: dict[str, list[list[str]]], held_out: tuple[str, ...] = VALIDATION_BOOKS) -> Corpus:
    """Chapters as documents (one verse a line); the books in `held_out` go to validation, all others to training."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for name, chapters in books.items():
        parts[name in held_out] += ["".join(verse + "\n" for verse in verses) for verses in chapters]
    source = ("King James Bible (bible -f " + BIBLE_REFERENCE + "), one document per chapter, one verse a line, labels "
              "removed; validation books: " + ", ".join(held_out) + "; training: all other books")
    return Corpus(parts[False], parts[True], source)


def text_corpus(train: list[Path], validation: list[Path] | None, fraction: float) -> Corpus:
    """One document per file. Without validation files, the end of every training file is held out (`cut_tail`)."""
    texts = [read_text(path) for path in train]
    names = _names(train)
    if validation is not None:
        held = [read_text(path) for path in validation]
        return Corpus(texts, held, f"text files: {names}; validation: {_names(validation)}")
    heads, tails = zip(*(cut_tail(text, fraction) for text in texts))
    for path, head, tail in zip(train, heads, tails):
        if not head or not tail:
            raise Failure(FILES, f"{path}: too short to hold out {fraction:g} of it; give --validation files instead")
    source = f"text files: {names}; validation: the last {fraction:g} of each file, cut at a line"
    return Corpus(list(heads), list(tails), source)


def _names(paths: list[Path]) -> str:
    return ", ".join(printable(path.name) for path in paths)


def cut_tail(text: str, fraction: float) -> tuple[str, str]:
    """Cut `text` in two so that the second part is its last `fraction`, counted in characters.

    The rule: let p = floor((1 - fraction) * length). The cut is just after the last line break at or before p; failing
    that (one long line) just after the last space at or before p; failing that at p. It depends only on the text.
    """
    target = int((1.0 - fraction) * len(text))
    for mark in ("\n", " "):
        found = text.rfind(mark, 0, target)
        if found >= 0:
            return text[: found + 1], text[found + 1 :]
    return text[:target], text[target:]


def read_text(path: Path) -> str:
    """Text of a UTF-8 file, plain or gzip-compressed, whatever its name. Line ends are kept, a byte-order mark is not."""
    text = decode_utf8(unpacked(read_bytes(path), path), str(path))
    if not text:
        raise Failure(FILES, f"{path}: the file is empty")
    return text


def read_bytes(path: Path) -> bytes:
    """All bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(FILES, f"{path}: {reason(error)}") from None


def unpacked(raw: bytes, path: Path) -> bytes:
    """The same, of a gzip file what is packed in it; `path` names it in messages."""
    if not raw.startswith(GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, zlib.error, OSError, ValueError):
        raise Failure(FILES, f"{path}: not a whole gzip file: cut short, damaged, or with something behind it") from None


def decode_utf8(raw: bytes, name: str) -> str:
    """Decode, or say at which byte the text stops being UTF-8."""
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        advice = "; it is UTF-16: iconv -f UTF-16 -t UTF-8 turns it into UTF-8" if wide else ""
        raise Failure(FILES, f"{name}: not UTF-8 text at byte {error.start}{advice}") from None
