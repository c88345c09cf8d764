"""The jobs `evaluate` and `bake`: the same loss as training saw, by frequency, for any ranks."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import (INTERFACES, RunTest, datasets, likely_rounding_of_logits, rounding_of_logits,  # noqa: E402
                          rounding_of_sums, run, write_tokens)

EDGES = "validation.frequency_edges=[0.01, 0.016, 0.02]"


class Evaluate(RunTest):
    def evaluate(self, folder, *arguments, ranks=0):
        result = run(["-i", self.deck, "-d", folder, "job=evaluate", EDGES, *arguments], ranks)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return datasets(folder / "evaluation.h5"), result.stdout

    def test_what_training_saw(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                chosen = f"embedding.interface={interface}"
                out = self.lexikos(chosen, EDGES, name=interface)
                history = datasets(out / "history.h5")
                found, _ = self.evaluate(out, chosen)
                self.assertEqual(found["validation/step"].tolist(), [20])
                for column in ("loss", "targets", "tokens", "perplexity"):
                    self.assertEqual(found[f"validation/{column}"][-1],
                                     history[f"validation/{column}"][-1], column)
                for column in ("lower", "upper", "ids", "targets", "loss"):
                    np.testing.assert_array_equal(found[f"frequency/{column}"],
                                                  history[f"frequency/{column}"][-4:], column)

    def test_bins(self):
        out = self.lexikos(EDGES)
        found = datasets(out / "history.h5")
        evaluations = len(found["validation/step"])
        self.assertEqual(len(found["frequency/step"]), 4 * evaluations)
        targets = found["frequency/targets"].reshape(evaluations, 4)
        nats = found["frequency/loss"].reshape(evaluations, 4)
        total = np.nansum(targets * nats, axis=1) / targets.sum(axis=1)
        # Both are means of the same 160 losses in fp64.
        np.testing.assert_allclose(total, found["validation/loss"], rtol=rounding_of_sums(160, 1.0))
        # Ids and targets of each bin, counted from the tokens file.
        with h5py.File(self.tokens) as file:
            frequency = file["train_counts"][()] / len(file["train"])
            windows = [i * 24 // 10 for i in range(10)]  # 160 of 400 tokens, T = 16, spread evenly
            scored = np.concatenate([file["validation"][16 * w + 1:16 * w + 17] for w in windows])
        edges = [0, 0.01, 0.016, 0.02, np.inf]
        bin_of = np.searchsorted(edges, frequency, side="right") - 1
        np.testing.assert_array_equal(found["frequency/ids"][:4], np.bincount(bin_of, minlength=4))
        np.testing.assert_array_equal(targets[-1], np.bincount(bin_of[scored], minlength=4))
        self.assertTrue(np.all(targets[-1] > 0), "the edges must put targets into every bin")

    def test_ranks_and_micro_batch(self):
        out = self.lexikos("embedding.interface=lev")
        one, _ = self.evaluate(out, "embedding.interface=lev")
        # Absolute for losses; relative for their exponentials. Counts and edges are the same in any case.
        limit = likely_rounding_of_logits(one["validation/loss"])
        for ranks, micro in ((2, 0), (3, 1), (0, 2)):
            found, _ = self.evaluate(out, "embedding.interface=lev", f"batch.micro_batch={micro}",
                                     ranks=ranks)
            for name, value in one.items():
                np.testing.assert_allclose(found[name], value, rtol=limit, atol=limit, err_msg=name)

    def test_says_what_it_means(self):
        out = self.lexikos()
        _, text = self.evaluate(out)
        for words in ("nats per token over 160 targets", "per word", "bits per byte", "0.016 to 0.02"):
            self.assertIn(words, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80 + len(str(out)))
        with h5py.File(out / "evaluation.h5") as file:
            self.assertEqual(file.attrs["format"], "lexikos-evaluation")
            self.assertEqual(file.attrs["checkpoint"], "checkpoint_00000020.h5")
            self.assertIn("exp(loss)", file.attrs["definition"])

    def test_a_chosen_checkpoint(self):
        out = self.lexikos("checkpoint.every=10", "checkpoint.keep=0")
        found, _ = self.evaluate(out, "-r", out / "checkpoint_00000010.h5")
        self.assertEqual(found["validation/step"].tolist(), [10])

    def test_bake(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                chosen = f"embedding.interface={interface}"
                out = self.lexikos(chosen, EDGES, name="b" + interface)
                loss, _ = self.evaluate(out, chosen)
                result = run(["-i", self.deck, "-d", out, "job=bake", chosen])
                self.assertEqual(result.returncode, 0, result.stderr)
                baked = out / "baked"
                result = run(["-i", baked / "deck.toml", "job=evaluate", EDGES])
                self.assertEqual(result.returncode, 0, result.stderr)
                again = datasets(baked / "evaluation.h5")
                np.testing.assert_allclose(again["frequency/loss"], loss["frequency/loss"], rtol=0,
                                           atol=rounding_of_logits(loss["frequency/loss"]))
                # The table is the one that analysis reads.
                table = datasets(baked / "checkpoint_00000020.h5")["parameters/embedding.untied.table"]
                read = datasets(out / "embedding.h5")["input"]
                np.testing.assert_allclose(table, read, rtol=0, atol=likely_rounding_of_logits(read))
                again = run(["-i", self.deck, "-d", out, "job=bake", chosen])
                self.assertEqual(again.returncode, 3)
                self.assertIn("is there already", again.stderr)
        # A baked model goes on being trained.
        result = run(["-i", baked / "deck.toml", "run.steps=22", "-r", "latest"])
        self.assertEqual(result.returncode, 0, result.stderr)


class Refusals(RunTest):
    def refused(self, status, *words, arguments=()):
        for ranks in (0, 2):
            result = run(["-i", self.deck, "-d", self.folder / "run", *arguments], ranks)
            self.assertEqual(result.returncode, status, result.stderr + result.stdout)
            lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
            self.assertEqual(len(lines), 1, result.stderr)
            for word in words:
                self.assertIn(word, lines[0])

    def test_nothing_to_evaluate(self):
        for job in ("evaluate", "bake"):
            self.refused(3, "no checkpoint in", "job=train", arguments=[f"job={job}"])

    def test_another_model(self):
        self.lexikos("embedding.interface=binary_code", "embedding.binary_code.recoding=affine")
        self.refused(2, "embedding.binary_code.seed is 9 and was 1", arguments=[
            "job=evaluate", "embedding.interface=binary_code",
            "embedding.binary_code.recoding=affine", "embedding.binary_code.seed=9"])
        self.refused(2, "transformer.heads is 4 and was 2", arguments=[
            "embedding.interface=binary_code", "embedding.binary_code.recoding=affine",
            "transformer.heads=4", "-r", "latest"])
        self.refused(3, "embedding.untied.table is missing", arguments=[
            "job=evaluate", "embedding.interface=untied"])

    def test_tokens_of_another_tokenizer(self):
        with h5py.File(self.tokens, "a") as file:
            file.attrs["tokenizer_hash"] = "a" * 64
        self.lexikos()
        other = self.folder / "other.h5"
        write_tokens(other)
        with h5py.File(other, "a") as file:
            file.attrs["tokenizer_hash"] = "b" * 64
        for more in (["job=evaluate"], ["-r", "latest", "run.steps=30"]):
            self.refused(3, "another tokenizer", "aaaaaaaaaaaa", "bbbbbbbbbbbb",
                         arguments=[f"data.tokens={other}", *more])

    def test_edges(self):
        for edges, words in (("[0.1, 0.1]", "must increase"), ("[0.2, 0.1]", "0.1 comes after 0.2"),
                             ("[0.0, 0.1]", "above 0"), ("[1.0]", "below 1"), ("0.1", "frequency_edges")):
            self.refused(2, "validation.frequency_edges", words,
                         arguments=[f"validation.frequency_edges={edges}"])


if __name__ == "__main__":
    unittest.main()
