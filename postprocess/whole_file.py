"""Writing a file so that nobody sees half of it."""

import contextlib
import os
from pathlib import Path

from .failure import FILES, Failure


def write_whole(path: Path, contents: bytes) -> None:
    """Under a temporary name first, then renamed."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(contents)
        os.replace(temporary, path)
    except OSError as error:
        raise Failure(FILES, f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
