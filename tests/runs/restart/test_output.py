"""Standard output that is closed, full or has lost its reader: no run ends by it, no file suffers."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, RunTest  # noqa: E402

FILE = 3


class Output(RunTest):
    def shell(self, line, *arguments):
        """`line` in a shell, where "$@" is the run."""
        command = [EXECUTABLE, "-i", self.deck, "-d", self.folder / "out", "run.log_every=1", *arguments]
        return subprocess.run(["bash", "-c", line, "bash", *map(str, command)], capture_output=True, text=True,
                              timeout=120, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})

    def check_whole(self, result, name="out"):
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(self.folder / name / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "finished")
        self.assertTrue((self.folder / name / "checkpoint_00000300.h5").exists())

    def train(self, line):
        return self.shell(line, "run.steps=300")

    def test_the_reader_goes_away(self):
        self.check_whole(self.train('"$@" | head -n 5 >/dev/null; exit ${PIPESTATUS[0]}'))

    def test_the_reader_of_errors_goes_away_too(self):
        self.check_whole(self.train('"$@" 2>&1 | true; exit ${PIPESTATUS[0]}'))

    def test_closed_descriptors(self):
        """The run's files must not get their numbers: they would hold lines of the console."""
        for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                self.check_whole(self.train(f'rm -rf "$5"; "$@" {closed}'))

    def test_the_disk_of_the_log_is_full(self):
        result = self.train('"$@" > /dev/full')
        self.check_whole(result)
        (line,) = result.stderr.splitlines()
        self.assertIn("warning: cannot write standard output: No space left", line)

    def test_who_only_asked_to_read_must_know(self):
        for asked in ('"$1" -k', '"$1" -h', '"$1" -c', '"$1" --version', '"$@" -n'):
            with self.subTest(asked):
                result = self.shell(asked + " > /dev/full")
                self.assertEqual(result.returncode, FILE, result.stderr)
                (line,) = result.stderr.splitlines()
                self.assertIn("error: cannot write standard output", line)
                result = self.shell(asked + " | true; exit ${PIPESTATUS[0]}")
                self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
