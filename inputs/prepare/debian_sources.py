"""The `debian` corpus: the text of four Debian packages, about 58 MB of English prose, dictionary and documentation.

Each document has a name, and a rule on nothing but that name says whether it is held out: the text of one package, and the
version of another, move no document from one part to the other.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import text_sources
from postprocess.guard.failure import FILES, Failure

HELD_OUT_SHARE = 0.02
SHORTEST_PAGE = 1000  # bytes; what is shorter is a stub or a list of links

DICTIONARY = "usr/share/dictd/gcide.dict.dz"
DICTIONARY_INDEX = "usr/share/dictd/gcide.index"
PYTHON_PAGES = "usr/share/doc/python3.[0-9][0-9]/html/_sources"
PERL_PAGES = "usr/share/perl/5.*/pod"

# A pattern of a file that only this package brings, and the package's name.
PACKAGES = {DICTIONARY: "dict-gcide", PYTHON_PAGES + "/tutorial/index.rst.txt": "python3-doc",
            PERL_PAGES + "/perlfunc.pod": "perl-doc"}

# Copies: perldelta of the newest perl*delta, most of perl56delta of perl561delta. Generated lists: the other two.
PERL_LEFT_OUT = ("perldelta", "perl56delta", "perltoc", "perluniprops")

# Which of its sources the dictionary took a sense from: 200,000 equal lines, an eighth of its bytes.
_SOURCE_MARK = re.compile(r"^ +\[(?:1913 Webster|Webster 1913|WordNet|Century Dict|PJC|AS|RDH)[^\]\n]*\]\n",
                          re.MULTILINE)


@dataclass
class Document:
    name: str
    text: str


def debian_corpus(root: Path = Path("/")) -> text_sources.Corpus:
    """The corpus of the packages unpacked under `root`; bible-kjv is asked through its program `bible`, from PATH."""
    require_packages(root)
    bible = text_sources.bible_corpus()
    sources = {"gcide": list(dictionary_documents(root)), "python": list(python_documents(root)),
               "perl": list(perl_documents(root))}
    documents = [document for part in sources.values() for document in part]
    train = bible.train + [document.text for document in documents if not held_out(document.name)]
    held = [(f"bible/{i}", text) for i, text in enumerate(bible.validation)]
    held += [(document.name, document.text) for document in documents if held_out(document.name)]
    # An evaluation on only the first tokens must see all four sources.
    held.sort(key=lambda document: name_hash(document[0]))
    counts = {"bible": len(bible.train) + len(bible.validation), **{name: len(part) for name, part in sources.items()}}
    python = one_folder(root, PYTHON_PAGES).parts[-3]
    numbers = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    source = (f"Debian packages bible-kjv, dict-gcide, {python}-doc, perl-doc; documents: {numbers}; validation: the "
              f"bible's books {', '.join(text_sources.VALIDATION_BOOKS)}, and of the rest {100 * HELD_OUT_SHARE:g} % of "
              "the documents by the SHA-256 of their names")
    return text_sources.Corpus(train, [text for _, text in held], source)


def require_packages(root: Path) -> None:
    """All that is missing is named at once, before any work."""
    missing = [] if text_sources.has_bible() else ["bible-kjv"]
    missing += [package for pattern, package in PACKAGES.items() if not any(root.glob(pattern))]
    if missing:
        raise Failure(FILES, f"not here: {', '.join(missing)}; type: apt-get install {' '.join(missing)}")


def name_hash(name: str) -> int:
    """The first 64 bits of the SHA-256 of the name."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "big")


def held_out(name: str) -> bool:
    """Whether a document goes to validation: its hash is below 2 % of 2^64.

    Perl's release notes never do: each repeats long passages of the others.
    """
    if re.fullmatch(r"perl/perl\w*delta", name):
        return False
    return name_hash(name) < HELD_OUT_SHARE * 2.0**64


def dictionary_documents(root: Path) -> Iterator[Document]:
    """GCIDE, one document for all entries whose headwords share their first four letters or digits.

    A word and what is derived from it then lie in the same part. Named `gcide/` and those letters, in lower case.
    """
    groups: dict[str, list[str]] = {}
    for entry in dictionary_entries(root / DICTIONARY, root / DICTIONARY_INDEX):
        headword = entry.split("\n", 1)[0].split("\\", 1)[0]
        letters = "".join(c for c in headword.lower() if c.isalnum())[:4]
        groups.setdefault(letters, []).append(_SOURCE_MARK.sub("", entry + "\n"))
    for letters, entries in groups.items():
        text = "\n\n".join(entry.strip("\n") for entry in entries) + "\n"
        yield Document(f"gcide/{letters}", re.sub(r"\n{3,}", "\n\n", text))


def dictionary_entries(path: Path, index: Path) -> Iterator[str]:
    """Entries of a dictd dictionary in the order of its text, those about the database itself left out.

    Encoding: UTF-8 if the index has the headword 00-database-utf8, as dictd has it; else Windows-1252, which is what
    the few characters of GCIDE that are no ASCII are written in.
    """
    raw = text_sources.unpacked(text_sources.read_bytes(path), path)
    encoding, places = "cp1252", {}
    for number, line in enumerate(text_sources.read_bytes(index).splitlines(), start=1):
        try:
            headword, offset, length = line.split(b"\t")[:3]
            place = (dictd_number(offset), dictd_number(length))
        except ValueError:
            raise Failure(FILES, f"{index}: line {number} is not headword, offset and length") from None
        if headword == b"00-database-utf8":
            encoding = "utf-8"
        places[place] = places.get(place, False) or headword.startswith(b"00-")
    for (offset, length), about_database in sorted(places.items()):
        if about_database:
            continue
        if offset + length > len(raw):
            raise Failure(FILES, f"{path}: shorter than {index.name} says")
        try:
            yield raw[offset : offset + length].decode(encoding)
        except UnicodeDecodeError as error:
            raise Failure(FILES, f"{path}: not {encoding} text at byte {offset + error.start}") from None


def dictd_number(digits: bytes) -> int:
    """Base 64 with the most significant digit first, as in the index of dictd."""
    if not digits or len(digits) > 8:
        raise ValueError
    return int.from_bytes(base64.b64decode(digits.rjust(8, b"A"), validate=True), "big")


def python_documents(root: Path) -> Iterator[Document]:
    """Python's documentation, the reStructuredText of each page: `python/` and the page's path."""
    folder = one_folder(root, PYTHON_PAGES)
    for path in sorted(folder.rglob("*.rst.txt")):
        yield from page("python/" + path.relative_to(folder).as_posix().removesuffix(".rst.txt"), path)


def perl_documents(root: Path) -> Iterator[Document]:
    """Perl's documentation, the Pod of each page: `perl/` and the page's name."""
    for path in sorted(one_folder(root, PERL_PAGES).glob("*.pod")):
        if path.stem not in PERL_LEFT_OUT:
            yield from page("perl/" + path.stem, path)


def page(name: str, path: Path) -> Iterator[Document]:
    if path.stat().st_size >= SHORTEST_PAGE:
        yield Document(name, text_sources.read_text(path))


def one_folder(root: Path, pattern: str) -> Path:
    """The folder that matches; of several versions the newest."""
    def version(path: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", path.relative_to(root).as_posix())]

    # A package that is not whole can leave the folder of another version empty.
    folders = [path for path in root.glob(pattern) if any(path.iterdir())]
    if not folders:
        raise Failure(FILES, f"no folder {root / pattern}")
    return max(folders, key=version)
