"""The table of ranks at the start of a run, and the warning of too few cores."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, MPIRUN, RunTest  # noqa: E402

CORES = sorted(os.sched_getaffinity(0))


class Placement(RunTest):
    def start(self, cores, threads, ranks=0, **environment):
        """A run of one step that may use these cores."""
        command = [EXECUTABLE, "-i", self.deck, "-d", self.folder / "out", "run.steps=1", "-r", "latest"]
        if ranks > 0:
            command = [*MPIRUN, "-np", str(ranks), *command]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                                env={**os.environ, "OMP_NUM_THREADS": str(threads), **environment},
                                stdin=subprocess.DEVNULL,
                                preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_two_threads_on_one_core(self):
        """What mpirun does to a rank that it binds to a core."""
        about = subprocess.run([EXECUTABLE, "-c"], capture_output=True, text=True, check=True).stdout
        if "OpenMP" not in about:
            self.skipTest("a build without threads has none to share a core")
        result = self.start(CORES[:1], 2)
        self.assertIn("warning: 2 threads share 1 core (rank 0 on ", result.stderr)
        self.assertIn("--bind-to none", result.stderr)

    @unittest.skipIf(len(CORES) < 2, "needs two cores")
    def test_no_false_warning(self):
        """OpenMP binds the first thread to one core: that is its business, not a fault."""
        libraries = subprocess.run(["ldd", EXECUTABLE], capture_output=True, text=True, check=True).stdout
        if "libgomp" in libraries and "libomp" in libraries:
            self.skipTest("with GCC's OpenMP beside clang's all threads are bound to one core: a true warning")
        for bind in ("false", "spread", "close"):
            with self.subTest(bind=bind):
                result = self.start(CORES[:2], 2, OMP_PROC_BIND=bind, OMP_PLACES="threads")
                self.assertEqual(result.stderr, "")

    def test_table(self):
        result = self.start(CORES, 1, ranks=3)
        lines = result.stdout.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("ranks "))
        host = os.uname().nodename.split(".")[0][:15]
        for rank in range(3):
            columns = lines[at + 1 + rank].split()
            self.assertEqual(columns[0], str(rank))
            self.assertTrue(columns[1].startswith(host), columns)
            self.assertEqual(columns[3], "1")
        self.assertTrue(all(len(line) <= 80 for line in lines[at : at + 4]))
        self.assertEqual(sum(line.startswith("ranks ") for line in lines), 1)


if __name__ == "__main__":
    unittest.main()
