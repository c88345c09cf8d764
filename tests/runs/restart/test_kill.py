"""SIGKILL of a whole run at calls spread over all its files: -r latest goes on to the same bits."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, RunTest  # noqa: E402

POINTS = 8
FILES = ("checkpoint_00000008.h5", "history.h5", "embedding.h5")
DECK = ("run.steps=8", "run.log_every=100", "validation.every=3", "checkpoint.every=2",
        "transformer.layers=1", "data.source=synthetic", "data.vocabulary_size=61")
LIBRARY = []  # the shared library of kill_point.cpp, from the command line


class Kill(RunTest):
    def start(self, out, at=0, count=None):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "LD_PRELOAD": LIBRARY[0],
                       "LEXIKOS_KILL_FOLDER": str(out), "LEXIKOS_KILL_AT": str(at)}
        if count is not None:
            environment["LEXIKOS_KILL_COUNT"] = str(count)
        command = [EXECUTABLE, "-i", self.deck, "-d", out, *DECK, "-r", "latest"]
        # No pipes: what MPI started beside a killed run would hold them open.
        with (self.folder / "stderr").open("w+") as errors:
            result = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, timeout=120,
                                    stderr=errors, env=environment, stdin=subprocess.DEVNULL,
                                    check=False)
            errors.seek(0)
            result.stderr = errors.read()
        return result

    def test_a_kill_loses_nothing(self):
        straight, count = self.folder / "straight", self.folder / "count"
        self.assertEqual(self.start(straight, count=count).returncode, 0)
        calls = int(count.read_text())
        self.assertGreater(calls, 100)
        for point in range(POINTS):
            at = 1 + point * (calls - 1) // (POINTS - 1)
            with self.subTest(at=at, calls=calls):
                out = self.folder / f"killed{at}"
                self.assertEqual(self.start(out, at).returncode, -9)
                # Killed once more on the way, where it is not the end yet.
                again = self.start(out, calls // 3)
                self.assertIn(again.returncode, (0, -9), again.stderr)
                last = self.start(out)
                self.assertEqual(last.returncode, 0, last.stderr)
                for name in FILES:
                    self.assert_same_bits(straight / name, out / name)
                left = [p.name for p in out.iterdir() if "checkpoint" in p.name and ".tmp." in p.name]
                self.assertTrue(not left or again.returncode == 0, left)


if __name__ == "__main__":
    LIBRARY.append(sys.argv.pop())
    unittest.main()
