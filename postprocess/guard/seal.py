"""The seal at the end of the executable's files (src/hdf5/seal.hpp): their length and the CRC-64 of all bytes before it.

CRC-64: polynomial of ECMA-182, bits reversed, as in XZ files.
"""

import functools
import os
from pathlib import Path

from .failure import FILES, Failure, reason

MAGIC = b"LXKSEAL\n" + bytes(8)
BYTES = 32
LANE = 1024  # bytes; as many lanes as there are go side by side


def seal_of(content: bytes) -> bytes:
    return MAGIC + len(content).to_bytes(8, "little") + crc64(content).to_bytes(8, "little")


def intact(path: Path) -> bool:
    """True: sealed, and nothing has changed since; False: it has no seal. Failure (FILES): it was changed or cut."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - BYTES))
            if not file.read(BYTES).startswith(MAGIC):
                return False
            file.seek(0)
            content = file.read()
    except OSError as error:
        raise Failure(FILES, f"{path}: {reason(error)}") from None
    if seal_of(content[:-BYTES]) != content[-BYTES:]:
        raise Failure(FILES, f"{path}: damaged: its bytes are not those that were sealed when it was written; take another "
                      "copy, or write it again")
    return True


def crc64(content: bytes) -> int:
    """Lanes of LANE bytes at once, then joined in their order; the rest byte by byte. Some 100 MB a second."""
    import numpy as np

    table, shift = _table(), _shift()
    crc, whole = 0xFFFFFFFFFFFFFFFF, len(content) // LANE * LANE
    columns = np.frombuffer(content, np.uint8, whole).reshape(-1, LANE)
    for lane in _lanes(columns, table).tolist():
        moved = 0
        for place in range(8):
            moved ^= shift[place][crc >> 8 * place & 0xFF]
        crc = moved ^ lane
    table = table.tolist()
    for byte in content[whole:]:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFFFFFFFFFF


def _lanes(columns, table):
    """The remainder of each row [lanes, LANE], from 0; a block of rows at a time, so that they stay in the cache."""
    import numpy as np

    found = np.zeros(len(columns), np.uint64)
    low, eight = np.uint64(0xFF), np.uint64(8)
    for begin in range(0, len(columns), 1 << 14):
        block = np.ascontiguousarray(columns[begin : begin + (1 << 14)].T).astype(np.uint64)
        crc = np.zeros(block.shape[1], np.uint64)
        for row in block:
            crc = table[(crc ^ row) & low] ^ (crc >> eight)
        found[begin : begin + (1 << 14)] = crc
    return found


@functools.cache
def _table():
    import numpy as np

    table = []
    for entry in range(256):
        for _ in range(8):
            entry = (entry >> 1) ^ (0xC96C5795D7870F42 if entry & 1 else 0)
        table.append(entry)
    return np.array(table, np.uint64)


@functools.cache
def _shift() -> list[list[int]]:
    """[8][256]: what each byte of a remainder becomes behind LANE zero bytes."""
    import numpy as np

    table, low, eight = _table(), np.uint64(0xFF), np.uint64(8)
    crc = np.array([byte << 8 * place for place in range(8) for byte in range(256)], np.uint64)
    for _ in range(LANE):
        crc = table[crc & low] ^ (crc >> eight)
    return crc.reshape(8, 256).tolist()
