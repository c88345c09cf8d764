"""What -n says a run needs against what it takes, and what recomputation and bf16 save of it.

The largest resident set of a run, less that of the same run of a tiny model (code, libraries, MPI),
must be within 10 % of the peak that -n prints.
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, RunTest, run  # noqa: E402

DECK = """
job = "train"
[data]
source = "synthetic"
vocabulary_size = 1000
[transformer]
layers = 4
width = 256
context = 256
[head]
chunk = 64
[batch]
tokens = 4096
[run]
steps = 1
gemm_rate = false
[validation]
tokens = 4096
[output]
directory = "{directory}"
"""
TINY = ["transformer.layers=1", "transformer.width=16", "transformer.context=16", "batch.tokens=16",
        "data.vocabulary_size=64"]
MIB = 2**20
UNITS = {"KiB": 2**10, "MiB": MIB, "GiB": 2**30}


class Memory(RunTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "memory.toml"
        self.runs = 0

    def deck_of_its_own(self):
        self.runs += 1
        self.path.write_text(DECK.format(directory=self.folder / f"memory{self.runs}"))
        return self.path

    def predicted(self, options):
        text = run(["-n", "-i", self.deck_of_its_own(), *options]).stdout
        value, unit = re.search(r"^  peak +([\d.]+) (\w+)$", text, re.MULTILINE).groups()
        return float(value) * UNITS[unit]

    def taken(self, options):
        """Largest resident set of one run, in bytes."""
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        process = subprocess.Popen([EXECUTABLE, "-i", self.deck_of_its_own(), *options],
                                   env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_peak(self):
        before = None
        for compute in ("fp32", "bf16"):
            tiny = self.taken([*TINY, f"run.compute={compute}"])
            for recompute in ("none", "mlp", "block"):
                options = [f"run.compute={compute}", f"model.recompute={recompute}"]
                with self.subTest(options):
                    predicted, taken = self.predicted(options), self.taken(options) - tiny
                    self.assertGreater(predicted, 100 * MIB)  # much more than what is not planned
                    self.assertLess(abs(taken / predicted - 1), 0.1,
                                    f"{taken / MIB:.0f} MiB taken, {predicted / MIB:.0f} predicted")
                    if before and before[0] == compute:
                        self.assertLess(taken, before[1])
                    before = (compute, taken)


if __name__ == "__main__":
    unittest.main()
