"""Whole runs on token files of every format, on mixtures and with documents masked."""

import struct
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import RunTest, datasets, rounding_of_losses, run  # noqa: E402

DECK_ERROR, FILE = 2, 3
RANKS = (0, 2, 3)
EMPTY = 'data.tokens=""'


def write_nanogpt(path, ids):
    path.write_bytes(np.asarray(ids, "<u2").tobytes())


def write_llmc(path, ids, word="<u2"):
    magic = (20240520, 1) if word == "<u2" else (20240801, 7)
    header = np.zeros(256, "<i4")
    header[:3] = (*magic, len(ids))
    path.write_bytes(header.tobytes() + np.asarray(ids, word).tobytes())


def write_megatron(path, ids, word="<i4", code=4, document=37):
    """path.bin with path.idx; documents of 37 tokens."""
    ids = np.asarray(ids, word)
    path.with_suffix(".bin").write_bytes(ids.tobytes())
    begins = np.arange(0, len(ids), document)
    lengths = np.minimum(document, len(ids) - begins)
    path.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(begins), len(begins) + 1)
        + lengths.astype("<i4").tobytes() + (begins * ids.itemsize).astype("<i8").tobytes()
        + np.arange(len(begins) + 1, dtype="<i8").tobytes())


class Data(RunTest):
    def setUp(self):
        super().setUp()
        with h5py.File(self.tokens) as file:
            self.train, self.validation = file["train"][()], file["validation"][()]
        write_nanogpt(self.folder / "v.bin", self.validation)

    def path(self, name):
        return self.folder / name

    def other(self, *files, **keys):
        """Overrides for a run on these training files and v.bin."""
        keys = {"data.format": '"nanogpt"', "data.vocabulary_size": 61, **keys}
        names = ", ".join(f'"{self.path(name)}"' for name in files)
        validation = keys.pop("data.validation", f'"{self.path("v.bin")}"')
        return [f"data.tokens=[{names}]", f"data.validation={validation}",
                *(f"{key}={value}" for key, value in keys.items())]

    def assert_same_run(self, a, b):
        self.assert_same_bits(a / "checkpoint_00000020.h5", b / "checkpoint_00000020.h5")
        self.assert_same_bits(a / "history.h5", b / "history.h5")

    def check_fails(self, arguments, status, *words, ranks=RANKS):
        for count in ranks:
            with self.subTest(ranks=count):
                result = run(["-i", self.deck, "-d", self.folder / "bad", *arguments], count,
                             timeout=60)
                self.assertEqual(result.returncode, status, result.stderr + result.stdout)
                lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
                self.assertEqual(len(lines), 1, result.stderr)
                for word in words:
                    self.assertIn(word, lines[0])

    def test_every_format_gives_the_bits_of_tokens_h5(self):
        reference = self.lexikos(name="reference")
        write_nanogpt(self.path("n.bin"), self.train)
        write_llmc(self.path("l.bin"), self.train)
        write_llmc(self.path("w.bin"), self.train, "<u4")
        write_megatron(self.path("m"), self.train)
        write_megatron(self.path("u"), self.train, "<u2", 8)
        write_llmc(self.path("lv.bin"), self.validation)
        auto = {"data.format": '"auto"', "data.validation": f'"{self.path("lv.bin")}"'}
        for name, keys in (("n.bin", {}), ("l.bin", auto), ("w.bin", auto), ("m.bin", auto),
                           ("u.idx", auto)):
            with self.subTest(file=name):
                self.assert_same_run(reference, self.lexikos(*self.other(name, **keys),
                                                             name="run_" + name))

    def test_shards_give_the_bits_of_one_file(self):
        reference = self.lexikos(name="reference")
        for k, (begin, end) in enumerate(((0, 7), (7, 1000), (1000, 1500))):
            write_nanogpt(self.path(f"s{k}.bin"), self.train[begin:end])
        shards = self.other("s0.bin", "s1.bin", "s2.bin")
        self.assert_same_run(reference, self.lexikos(*shards, name="shards"))
        apart = self.lexikos(*shards, "data.cross_shards=false", name="apart")
        self.assertFalse(np.array_equal(*(datasets(x / "history.h5")["history/train_loss"]
                                          for x in (reference, apart))))

    def test_reading_ahead_changes_no_bit(self):
        ahead = self.lexikos(name="ahead")
        self.assert_same_run(ahead, self.lexikos("data.read_ahead=false", name="plain"))
        with h5py.File(ahead / "history.h5") as file:
            data, steps = file["history/data_seconds"][()], file["history/seconds"][()]
        self.assertTrue((data > 0).all())
        self.assertTrue((data <= np.diff(steps, prepend=0) + 1e-9).all())

    def test_mixture_on_every_rank_count_and_over_a_restart(self):
        write_nanogpt(self.path("a.bin"), self.train[:700])
        write_megatron(self.path("b"), self.train[700:])
        mixture = [EMPTY, f'data.validation="{self.path("v.bin")}"', "data.format=nanogpt",
                   "data.vocabulary_size=61",
                   f'data.mixture.a.tokens="{self.path("a.bin")}"', "data.mixture.a.weight=3",
                   f'data.mixture.b.tokens="{self.path("b.bin")}"', "data.mixture.b.weight=1",
                   'data.mixture.b.format="auto"', "run.steps=40", "checkpoint.every=12",
                   "checkpoint.keep=0"]
        one = self.lexikos(*mixture, name="one")
        for ranks in (2, 3):
            several = self.lexikos(*mixture, ranks=ranks, name=f"ranks{ranks}")
            losses = [datasets(x / "history.h5")["history/train_loss"] for x in (one, several)]
            self.assertLess(np.abs(losses[0] - losses[1]).max(), rounding_of_losses(losses[0], steps=40))
        # 18 windows of b, and 150 of 200 samples of a, which has 43: many epochs of both end.
        again = self.lexikos(*mixture, "-r", one / "checkpoint_00000024.h5", name="again")
        self.assert_same_bits(one / "checkpoint_00000040.h5", again / "checkpoint_00000040.h5")
        self.assert_same_bits(one / "history.h5", again / "history.h5")
        swapped = [x.replace("weight=3", "weight=0.2") for x in mixture]
        other = self.lexikos(*swapped, name="swapped")
        self.assertFalse(np.array_equal(*(datasets(x / "history.h5")["history/train_loss"]
                                          for x in (one, other))))

    def test_document_mask(self):
        """The same tokens, documents by end of text and by index: the same bits; not those without."""
        ends = np.array(self.train)
        ends[ends == 60] = 0
        ends[36::37] = 60
        write_nanogpt(self.path("n.bin"), ends)
        write_megatron(self.path("m"), ends)
        write_megatron(self.path("mv"), self.validation)
        keys = {"data.format": '"auto"', "data.document_mask": "true",
                "data.validation": f'"{self.path("mv.bin")}"'}
        index = self.lexikos(*self.other("m.bin", **keys), name="index")
        write_llmc(self.path("l.bin"), ends)
        text = self.lexikos(*self.other("l.bin", **{**keys, "data.end_of_text": 60}), name="text")
        plain = self.lexikos(*self.other("m.bin", **{**keys, "data.document_mask": "false"}),
                             name="plain")
        found = [datasets(x / "history.h5") for x in (index, text, plain)]
        # Validation of the second run also ends documents at each id 60, so training is compared.
        losses = [x["history/train_loss"] for x in found]
        self.assertTrue(np.array_equal(losses[0], losses[1]))
        self.assertGreater(np.abs(losses[0] - losses[2]).max(), rounding_of_losses(losses[0]))
        self.assertFalse(np.array_equal(found[0]["validation/loss"][:1],
                                        found[2]["validation/loss"][:1]))
        self.check_fails(self.other("l.bin", **keys), DECK_ERROR, "l.bin", "data.end_of_text",
                         ranks=(0, 2))

    def test_bad_files(self):
        write_nanogpt(self.path("n.bin"), self.train)
        worst = np.array(self.train)
        worst[1234] = 61
        write_nanogpt(self.path("worst.bin"), worst)
        self.check_fails(self.other("n.bin", "worst.bin"), FILE, "61", "offset 1234",
                         "worst.bin", "byte 2468")
        write_llmc(self.path("l.bin"), self.train)
        whole = self.path("l.bin").read_bytes()
        self.path("l.bin").write_bytes(whole[:-100])
        self.check_fails(self.other("l.bin", **{"data.format": '"auto"'}), FILE, "l.bin",
                         "truncated at offset")
        self.check_fails(self.other("n.bin", **{"data.format": '"auto"'}), FILE, "n.bin",
                         'format = "nanogpt"')
        self.check_fails(self.other("n.bin", **{"data.vocabulary_size": 0}), DECK_ERROR,
                         "data.vocabulary_size", ranks=(0, 2))
        self.check_fails(self.other("n.bin", **{"data.validation": "[]"}), DECK_ERROR,
                         "data.validation", ranks=(0, 2))

    def test_changed_files_end_a_restart(self):
        write_nanogpt(self.path("a.bin"), self.train[:800])
        write_nanogpt(self.path("b.bin"), self.train[800:])
        keys = [*self.other("a.bin", "b.bin"), "checkpoint.every=10", "checkpoint.keep=0"]
        out = self.lexikos(*keys, name="straight")
        restart = [*keys, "-r", out / "checkpoint_00000010.h5"]
        changed = np.array(self.train[800:])
        changed[300] += 1
        write_nanogpt(self.path("b.bin"), changed)
        self.check_fails(restart, FILE, "b.bin", "contents", "data.allow_changed")
        write_nanogpt(self.path("b.bin"), self.train[800:-1])
        self.check_fails(restart, FILE, "b.bin", "1398 bytes and had 1400", ranks=(0,))
        allowed = run(["-i", self.deck, "-d", self.folder / "allowed", *restart,
                       "data.allow_changed=true"])
        self.assertEqual(allowed.returncode, 0, allowed.stderr)
        self.assertIn("going on", allowed.stdout)
        self.assertIn("b.bin", allowed.stdout)

        # Elsewhere, but the same: the bits of the straight run.
        (self.folder / "moved").mkdir()
        for name, part in (("a.bin", self.train[:800]), ("b.bin", self.train[800:])):
            write_nanogpt(self.folder / "moved" / name, part)
        moved = [*self.other("moved/a.bin", "moved/b.bin"), *keys[-2:]]
        again = self.lexikos(*moved, "-r", out / "checkpoint_00000010.h5", name="again")
        self.assert_same_run(out, again)

    def test_checkpoint_without_a_fingerprint(self):
        """As written before there were fingerprints, data_seconds and seals."""
        out = self.lexikos("checkpoint.every=10", "checkpoint.keep=0", name="straight")
        old = self.path("checkpoint_00000010.h5")
        old.write_bytes((out / old.name).read_bytes())
        with h5py.File(old, "r+") as file:
            file.attrs["format_version"] = 1
            del file.attrs["data_fingerprint"]
            del file["history/data_seconds"]
        again = run(["-i", self.deck, "-d", self.folder / "again", "-r", old])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("does not tell which token files", again.stdout)
        self.assert_same_run(out, self.folder / "again")

    def test_step_line_shows_the_seconds_of_data(self):
        result = run(["-i", self.deck, "-d", self.folder / "run"])
        lines = [x for x in result.stdout.splitlines() if x.startswith("step=")]
        self.assertTrue(lines)
        for line in lines:
            values = dict(word.split("=", 1) for word in line.split())
            self.assertGreater(float(values["data"]), 0)
        self.assertIn("data tokens.h5, mapped: 1,500 tokens, 93 windows of 16 an epoch, 12 tokens "
                      "left over", result.stdout)


if __name__ == "__main__":
    unittest.main()
