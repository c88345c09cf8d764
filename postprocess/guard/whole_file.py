"""A file appears, or replaces an older one, only when it is whole and on the disk."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

from .failure import FILES, Failure, reason


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[io.FileIO]:
    """A file under a temporary name beside `path`, readable and writable; flushed and renamed once the block has ended.

    A link is followed, so that it stays one. Failure (FILES) where it cannot be written; the older file is then as it was.
    """
    path = writable_place(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w+b", buffering=0) as file:
            yield file
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _flush_folder(path.parent)
    except OSError as error:
        raise Failure(FILES, f"cannot write {path}: {reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_whole(path: Path, contents: bytes) -> None:
    with replacing(path) as file:
        write_all(file, contents)


def write_all(file: io.FileIO, contents) -> None:
    """A raw file may take only a part at a time."""
    view, done = memoryview(contents).cast("B"), 0
    while done < len(view):
        done += file.write(view[done:])


def writable_place(path: Path) -> Path:
    """`path`, behind its links. Failure (FILES) where something that is no file stands there: devices are not replaced."""
    try:
        if path.is_symlink():
            path = path.resolve()
        if path.exists() and not path.is_file():
            raise Failure(FILES, f"cannot write {path}: it is {'a folder' if path.is_dir() else 'no ordinary file'}; give the "
                          "name of a file")
    except (OSError, RuntimeError, ValueError) as error:
        raise Failure(FILES, f"cannot write {path}: {reason(error)}") from None
    return path


def _flush_folder(folder: Path) -> None:
    """So that a rename in it lasts; not every file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
