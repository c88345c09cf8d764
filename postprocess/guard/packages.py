"""Packages that are missing, or do not load: what to install."""

import sys

DEBIAN = ("numpy", "h5py", "matplotlib", "scipy", "sentencepiece")


def how_to_get(name: str) -> str:
    """What to do where the package or module `name` is missing."""
    if name in DEBIAN:
        return f"Debian: python3-{name}, for /usr/bin/python3"
    if name in sys.stdlib_module_names:
        return "part of Python itself: use Python 3.11 or newer, whole"
    return f"type: pip install {name}"


def unloadable(error: BaseException) -> str | None:
    """What to say of an exception that comes from importing something; None if it does not."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name.split(".")[0]
        return f"{sys.executable} has no module {name} ({how_to_get(name)})"
    name = _being_imported(error)
    if name is None and not isinstance(error, ImportError):
        return None
    name = name or (error.name or "?").split(".")[0]
    return f"{sys.executable} cannot load its package {name} ({type(error).__name__}: {error}); install it again " \
           f"({how_to_get(name)})"


def _being_imported(error: BaseException) -> str | None:
    """The outermost known package in whose import the exception arose: a module of it is being run."""
    trace = error.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", "")).split(".")[0]
        if trace.tb_frame.f_code.co_name == "<module>" and name in (*DEBIAN, "tokenizers", "tiktoken"):
            return name
        trace = trace.tb_next
    return None
