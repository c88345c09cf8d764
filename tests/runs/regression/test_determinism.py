"""The same run twice, on the same ranks and threads, gives the same bits."""

import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, RunTest  # noqa: E402


class Determinism(RunTest):
    def same_twice(self, ranks, threads, *arguments):
        a = self.lexikos(*arguments, ranks=ranks, threads=threads, name="a")
        b = self.lexikos(*arguments, ranks=ranks, threads=threads, name="b")
        for name in ("checkpoint_00000020.h5", "history.h5", "embedding.h5"):
            self.assert_same_bits(a / name, b / name)

    def test_each_interface_on_two_threads(self):
        for name in INTERFACES:
            with self.subTest(interface=name):
                for folder in ("a", "b"):
                    for file in (self.folder / folder).glob("*.h5"):
                        file.unlink()
                self.same_twice(0, 2, f"embedding.interface={name}")

    def test_three_ranks(self):
        self.same_twice(3, 1, "embedding.interface=lev")

    def test_backbone_starts_alike(self):
        """The initial backbone does not depend on the interface; the seed changes it."""
        def backbone(name, *arguments):
            out = self.lexikos("run.steps=1", "optimizer.learning_rate=0", *arguments, name=name)
            with h5py.File(out / "checkpoint_00000001.h5") as file:
                group = file["parameters"]
                return {k: group[k][()] for k in group if not k.startswith("embedding")}

        first = backbone("tied")
        self.assertIn("head.weight", first)
        for interface in INTERFACES[1:]:
            other = backbone(interface, f"embedding.interface={interface}")
            self.assertEqual(sorted(first), sorted(other))
            for key, value in first.items():
                self.assertTrue((value == other[key]).all(), key)
        other = backbone("seed", "seed=2")
        self.assertFalse((first["head.weight"] == other["head.weight"]).all())


if __name__ == "__main__":
    unittest.main()
