"""N steps straight = k steps, restart, N - k steps, bit for bit."""

import shutil
import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, RunTest, run  # noqa: E402


class Restart(RunTest):
    def test_every_interface(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                straight = self.lexikos(f"embedding.interface={interface}", "checkpoint.every=6",
                                        "checkpoint.keep=0", name=interface)
                # 7 is an evaluation's step; 1500 tokens make 93 windows, so the epoch of 5
                # sequences a step ends inside step 19.
                for step in (6, 12, 18):
                    again = self.lexikos(f"embedding.interface={interface}", "checkpoint.every=6",
                                         "-r", straight / f"checkpoint_{step:08d}.h5",
                                         name=f"{interface}{step}")
                    for name in ("checkpoint_00000020.h5", "history.h5", "embedding.h5"):
                        self.assert_same_bits(straight / name, again / name)

    def test_tied_is_one_table_after_a_restart(self):
        first = self.lexikos("run.steps=6", name="first")
        checkpoint = first / "checkpoint_00000006.h5"
        with h5py.File(checkpoint) as file:
            names = list(file["parameters"])
        self.assertIn("head.weight", names)
        self.assertEqual([name for name in names if name.startswith("embedding")], [])
        again = self.lexikos("-r", checkpoint, name="again")
        with h5py.File(again / "embedding.h5") as file:
            table = file["input"][()]
            self.assertTrue((table == file["output"][()]).all())
        with h5py.File(first / "embedding.h5") as file:
            self.assertFalse((table == file["input"][()]).all(), "the table must move")

    def test_affine_code_is_the_same_after_a_restart(self):
        affine = ("embedding.interface=binary_code", "embedding.binary_code.recoding=affine",
                  "checkpoint.every=6", "checkpoint.keep=0")

        def code(folder):
            with h5py.File(folder / "embedding.h5") as file:
                return file["input"][()]

        straight = self.lexikos(*affine, name="straight")
        again = self.lexikos(*affine, "-r", straight / "checkpoint_00000006.h5", name="again")
        self.assert_same_bits(straight / "embedding.h5", again / "embedding.h5")
        # The map belongs to its own seed, not to the run's.
        self.assertTrue((code(straight) == code(self.lexikos(*affine, "seed=2", name="run"))).all())
        other = code(self.lexikos(*affine, "embedding.binary_code.seed=2", name="map"))
        self.assertFalse((code(straight) == other).all())

    def test_another_order_of_samples_is_refused(self):
        first = self.lexikos("run.steps=6", name="first")
        go_on = ["-i", self.deck, "-r", first / "checkpoint_00000006.h5"]
        for change, complaint in (("seed=9", "seed is 9 and was "),
                                  ("batch.tokens=160", "batch.tokens is 160 and was 80")):
            with self.subTest(change=change):
                refused = run([*go_on, "-d", self.folder / "no", change])
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn(complaint, refused.stderr)
                self.assertIn("data.allow_changed = true", refused.stderr)
                allowed = run([*go_on, "-d", self.folder / change, change, "run.steps=8",
                               "data.allow_changed=true"])
                self.assertEqual(allowed.returncode, 0, allowed.stderr)
                self.assertIn(f"data.allow_changed: {complaint}", allowed.stdout)

    def test_wall_limit_then_latest(self):
        arguments = ["-i", self.deck, "-d", self.folder / "run", "run.steps=4000",
                     "run.log_every=1000", "validation.every=0"]
        stopped = run([*arguments, "-t", "00:00:01"])
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertIn("terminated on wall-time limit; restart with -r latest", stopped.stdout)
        with h5py.File(self.folder / "run" / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "stopped")
            reached = int(file["history/step"][-1])
        self.assertTrue(0 < reached < 4000)
        steps = reached + 50
        arguments[4] = f"run.steps={steps}"
        done = run([*arguments, "-r", "latest"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"step {reached}", done.stdout)
        with h5py.File(self.folder / "run" / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "finished")
            self.assertEqual(list(file["history/step"]), list(range(1, steps + 1)))

    def test_latest_passes_over_a_broken_file(self):
        out = self.lexikos("checkpoint.every=10", "checkpoint.keep=0")
        newest = out / "checkpoint_00000020.h5"
        whole = newest.read_bytes()
        newest.write_bytes(whole[: len(whole) // 2])
        result = run(["-i", self.deck, "-d", out, "-r", "latest"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("checkpoint_00000010.h5", result.stdout)

    def test_finished_run_is_left_alone(self):
        out = self.lexikos()
        before = {p.name: p.stat().st_mtime_ns for p in out.iterdir()}
        self.lexikos("-r", "latest")
        self.assertEqual(before, {p.name: p.stat().st_mtime_ns for p in out.iterdir()})

    def test_latest_without_a_checkpoint_starts(self):
        result = run(["-i", self.deck, "-d", self.folder / "new", "-r", "latest"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("starting from the beginning", result.stdout)

    def test_newer_format_is_refused(self):
        out = self.lexikos("checkpoint.every=10", "checkpoint.keep=0")
        path = self.folder / "future.h5"
        shutil.copy(out / "checkpoint_00000010.h5", path)
        with h5py.File(path, "r+") as file:
            file.attrs["format_version"] = 99
        result = run(["-i", self.deck, "-d", self.folder / "b", "-r", path])
        self.assertEqual(result.returncode, 3)
        self.assertIn("newer", result.stderr)


if __name__ == "__main__":
    unittest.main()
