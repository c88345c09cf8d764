"""The job `packing`: every cell once, the same on any number of ranks, and none done twice."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import RunTest, run  # noqa: E402

DECK = """
job = "packing"
seed = 5
[packing]
dimensions = [4, 8]
counts = [16, 24, 10]
steps = 60
history_every = 25
tile = 7
"""


def cells(folder):
    return sorted(folder.glob("cell_*.h5"))


class Packing(RunTest):
    def setUp(self):
        super().setUp()
        self.deck.write_text(DECK)

    def packing(self, *arguments, ranks=0, name="cells", status=0):
        out = self.folder / name
        result = run(["-i", self.deck, "-d", out, *arguments], ranks)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        return out, result

    def test_ranks(self):
        one, result = self.packing()
        self.assertEqual(len(cells(one)), 6)
        self.assertIn("all cells are in", result.stdout)
        for ranks in (2, 3, 7):
            many, _ = self.packing(ranks=ranks, name=f"ranks{ranks}")
            self.assertEqual([p.name for p in cells(many)], [p.name for p in cells(one)])
            for a, b in zip(cells(one), cells(many)):
                self.assert_same_bits(a, b)

    def test_what_a_cell_holds(self):
        out, _ = self.packing()
        with h5py.File(out / "cell_optimised_d00008_k0000024.h5") as file:
            self.assertEqual(file.attrs["format"], "lexikos-packing")
            self.assertEqual((file.attrs["dimension"], file.attrs["count"]), (8, 24))
            self.assertEqual(file.attrs["power"], 20)  # the most; int(60 / ln 8) is 28
            self.assertEqual(file.attrs["learning_rate"], 0.005)
            self.assertEqual(file["history/step"][()].tolist(), [25, 50, 60])
            epsilon = file["history/epsilon"][()]
            self.assertEqual(file.attrs["epsilon"], epsilon[-1])
            self.assertLess(epsilon[-1], epsilon[0])
            # No packing beats Welch's bound.
            self.assertGreater(epsilon[-1], np.sqrt((24 - 8) / (8 * 23)))

    def test_random(self):
        out, _ = self.packing("packing.kind=random", "packing.trials=30")
        with h5py.File(out / "cell_random_d00004_k0000016.h5") as file:
            found = file["history/epsilon"][()]
            self.assertEqual(len(np.unique(found)), 30)
            self.assertEqual(file.attrs["epsilon"], found.min())
            self.assertTrue(np.all((found > 0.5) & (found < 1)))

    def test_goes_on(self):
        out, _ = self.packing()
        kept = {p: p.stat().st_mtime_ns for p in cells(out)}
        lost = cells(out)[2]
        lost.unlink()
        _, result = self.packing()
        self.assertEqual(result.stdout.count("is there"), 5)
        self.assertEqual(len(cells(out)), 6)
        for path, time in kept.items():
            if path != lost:
                self.assertEqual(path.stat().st_mtime_ns, time)

    def test_other_settings_in_the_same_folder(self):
        self.packing()
        for override in ("packing.steps=61", "seed=6", "packing.power=4", "packing.learning_rate=0.1"):
            _, result = self.packing(override, status=3)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(override.split("=")[0].split(".")[-1].replace("steps", "repeats"),
                          result.stderr)

    def test_dry_run(self):
        out, result = self.packing("-n", ranks=2)
        self.assertFalse(out.exists())
        self.assertEqual(result.stdout.count("learning rate 0.005"), 6)
        self.assertIn("rank 1  d      8  k       16", result.stdout)

    def test_wall_limit(self):
        _, result = self.packing("-t", "00:00:01", "packing.steps=40000", "packing.counts=[60,61,62]")
        self.assertIn("the same command goes on", result.stdout)
        self.assertLess(len(cells(self.folder / "cells")), 6)

    def test_bad_decks(self):
        for override, words in (("packing.dimensions=[1]", "between 2 and"), ("packing.counts=[]", "empty"),
                                ("packing.power=1", "packing.power"), ("packing.power=21", "packing.power"),
                                ("packing.step=3", "packing.steps"), ("run.stepps=3", "run"),
                                ("packing.kind=best", "optimised")):
            with self.subTest(override=override):
                _, result = self.packing(override, status=2)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
