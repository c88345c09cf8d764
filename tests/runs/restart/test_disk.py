"""A disk that fills up, or that nobody can write to any more, in the middle of a run.

The run ends with one line and status 3, the checkpoint before is whole, and the run goes on from
it once there is room. test_kill_points fails a checkpoint at every single call.
"""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, RunTest, run  # noqa: E402

FILE = 3
LONG = ["run.steps=1000000", "run.log_every=1000000", "validation.every=0", "checkpoint.every=20"]


def mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True,
                          check=False)


class Disk(RunTest):
    def start(self, out, *arguments):
        """A run without end; the process."""
        command = [EXECUTABLE, "-i", self.deck, "-d", out, *LONG, *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, text=True,
                                   stderr=subprocess.PIPE, env=environment,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def wait_for_checkpoint(self, out):
        for _ in range(600):
            if list(out.glob("checkpoint_*.h5")):
                return
            time.sleep(0.1)
        self.fail("no checkpoint after a minute")

    def check_ended(self, process, reason):
        text = process.stderr.read()
        self.assertEqual(process.wait(timeout=60), FILE, text)
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertIn("lexikos: error: cannot ", text)
        self.assertIn(reason, text)

    def check_goes_on(self, out):
        with h5py.File(max(out.glob("checkpoint_*.h5"))) as file:
            step = int(file.attrs["step"])
        result = run(["-i", self.deck, "-d", out, "-r", "latest", *LONG, f"run.steps={step + 3}"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"restart from {out}/checkpoint_{step:08d}.h5", result.stdout)

    def small_disk(self, size):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk)
        if mounted.returncode != 0:
            self.skipTest("a small disk needs root: " + mounted.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        return disk

    def test_full_in_mid_run(self):
        disk = self.small_disk("1400k")  # room for two checkpoints, not for three
        process = self.start(disk / "out", "checkpoint.keep=0")
        self.check_ended(process, "No space left on device")
        self.assertEqual([p.name for p in (disk / "out").iterdir() if ".tmp." in p.name], [])
        self.assertEqual(mount("-o", "remount,size=8m", disk).returncode, 0)
        self.check_goes_on(disk / "out")

    def test_read_only_in_mid_run(self):
        """Permission bits do not stop root: the file system itself is made read-only."""
        disk = self.small_disk("8m")
        process = self.start(disk / "out")
        self.wait_for_checkpoint(disk / "out")
        for _ in range(600):  # it is refused while a file is being written
            if mount("-o", "remount,ro", disk).returncode == 0:
                break
            time.sleep(0.01)
        self.check_ended(process, "Read-only file system")
        self.assertEqual(mount("-o", "remount,rw", disk).returncode, 0)
        self.check_goes_on(disk / "out")

    def test_folder_gone_in_mid_run(self):
        """For users who are not root: a file takes the folder's place."""
        out, away = self.folder / "out", self.folder / "away"
        process = self.start(out)
        self.wait_for_checkpoint(out)
        out.rename(away)
        out.write_text("in the way")
        self.check_ended(process, "Not a directory")
        out.unlink()
        away.rename(out)
        self.check_goes_on(out)


if __name__ == "__main__":
    unittest.main()
