"""File systems without locks, and readers that hold a file while the run replaces it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, RunTest  # noqa: E402

FILE = 3
LIBRARY = []  # the shared library of no_locks.cpp, from the command line


class Locks(RunTest):
    def start(self, *arguments, **environment):
        command = [EXECUTABLE, "-i", self.deck, "-d", self.folder / "out", *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120,
                              env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
                              stdin=subprocess.DEVNULL, check=False)

    def test_a_file_system_without_locks(self):
        result = self.start("run.steps=2", LD_PRELOAD=LIBRARY[0])
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.start("run.steps=4", "-r", "latest", LD_PRELOAD=LIBRARY[0])
        self.assertEqual(result.returncode, 0, result.stderr)
        # Who asks for locks gets what the file system says, in one line.
        result = self.start("run.steps=6", "-r", "latest", LD_PRELOAD=LIBRARY[0],
                            HDF5_USE_FILE_LOCKING="TRUE")
        self.assertEqual(result.returncode, FILE, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_reader_keeps_what_it_opened(self):
        self.assertEqual(self.start("run.steps=2").returncode, 0)
        with h5py.File(self.folder / "out" / "history.h5", "r", locking=True) as held, \
                h5py.File(self.folder / "out" / "embedding.h5", "r", locking=True) as table:
            before = table["input"][()]
            result = self.start("run.steps=5", "-r", "latest")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(list(held["history/step"]), [1, 2])
            self.assertTrue((table["input"][()] == before).all())
        with h5py.File(self.folder / "out" / "history.h5") as file:
            self.assertEqual(list(file["history/step"]), [1, 2, 3, 4, 5])


if __name__ == "__main__":
    LIBRARY.append(sys.argv.pop())
    unittest.main()
