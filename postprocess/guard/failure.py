"""The one exception that ends a program with a chosen exit status and a one-line message."""

FAULT = 1  # of the program itself
USAGE = 2  # the command line asks for something that cannot be
FILES = 3  # a file or another program is missing, unreadable or wrong, or output was lost
RESOURCES = 5  # this machine or interpreter lacks something
LONGEST = 1000  # characters of a message


class Failure(Exception):
    """An expected error: `message` is one line for the user, `status` the exit status."""

    def __init__(self, status: int, message: str):
        super().__init__(status, one_line(message))  # both, so that it can go from one process to another

    @property
    def status(self) -> int:
        return self.args[0]

    def __str__(self) -> str:
        return self.args[1]


def one_line(text: str) -> str:
    """`text` on one line that every terminal and file takes; of a long one the middle is left out."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def printable(text: str, but: str = "") -> str:
    """Control characters (`but` these), lone surrogates and bytes of names that are not UTF-8 as escapes such as \\x1b."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in but else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def reason(error: BaseException) -> str:
    """What an exception says, without what Python adds."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return "a number in it has too many digits"
    return getattr(error, "strerror", None) or str(error).strip("'\" ") or type(error).__name__
