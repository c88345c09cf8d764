"""Numbers that are not finite at every door: brought by a file (3), or arisen here (4), by tensor, row and column."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import llama  # noqa: E402
from harness.runs import RunTest, run  # noqa: E402

FILE, NUMERICAL = 3, 4


def change(path, name, place, value):
    """A checkpoint with one element (or all, place = ...) changed, of format version 1, which has no seal."""
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = np.int64(1)
        file[name][place] = value


class NotFiniteTest(RunTest):
    def refused(self, status, arguments, *words, ranks=0):
        result = run(arguments, ranks)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
        self.assertEqual(len(lines), 1, result.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        return result

    def trained(self, *arguments):
        out = self.lexikos("run.steps=1", "embedding.interface=untied", *arguments)
        return out, out / "checkpoint_00000001.h5"

    def job(self, out, name, *arguments):
        return ["-i", self.deck, "-d", out, f"job={name}", "run.steps=1", "embedding.interface=untied", *arguments]

    def doors(self, out):
        """Every job on a trained model."""
        yield "evaluate", self.job(out, "evaluate")
        yield "sample", self.job(out, "sample", "sample.prompt_ids=[5, 9]")
        yield "bake", self.job(out, "bake")
        yield "export", self.job(out, "export")
        yield "train", ["-i", self.deck, "-d", out, "-r", "latest", "embedding.interface=untied"]


class FromFiles(NotFiniteTest):
    def test_checkpoints(self):
        out, path = self.trained()
        change(path, "parameters/transformer.0.qkv", (2, 7), np.nan)
        for name, arguments in self.doors(out):
            with self.subTest(name):
                self.refused(FILE, arguments, path.name, "'transformer.0.qkv' has nan at row 2, column 7")
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(list(file["history/step"]), [1])
        capacity = self.folder / "capacity.toml"
        capacity.write_text(f'job = "capacity"\n[capacity]\nfiles = ["{path}"]\n')
        change(path, "parameters/head.weight", (60, 31), -np.inf)
        self.refused(FILE, ["-i", capacity, "-d", self.folder / "c"], "head.weight", "row 60, column 31 is -inf")

    def test_moments(self):
        out, path = self.trained()
        change(path, "moment2/head.weight", (3, 0), np.inf)
        self.refused(FILE, list(self.doors(out))[-1][1], "second moment of 'head.weight' has inf at row 3, column 0")
        self.assertEqual(run(self.job(out, "evaluate")).returncode, 0)  # which does not ask for it

    def test_import(self):
        for dtype, value, said in (("F32", np.nan, "nan"), ("F16", np.inf, "inf"), ("BF16", -np.inf, "-inf"),
                                   ("F64", 1e300, "1e+300, which is too large for fp32"),
                                   ("F64", -3.5e38, "too large for fp32")):
            with self.subTest(dtype=dtype, value=value):
                config, tensors = llama.random_model()
                name = "model.layers.1.mlp.up_proj.weight"
                tensors[name] = tensors[name].astype("f8")
                tensors[name][39, 30] = value
                llama.write_folder(self.folder / "m", config, tensors, dtype=dtype)
                deck = self.folder / "import.toml"
                deck.write_text(f'[run]\nsteps = 1\n[import]\nfolder = "{self.folder / "m"}"\n')
                for ranks in (0, 2):
                    self.refused(FILE, ["-i", deck, "job=import", "-d", self.folder / "out"], name,
                                 "row 39, column 30", said, ranks=ranks)
                self.assertFalse((self.folder / "out").exists())

    def test_import_of_a_vector(self):
        config, tensors = llama.random_model()
        tensors["model.norm.weight"][17] = np.nan
        llama.write_folder(self.folder / "m", config, tensors)
        self.deck.write_text(f'[run]\nsteps = 1\n[import]\nfolder = "{self.folder / "m"}"\n')
        self.refused(FILE, ["-i", self.deck, "job=import", "-d", self.folder / "out"], "model.norm.weight",
                     "column 17 is nan")


class ArisenHere(NotFiniteTest):
    def test_finite_weights_and_no_finite_result(self):
        out, path = self.trained()
        change(path, "parameters/head.weight", ..., 3e38)
        result = self.refused(NUMERICAL, self.job(out, "evaluate"), "the loss of", "160 validation targets", "nan")
        self.assertNotIn("loss -", result.stdout)
        self.assertFalse((out / "evaluation.h5").exists())
        self.refused(NUMERICAL, self.job(out, "sample", "sample.prompt_ids=[5, 9]"), "the logit of id", "after 2 ids")
        self.assertFalse((out / "samples.txt").exists())
        self.refused(NUMERICAL, list(self.doors(out))[-1][1], "is not finite at step 2")

    def test_export_in_bf16(self):
        """A value of fp32 that bf16 rounds up to infinity."""
        out, path = self.trained()
        change(path, "parameters/transformer.1.up", (41, 3), 3.4e38)
        self.refused(NUMERICAL, self.job(out, "export", "export.precision=bf16"),
                     "'model.layers.1.mlp.gate_proj.weight' has 3.4e+38 at row 41, column 3", "too large for BF16")
        self.assertEqual([x.name for x in out.glob("exported*")], [])
        self.assertEqual(run(self.job(out, "export")).returncode, 0)

    def test_interfaces_that_overflow(self):
        """Finite parameters whose table has infinite rows."""
        here = ("embedding.interface=albert", "embedding.albert.rank=4")
        out = self.lexikos("run.steps=1", *here)
        with h5py.File(out / "checkpoint_00000001.h5") as file:
            names = [x for x in file["parameters"] if x.startswith("embedding.")]
        for name in names:
            change(out / "checkpoint_00000001.h5", f"parameters/{name}", ..., 3e30)
        for job, said in (("bake", "'embedding.untied.table' has inf at row 0, column 0"),
                          ("export", "'model.embed_tokens.weight' has inf at row 0, column 0")):
            arguments = ["-i", self.deck, "-d", out, f"job={job}", "run.steps=1", *here]
            self.refused(NUMERICAL, arguments, said)
        self.assertEqual([x.name for x in out.glob("exported*")], [])
        self.assertFalse(list((out / "baked").glob("checkpoint_*")) if (out / "baked").exists() else [])

    def test_a_last_update_that_leaves_the_numbers(self):
        """The state before stays: none is written that is not finite, with validation and without."""
        for every in (0, 1):
            with self.subTest(every=every):
                out = self.folder / f"every{every}"
                self.refused(NUMERICAL, ["-i", self.deck, "-d", out, "run.steps=1", f"validation.every={every}",
                                         "optimizer.learning_rate=1e30", "optimizer.weight_decay=1e6",
                                         "transformer.init_deviation=1e3", "optimizer.warmup_steps=0"],
                             "lower optimizer.learning_rate")
                self.assertFalse(list(out.glob("checkpoint_*")))
                self.assertFalse((out / "embedding.h5").exists())
                with h5py.File(out / "history.h5") as file:  # what was measured before is kept
                    self.assertEqual(list(file["history/step"]), [1])
                    self.assertEqual(file.attrs["status"], "stopped")


class NeverMeasured(NotFiniteTest):
    def test_stopped_before_any_validation(self):
        """And members that did not run, of a sweep that was stopped."""
        self.deck.write_text(self.deck.read_text() + '[sweep]\n"embedding.interface" = ["tied", "untied"]\n')
        result = run(["-i", self.deck, "-d", self.folder / "run", "-t", "00:00:02", "validation.every=0",
                      "run.steps=10000000", "checkpoint.every=0"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"tied +- +- +[0-9,]+ +[0-9]+ +to be continued")
        self.assertRegex(result.stdout, r"untied +- +- +- +- +not run")
        self.assertIn("-: not measured", result.stdout)


if __name__ == "__main__":
    unittest.main()
