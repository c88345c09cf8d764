"""HDF5 files that appear, or replace older ones, only when they are whole."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import h5py

from failure import FILES, Failure

ALIGNMENT = 64  # bytes; a mapped dataset then starts at a whole element


def write(path: Path, fill: Callable[[h5py.File], None], sealed: bool = False) -> None:
    """`fill` writes the contents under a temporary name, which is flushed to the disk and then renamed.

    `sealed`: the length and checksum follow the end of the file, as the executable's own files have them
    (src/hdf5/seal.hpp); HDF5 does not look behind its own end.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with h5py.File(temporary, "w", alignment_threshold=1, alignment_interval=ALIGNMENT) as file:
            fill(file)
        if sealed:
            seal(temporary)
        _flush_to_disk(temporary)
        os.replace(temporary, path)
        _flush_to_disk(path.parent)
    except OSError as error:
        raise Failure(FILES, f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def seal(path: Path) -> None:
    """Appends "LXKSEAL\\n", eight zero bytes, the length (uint64, little-endian) and the CRC-64 of what was there."""
    content = path.read_bytes()
    with open(path, "ab") as file:
        file.write(b"LXKSEAL\n" + bytes(8) + len(content).to_bytes(8, "little") + crc64(content).to_bytes(8, "little"))


def crc64(content: bytes) -> int:
    """Polynomial of ECMA-182, bits reversed, as in XZ files. Some 10 MB a second."""
    table = _crc64_table()
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFFFFFFFFFF


def _crc64_table() -> list[int]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = (entry >> 1) ^ (0xC96C5795D7870F42 if entry & 1 else 0)
        table.append(entry)
    return table


def _flush_to_disk(path: Path) -> None:
    """fsync a file, or a folder so that a rename in it lasts."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
