"""Signals and output_now: a run ends between two steps, or writes, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, MPIRUN, RunTest, run  # noqa: E402

LONG = ["run.steps=100000", "run.log_every=100000", "validation.every=0"]


class Signals(RunTest):
    def start(self, out, ranks=0):
        """A run that would take minutes, once it has done its first step."""
        command = [EXECUTABLE, "-i", self.deck, "-d", out, *LONG]
        if ranks > 0:
            command = [*MPIRUN, "-np", str(ranks), *command]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE, env=environment, stdin=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("step=1/"):
                return process
        self.fail("the run ended: " + process.stderr.read())

    def check_stopped(self, process, name, out):
        rest = process.stdout.read()
        self.assertEqual(process.wait(timeout=60), 0, rest)
        self.assertIn(f"terminated on {name}; restart with -r latest", rest)
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "stopped")
            return int(file["history/step"][-1])

    def check_goes_on(self, out, done):
        """No step is lost or done twice. (test_restart.py holds the bits.)"""
        steps = f"run.steps={done + 10}"
        more = ["run.log_every=1000", "validation.every=0", steps]
        result = run(["-i", self.deck, "-d", out, "-r", "latest", *more])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count(f"step {done}"), 1, result.stdout)
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(list(file["history/step"]), list(range(1, done + 11)))

    def test_each_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(signal=number.name):
                out = self.folder / number.name
                process = self.start(out)
                process.send_signal(number)
                done = self.check_stopped(process, number.name, out)
                self.check_goes_on(out, done)

    def test_any_rank(self):
        out = self.folder / "ranks"
        process = self.start(out, ranks=3)
        ranks = subprocess.run(["pgrep", "-P", str(process.pid), "-x", EXECUTABLE.split("/")[-1][:15]],
                               capture_output=True, text=True, check=False).stdout.split()
        self.assertEqual(len(ranks), 3, "mpirun's children")
        os.kill(int(ranks[-1]), signal.SIGUSR1)
        self.check_stopped(process, "SIGUSR1", out)

    def test_mpirun_passes_usr1_on(self):
        out = self.folder / "mpirun"
        process = self.start(out, ranks=2)
        process.send_signal(signal.SIGUSR1)
        self.check_stopped(process, "SIGUSR1", out)

    def test_output_now(self):
        out = self.folder / "now"
        process = self.start(out)
        (out / "output_now").touch()
        for _ in range(600):
            if not (out / "output_now").exists():
                break
            time.sleep(0.1)
        else:
            self.fail("output_now is still there")
        with h5py.File(out / "embedding.h5") as file:
            self.assertEqual(file.attrs["status"], "running")
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "running")
        (checkpoint,) = out.glob("checkpoint_*.h5")
        with h5py.File(checkpoint) as file:
            step = int(file.attrs["step"])
        process.send_signal(signal.SIGTERM)
        self.assertGreater(self.check_stopped(process, "SIGTERM", out), step)


if __name__ == "__main__":
    unittest.main()
