"""Signals and output_now: a run ends between two steps, or writes, and nothing is lost."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, MPIRUN, RunTest, run  # noqa: E402

LONG = ["run.steps=100000", "run.log_every=100000", "validation.every=0"]


class Signals(RunTest):
    def start(self, out, ranks=0, before=(), more=()):
        """A run that would take minutes, once it has done its first step."""
        command = [*before, EXECUTABLE, "-i", self.deck, "-d", out, *LONG, *more]
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
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(signal=number.name):
                out = self.folder / number.name
                process = self.start(out)
                process.send_signal(number)
                done = self.check_stopped(process, number.name, out)
                self.check_goes_on(out, done)

    def test_nohup(self):
        """SIGHUP stays ignored where it was, as nohup leaves it."""
        out = self.folder / "nohup"
        process = self.start(out, before=["env", "--ignore-signal=HUP"])
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.check_stopped(process, "SIGTERM", out)

    def test_one_signal_that_comes_twice(self):
        """timeout(1) and launchers send the same one to the process and to its group."""
        out = self.folder / "twice"
        process = self.start(out)
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        self.check_stopped(process, "SIGTERM", out)

    def test_a_hung_run_obeys_the_second(self):
        """Nobody reads its lines any more, though the pipe is open."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number.name):
                process = self.start(self.folder / f"hung_{number.name}", more=["run.log_every=1"])
                time.sleep(2)  # until the pipe is full
                process.send_signal(number)
                time.sleep(1.5)
                self.assertIsNone(process.poll(), "it waits for the reader")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=20), -number)

    def test_nothing_to_write_yet(self):
        """Where no checkpoint can follow, a signal ends the process as it does others."""
        deck = ["-i", self.deck, "-d", self.folder / "early"]
        slow = "capacity.bins=3"
        files = f"capacity.files=[{', '.join(chr(34) + str(self.embedding()) + chr(34) for _ in range(2000))}]"
        for arguments in (["job=capacity", files, slow],):
            process = subprocess.Popen(list(map(str, [EXECUTABLE, *deck, *arguments])), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            time.sleep(1.5)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=2), -signal.SIGTERM)

    def embedding(self):
        path = self.folder / "embedding.npy"
        np.save(path, np.random.default_rng(1).normal(size=(2000, 64)).astype("f4"))
        return path

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
