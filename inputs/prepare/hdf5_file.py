"""HDF5 files that appear, or replace older ones, only when they are whole."""

import io
from collections.abc import Callable
from pathlib import Path

import h5py

from postprocess.guard import seal, whole_file

ALIGNMENT = 64  # bytes; a mapped dataset then starts at a whole element


def write(path: Path, fill: Callable[[h5py.File], None], sealed: bool = False) -> None:
    """`fill` writes the contents under a temporary name, which is flushed to the disk and then renamed.

    `sealed`: the length and checksum follow the end of the file, as the executable's own files have them
    (src/hdf5/seal.hpp); HDF5 does not look behind its own end.
    """
    with whole_file.replacing(path) as raw:
        disk = _Disk(raw)
        with h5py.File(disk, "w", alignment_threshold=1, alignment_interval=ALIGNMENT) as file:
            fill(file)
        disk.check()
        if sealed:
            raw.seek(0)
            content = raw.readall()
            whole_file.write_all(raw, seal.seal_of(content))


class _Disk:
    """What HDF5 writes to. It never sees a write fail: after one it cannot close the file, and crashes later.

    `check` raises what was kept: a full disk, or the signal that arrived meanwhile.
    """

    def __init__(self, raw: io.FileIO):
        self._raw = raw
        self._kept: BaseException | None = None

    def check(self) -> None:
        if self._kept is not None:
            raise self._kept

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def read(self, size: int = -1) -> bytes:  # by which h5py knows that it is given a file
        return self._raw.read(size)

    def readinto(self, buffer) -> int:
        return self._raw.readinto(buffer)

    def write(self, data) -> int:
        self._keeping(whole_file.write_all, self._raw, data)
        return len(data)

    def truncate(self, size: int) -> int:
        self._keeping(self._raw.truncate, size)
        return size

    def flush(self) -> None:
        """whole_file flushes."""

    def _keeping(self, function, *arguments) -> None:
        if self._kept is None:
            try:
                function(*arguments)
            except BaseException as error:
                self._kept = error
