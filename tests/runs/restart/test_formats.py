"""Checkpoints of every format version are read, or refused where this program is older than they."""

import gzip
import re
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import SOURCE, RunTest, rounding_of_losses, run  # noqa: E402

FORMATS = Path(__file__).parent / "formats"
FILE = 3
MODEL = dict(layers=1, width=4, head=4, context=4, hidden=4)  # of formats/deck.toml


def newest_version():
    """The version that the code writes."""
    text = (SOURCE / "src/outputs/checkpoint.hpp").read_text()
    return int(re.search(r"checkpoint_format_version = (\d+)", text)[1])


class Formats(RunTest):
    def setUp(self):
        super().setUp()
        self.deck = FORMATS / "deck.toml"

    def stored(self, version):
        path = self.folder / f"v{version}.h5"
        path.write_bytes(gzip.decompress((FORMATS / f"checkpoint_v{version}.h5.gz").read_bytes()))
        return path

    def test_there_is_a_file_of_every_version(self):
        names = sorted(path.name for path in FORMATS.glob("*.gz"))
        self.assertEqual(names, [f"checkpoint_v{v}.h5.gz" for v in range(1, newest_version() + 1)])
        for version in range(1, newest_version() + 1):
            with h5py.File(self.stored(version)) as file:
                self.assertEqual(file.attrs["format_version"], version)

    def test_every_version_goes_on(self):
        straight = self.lexikos(name="straight")
        with h5py.File(straight / "history.h5") as file:
            expected = file["history/train_loss"][()]
        for version in range(1, newest_version() + 1):
            with self.subTest(version=version):
                again = self.lexikos("-r", self.stored(version), name=f"from{version}")
                with h5py.File(again / "history.h5") as file:
                    self.assertEqual(list(file["history/step"]), [1, 2, 3, 4])
                    # Another processor may have written the file.
                    self.assertLess(np.abs(file["history/train_loss"][()] - expected).max(),
                                    rounding_of_losses(expected, steps=4, **MODEL))

    def test_a_newer_version_is_refused(self):
        """Also by -r latest: going on from an older file would lose work in silence."""
        out = self.lexikos(name="out")
        newer = newest_version() + 1
        last = out / "checkpoint_00000004.h5"
        with h5py.File(last, "r+") as file:
            file.attrs["format_version"] = newer
        for restart in ("latest", last):
            result = run(["-i", self.deck, "-d", out, "-r", restart])
            self.assertEqual(result.returncode, FILE, result.stderr)
            self.assertIn(f"version is {newer} and this program reads up to {newer - 1}", result.stderr)
            self.assertIn("use a newer lexikos", result.stderr)

    def test_version_2_needs_its_checksum(self):
        path = self.stored(2)
        path.write_bytes(path.read_bytes()[:-32])
        result = run(["-i", self.deck, "-d", self.folder / "out", "-r", path])
        self.assertEqual(result.returncode, FILE, result.stderr)
        self.assertIn("no checksum at its end", result.stderr)


if __name__ == "__main__":
    unittest.main()
