"""The life of a program: its streams, its signals, and the last guard, which turns every end into a line and a status."""

import codecs
import errno
import functools
import io
import logging
import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import NoReturn

from . import packages
from .failure import FAULT, FILES, RESOURCES, Failure, one_line, printable, reason

TRACEBACK = "LEXIKOS_TRACEBACK"  # set: faults are shown with where they arose
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


class Output(io.RawIOBase):
    """Writes to a descriptor and never fails: `lost` is the first error, after which everything is dropped.

    `closed`: what became of the descriptor before; then nothing can be written.
    """

    def __init__(self, descriptor: int, closed: OSError | None = None):
        super().__init__()
        self._descriptor = descriptor
        self._closed = closed
        self.lost: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._closed is None and os.isatty(self._descriptor)

    def write(self, data) -> int:
        self.lost = self.lost or self._closed
        view, done = memoryview(data).cast("B"), 0
        while done < len(view) and self.lost is None:
            try:
                done += os.write(self._descriptor, view[done:])
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.lost = error
        return len(view)


_standard_output: Output | None = None  # None: the streams are somebody else's, as in the tests


def run(name: str, main: Callable[[list[str]], None]) -> NoReturn:
    """Runs main(arguments) as the whole program `name`, and ends with its status."""
    global _standard_output
    _standard_output, errors = _open_streams()
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or in the background: stays ignored
            signal.signal(number, _stop)
    if TRACEBACK not in os.environ:  # libraries do not speak for us
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
    status = guarded(name, main, sys.argv[1:])
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    lost = _standard_output.lost
    if status == 0 and lost is not None and lost.errno != errno.EPIPE:
        print(f"{name}: error: what it printed is lost: standard output: {one_line(reason(lost))}", file=sys.stderr)
        status = FILES
    sys.stderr.flush()
    sys.exit(status)


def guarded(name: str, main: Callable[[list[str]], None], arguments: list[str]) -> int:
    """The exit status of main(arguments); whatever it raises becomes one line on stderr."""
    try:
        main(arguments)
        return 0
    except SystemExit as end:  # argparse has said what there is to say
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        if TRACEBACK in os.environ:
            traceback.print_exc()
        status, words = explained(error)
        print(f"{name}: {one_line(words)}", file=sys.stderr)
        return status


def explained(error: BaseException) -> tuple[int, str]:
    """(exit status, one line for the user) of any exception."""
    if isinstance(error, Failure):
        return error.status, f"error: {error}"
    if isinstance(error, (Stopped, KeyboardInterrupt)):
        number = signal.Signals(error.number if isinstance(error, Stopped) else signal.SIGINT)
        return 128 + number, f"stopped by {number.name}; a file that was not finished is as it was before"
    unloadable = packages.unloadable(error)
    if unloadable is not None:
        return RESOURCES, f"error: {unloadable}"
    if isinstance(error, MemoryError):
        return RESOURCES, "error: not enough memory (what is read is held whole)"
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return FILES, f"error: {where}{reason(error)}"
    return FAULT, (f"error: {type(error).__name__}: {reason(error)} ({_place(error)}): a fault of this program, not of "
                   f"yours; {TRACEBACK}=1 shows more, please report it")


def remark(words: str) -> None:
    """Prints what nobody needs: that it cannot be printed changes no status."""
    if _standard_output is None:
        print(words, flush=True)
        return
    sys.stdout.flush()
    before = _standard_output.lost
    print(words, flush=True)
    _standard_output.lost = before


def warn(words: str) -> None:
    """A line on stderr that does not end the program."""
    print(f"note: {one_line(words)}", file=sys.stderr, flush=True)


@functools.cache
def warn_once(words: str) -> None:
    """The same, however often it is said."""
    warn(words)


def standard_input() -> bytes:
    """All of it."""
    if sys.stdin is None or sys.stdin.closed:
        raise Failure(FILES, "standard input is closed; give the text as an argument")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise Failure(FILES, f"standard input: {reason(error)}") from None


def _open_streams() -> tuple[Output, Output]:
    """Puts guarded streams in place. A closed descriptor is taken, lest the next file that is opened get its number."""
    closed = {}
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed[descriptor] = OSError(errno.EBADF, "it is closed")
            os.open(os.devnull, os.O_RDWR)
    output, errors = Output(1, closed.get(1)), Output(2, closed.get(2))
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(output), encoding="utf-8", errors=_ERRORS,
                                  line_buffering=output.isatty())
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(errors), encoding="utf-8", errors=_ERRORS, line_buffering=True)
    if 0 in closed:
        sys.stdin = None
    return output, errors


def _escaped(error: UnicodeError):
    """Instead of characters that UTF-8 cannot have."""
    return printable(error.object[error.start : error.end]), error.end


_ERRORS = "lexikos-escape"
codecs.register_error(_ERRORS, _escaped)


def _stop(number: int, _frame) -> NoReturn:
    for other in SIGNALS:  # what follows is short, and must be whole
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else "?"
