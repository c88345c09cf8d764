"""Reading HDF5 files that may be damaged, cut, foreign, or still being written: whatever is wrong is one line.

A file whose seal holds is what the executable wrote, and is read here. Any other is read in a child, since HDF5 1.10 can
crash on damaged files, loop for ever, or take all memory.
"""

import math
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from postprocess.guard import child, seal
from postprocess.guard.failure import FILES, Failure, printable, reason

SECONDS, BYTES_PER_SECOND = 2.0, 20e6  # of a processor, for a child
MEMORY, TIMES = 1 << 29, 4  # bytes a child may take: so many, and so many times the file's size
LARGEST = (1 << 63) - 1


def read(path: Path, expected: str, versions: tuple[int, int, str], parse: Callable[[h5py.File], object]) -> object:
    """parse(file) of the file `path` of format `expected`, versions (oldest, newest, what is wrong with older ones).

    Failure (FILES) names the file where it is missing, damaged, or of another format or version; so does whatever
    `parse` raises.
    """
    if not path.is_file():
        raise Failure(FILES, f"{path}: no such file")
    trusted, size = seal.intact(path), path.stat().st_size
    try:
        if trusted:
            return _read(path, expected, versions, parse)
        return child.call(lambda: _read(path, expected, versions, parse), SECONDS + size / BYTES_PER_SECOND,
                          MEMORY + TIMES * size)
    except child.Ended as end:
        raise Failure(FILES, f"{path}: damaged: reading it came to {end}") from None
    except MemoryError:
        raise Failure(FILES, f"{path}: damaged, or larger than memory: it says that it holds more than fits") from None


def _read(path: Path, expected: str, versions: tuple[int, int, str], parse: Callable[[h5py.File], object]) -> object:
    try:
        file = _open(path)
    except (OSError, RuntimeError, ValueError):
        raise Failure(FILES, f"{path}: not a readable HDF5 file: something else, cut short, or damaged") from None
    with file:
        try:
            _check_format(path, file, expected, versions)
            _refuse_links_out(file)
            return parse(file)
        except (Failure, MemoryError):
            raise
        except Exception as error:
            raise Failure(FILES, f"{path}: damaged or incomplete ({reason(error)})") from None


def _open(path: Path) -> h5py.File:
    """Read-only and without locks."""
    try:
        return h5py.File(path, "r", locking=False)
    except (TypeError, ValueError):  # an h5py or HDF5 library that cannot switch locks off
        return h5py.File(path, "r")


def _check_format(path: Path, file: h5py.File, expected: str, versions: tuple[int, int, str]) -> None:
    found, version = plain(file.attrs.get("format", "")), plain(file.attrs.get("format_version", 0))
    oldest, newest, older = versions
    problem = None
    if found != expected:
        problem = f"format is {found!r}, expected {expected!r}"
    elif not isinstance(version, int):
        problem = f"damaged: its format_version is {version!r}"
    elif version > newest:
        problem = (f"{expected} version {version} is newer than the version {newest} that this postprocess reads; use the "
                   "postprocess of the code that wrote it")
    elif version < oldest:
        problem = f"{expected} version {version} {older}"
    if problem:
        raise Failure(FILES, f"{path}: {problem}")


def _refuse_links_out(file: h5py.File) -> None:
    """What a seal, or a copy of the file, does not cover."""
    out = file.id.links.visit(lambda name, link: name if link.type == h5py.h5l.TYPE_EXTERNAL else None, info=True)
    if out is not None:
        raise ValueError(f"its /{out.decode('utf-8', 'replace')} lies in another file")


def plain(value: object) -> object:
    """An HDF5 attribute as a Python str, int, float or list; text without control characters but tabs and line breaks."""
    if isinstance(value, h5py.Empty):
        return ""
    if isinstance(value, bytes):
        return plain(value.decode("utf-8", "replace"))
    if isinstance(value, str):
        return printable(value, but="\n\t")
    if isinstance(value, np.ndarray) and value.size == 1:
        return plain(value.reshape(-1)[0])
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.reshape(-1)]
    return value.item() if isinstance(value, np.generic) else value


def attributes(item) -> dict[str, object]:
    return {printable(key): plain(value) for key, value in item.attrs.items()}


def texts(item: object) -> list[str]:
    """A 1-D dataset of texts."""
    if not isinstance(item, h5py.Dataset) or item.ndim != 1:
        raise ValueError("a list of texts is no such list")
    _check_stored(item)
    return [str(plain(value)) for value in item[()]]


def numbers(item: object) -> np.ndarray:
    """A 1-D dataset of numbers, int64 or float64."""
    if not isinstance(item, h5py.Dataset) or item.ndim != 1 or item.dtype.kind not in "fiu":
        raise ValueError(f"{getattr(item, 'name', 'a column')} is no column of numbers")
    _check_stored(item)
    values = item[()]
    if values.dtype.kind == "u" and values.size and int(values.max()) > LARGEST:
        raise ValueError(f"{item.name} holds numbers past 2^63")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def whole_numbers(item: object) -> np.ndarray:
    """The same, int64."""
    values = numbers(item)
    whole = values.astype(np.int64) if values.dtype.kind == "i" or np.all(np.abs(values) < 2.0**53) else None
    if whole is None or not np.array_equal(whole, values):
        raise ValueError(f"{item.name} holds what is no whole number")
    return whole


def _check_stored(item: h5py.Dataset) -> None:
    """Values that were never written read as zeros, and so do those of other files that are missing."""
    if item.is_virtual or item.external:
        raise ValueError(f"{item.name} lies in other files")
    if item.chunks is None:
        missing = item.size > 0 and item.id.get_storage_size() == 0
    else:
        chunks = math.prod(-(-extent // chunk) for extent, chunk in zip(item.shape, item.chunks))
        missing = item.id.get_num_chunks() < chunks
    if missing:
        raise ValueError(f"{item.name} was created, but not all of it was ever written")
