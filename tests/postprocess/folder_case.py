"""What the tests of postprocess share: where the sources are, a folder for a run, and how a command is run."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE))

from example_run import write_member  # noqa: E402
from postprocess.__main__ import main  # noqa: E402

PLACES = 12  # decimals that formulas of up to 1,000 numbers of order 1 keep in fp64: 1,000 u = 1e-13


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "postprocess", *map(str, arguments)], capture_output=True, text=True,
                          cwd=SOURCE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)


class Folder(unittest.TestCase):
    """Gives each test a folder for a run."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.run_folder = Path(held.name) / "a_run"
        self.random = np.random.default_rng(7)

    def member(self, name: str, losses, **settings) -> Path:
        write_member(self.run_folder / name, name, losses=losses, **settings)
        return self.run_folder / name

    def seed_runs(self, variant: str, losses: dict, **settings):
        """One member per seed, named as the executable names them: `losses` is seed -> validations."""
        for seed, values in losses.items():
            self.member(f"{variant}-seed{seed}", values, seed=seed, interface=variant, **settings)

    def alter(self, name: str, **attributes):
        with h5py.File(self.run_folder / name, "r+") as file:
            for key, value in attributes.items():
                file.attrs[key] = value

    def succeed(self, *arguments: object) -> str:
        """Standard output of a command that must succeed without a word of complaint; in this process, which is
        faster."""
        out, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
            status = main([str(argument) for argument in arguments])
        self.assertEqual((status, complaints.getvalue()), (0, ""))
        return out.getvalue()

    def refuse(self, status: int, words: str, *arguments: object) -> None:
        """The command must end with `status`, nothing on standard output and one line that has `words`; in this
        process."""
        out, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
            found = main([str(argument) for argument in arguments])
        self.assertEqual((found, out.getvalue()), (status, ""), complaints.getvalue())
        self.assertEqual(len(complaints.getvalue().strip().splitlines()), 1, complaints.getvalue())
        self.assertIn(words, complaints.getvalue())
