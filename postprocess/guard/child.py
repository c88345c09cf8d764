"""A function called in a process of its own: a library that crashes, hangs or speaks takes nothing along.

SentencePiece ends the process on some texts, and HDF5 crashes or loops on damaged files.
"""

import contextlib
import math
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

CHUNK = 1 << 20
WALL = 5.0


class Ended(Exception):
    """The process gave no answer; the text says how it ended."""


def call(function: Callable[[], object], seconds: float | None = None, memory: int | None = None) -> object:
    """What function() returns, or raises, in a child without output; both must be such as pickle takes.

    seconds: of a processor it may take, and WALL times as many by the clock, for busy machines and slow disks; memory:
    bytes it may take beyond what is there. Raises Ended.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _answer(function, reading, writing, seconds, memory)
    try:
        os.close(writing)
        data = _received(reading, None if seconds is None else WALL * seconds)
        status, child = os.waitpid(child, 0)[1], 0
    finally:
        os.close(reading)
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if not data or status:
        raise Ended(_how(status))
    good, answer = pickle.loads(data)
    if good:
        return answer
    raise answer


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Nothing of what a library writes to standard error by itself comes through, where a child would cost too much."""
    sys.stderr.flush()
    null, kept = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def _received(reading: int, seconds: float | None) -> bytes:
    until = None if seconds is None else time.monotonic() + seconds
    parts = []
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            raise Ended(f"no end within {seconds:.0f} s")
        parts.append(os.read(reading, CHUNK))
        if not parts[-1]:
            return b"".join(parts)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number in (signal.SIGXCPU, signal.SIGKILL)
        return "no end in its time" if late else f"a crash ({signal.Signals(number).name})"
    return f"a sudden end (status {os.WEXITSTATUS(status)})"


def _answer(function, reading: int, writing: int, seconds: float | None, memory: int | None) -> None:
    """The child; does not return."""
    try:
        os.close(reading)
        _alone(seconds, memory)
        try:
            answer = (True, function())
        except Exception as error:
            answer = (False, error.with_traceback(None))
        view = memoryview(pickle.dumps(answer))
        while view:
            view = view[os.write(writing, view) :]
        os._exit(0)
    finally:
        os._exit(70)


def _alone(seconds: float | None, memory: int | None) -> None:
    """Signals end it, it says nothing, and it cannot go on for ever after its parent's death."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if seconds is not None:
            spent = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent + seconds),) * 2)
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (_in_use() + memory,) * 2)


def _in_use() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
