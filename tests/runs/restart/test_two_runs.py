"""One folder, one run: a second is refused while the first lives, and no dead one is in the way."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, MPIRUN, RunTest, run  # noqa: E402

FILE = 3
LONG = ["run.steps=100000", "run.log_every=100000", "validation.every=0", "checkpoint.every=50"]


class TwoRuns(RunTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def start(self, ranks=0):
        command = [EXECUTABLE, "-i", self.deck, "-d", self.out, *LONG]
        if ranks > 0:
            command = [*MPIRUN, "-np", str(ranks), *command]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("step=1/"):
                return process
        self.fail("the run ended")

    def again(self, *arguments, **how):
        return run(["-i", self.deck, "-d", self.out, *LONG, *arguments], **how)

    def check_refused(self, result, pid):
        self.assertEqual(result.returncode, FILE, result.stdout + result.stderr)
        (line,) = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
        for word in (str(self.out), "in use", os.uname().nodename, f"process {pid}", "started 2"):
            self.assertIn(word, line)

    def test_a_second_run(self):
        process = self.start()
        for more in ([], ["-r", "latest"], ["seed=2"]):
            self.check_refused(self.again(*more), process.pid)
        self.check_refused(self.again(ranks=2), process.pid)
        # What only measures may come beside it.
        while not list(self.out.glob("checkpoint_*.h5")):
            time.sleep(0.1)
        result = self.again("job=evaluate")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(list(self.out.glob("*.lock*")), [])

    def test_a_killed_run_is_in_nobodys_way(self):
        for ranks in (0, 2):
            process = self.start(ranks)
            while not list(self.out.glob("checkpoint_*.h5")):
                time.sleep(0.1)
            children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                                      check=False).stdout.split() if ranks else []
            for pid in map(int, [*children, process.pid]):
                os.kill(pid, signal.SIGKILL)
            process.wait()
            self.assertTrue((self.out / "run.lock").exists())
            last = max(int(p.stem.split("_")[1]) for p in self.out.glob("checkpoint_*.h5"))
            began = time.monotonic()
            result = self.again("-r", "latest", f"run.steps={last + 10}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertLess(time.monotonic() - began, 20, "nothing is waited for")
            self.assertEqual(list(self.out.glob("*.lock*")), [])
            for path in self.out.iterdir():
                path.unlink()

    def test_what_ends_early_leaves_nothing(self):
        self.tokens.unlink()
        self.assertEqual(self.again().returncode, FILE)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
