"""Options by their full names; a wrong command line is one line and status 2."""

import argparse
import os
from pathlib import Path

from .failure import USAGE, one_line


class Parser(argparse.ArgumentParser):
    def __init__(self, **settings):
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str):
        self.exit(USAGE, one_line(f"{self.prog}: error: {message} (see {self.prog} --help)") + "\n")


def path(argument: str) -> Path:
    """A path as the shell would have it: a leading ~ is a home folder, also where the shell has left it."""
    if not argument:
        raise argparse.ArgumentTypeError("the path is empty")
    expanded = os.path.expanduser(argument)
    if expanded.split("/")[0] == "~":
        raise argparse.ArgumentTypeError(f"{argument}: the home folder is not known (HOME is not set)")
    return Path(expanded)


def text(argument: str) -> str:
    """Text given as an argument: UTF-8, whatever the locale says."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        raise argparse.ArgumentTypeError(f"the argument is not UTF-8 text at byte {at}; give it in UTF-8") from None
