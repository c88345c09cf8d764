"""The job `sample`: ids that follow only from seed, sample and place."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import RunTest, rounding_of_logits, run  # noqa: E402

PROMPT = [5, 0, 60]


class Sample(RunTest):

    def setUp(self):
        super().setUp()
        self.out = self.lexikos("run.steps=10", "optimizer.learning_rate=1e-2", "validation.every=0")

    def sample(self, *arguments, ranks=0):
        """The texts of samples.txt, and what was printed."""
        result = run(["-i", self.deck, "-d", self.out, "job=sample", f"sample.prompt_ids={PROMPT}",
                      *arguments], ranks)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        first, *lines = (self.out / "samples.txt").read_text().splitlines()
        self.assertTrue(first.startswith("# "))
        return [[int(x) for x in line.split()] for line in lines], result.stdout

    def test_draws(self):
        many = "sample.samples=9"
        texts, printed = self.sample(many, "sample.tokens=8")
        self.assertEqual(len(texts), 9)
        for i, text in enumerate(texts):
            self.assertEqual(text[:3], PROMPT)
            self.assertEqual(len(text), 11)
            self.assertIn(f"sample {i}: " + " ".join(map(str, text[3:])), printed)
        self.assertGreater(len({tuple(x) for x in texts}), 5)
        # However many lie side by side, on whatever ranks; and however many are asked for.
        for micro in (1, 2, 4):
            self.assertEqual(self.sample(many, "sample.tokens=8", f"batch.micro_batch={micro}")[0],
                             texts)
        self.assertEqual(self.sample(many, "sample.tokens=8", ranks=2)[0], texts)
        self.assertEqual(self.sample("sample.samples=2", "sample.tokens=8")[0], texts[:2])
        self.assertEqual(self.sample(many, "sample.tokens=5")[0], [x[:8] for x in texts])
        self.assertNotEqual(self.sample(many, "sample.tokens=8", "sample.seed=2")[0], texts)
        # The prompt as it stands in a file.
        ids = self.folder / "prompt.txt"
        ids.write_text("# what was asked 7\n5 0\n\n 60 # end\n")
        self.assertEqual(self.sample(many, "sample.tokens=8", "sample.prompt_ids=[]",
                                     f"sample.prompt_file={ids}")[0], texts)

    def test_the_likeliest(self):
        (greedy,), _ = self.sample("sample.temperature=0", "sample.tokens=13", "sample.logits=true")
        (cut,), _ = self.sample("sample.top_p=1e-9", "sample.tokens=13")
        self.assertEqual(greedy, cut)
        with h5py.File(self.out / "logits.h5") as file:
            logits, ids = file["logits"][()], file["ids"][()]
        # The last id is predicted from the one before; its own logits were not needed.
        self.assertEqual(ids.tolist(), greedy[:-1])
        self.assertEqual(logits.shape, (15, 61))
        self.assertEqual(np.argmax(logits, axis=1)[2:].tolist(), greedy[3:])
        # The same text as a prompt: the cached path and the full forward.
        self.sample(f"sample.prompt_ids={greedy[:-1]}", "sample.tokens=0", "sample.logits=true")
        with h5py.File(self.out / "logits.h5") as file:
            np.testing.assert_allclose(file["logits"][()], logits, rtol=0, atol=rounding_of_logits(logits))

    def test_full_context(self):
        texts, printed = self.sample("sample.tokens=50", "sample.samples=2")
        self.assertEqual([len(x) for x in texts], [17, 17])
        self.assertIn("stops after 14 of 50 tokens: the context of T = 16 is full", printed)
        texts, printed = self.sample("sample.tokens=14")
        self.assertNotIn("stops", printed)
        longest = list(range(16))
        (text,), _ = self.sample(f"sample.prompt_ids={longest}", "sample.tokens=1")
        self.assertEqual(text[:16], longest)
        self.assertEqual(len(text), 17)

    def test_stop(self):
        texts, _ = self.sample("sample.samples=6", "sample.tokens=10")
        stop = texts[0][6]
        ended, _ = self.sample("sample.samples=6", "sample.tokens=10", f"sample.stop_id={stop}")
        for before, after in zip(texts, ended):
            end = before.index(stop, 3) + 1 if stop in before[3:] else len(before)
            self.assertEqual(after, before[:end])
        self.assertLess(len(ended[0]), len(texts[0]))

    def test_refusals(self):
        bad = self.folder / "bad.txt"
        bad.write_text("1 2\n3 four\n")
        for status, words, arguments in (
                (2, "one of sample.prompt_ids and sample.prompt_file", []),
                (2, "17 ids and the model sees T = 16", [f"sample.prompt_ids={list(range(17))}"]),
                (2, "id 61 and the model knows 61", ["sample.prompt_ids=[1, 61]"]),
                (2, "sample.top_p", ["sample.prompt_ids=[1]", "sample.top_p=0"]),
                (3, "bad.txt' line 2: 'four'", [f"sample.prompt_file={bad}"]),
                (3, "nowhere", ["sample.prompt_file=nowhere"]),
                (3, "no checkpoint in", ["sample.prompt_ids=[1]", "-d", self.folder / "empty"])):
            folder = [] if "-d" in arguments else ["-d", self.out]
            for ranks in (0, 2):
                result = run(["-i", self.deck, *folder, "job=sample", *arguments], ranks)
                self.assertEqual(result.returncode, status, result.stderr + result.stdout)
                lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
                self.assertEqual(len(lines), 1, result.stderr)
                self.assertIn(words, lines[0])


if __name__ == "__main__":
    unittest.main()
