"""Job `evaluate` on the requests of evaluation tasks: the same results for any ranks and batches, every request once, and
what is refused."""

import json
import math
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import SOURCE, RunTest, datasets, likely_rounding_of_logits, rounding_of_sums, run, write_tokens  # noqa: E402

sys.path.insert(0, str(SOURCE))
from postprocess.guard import seal  # noqa: E402

MODEL = ("embedding.interface=lev", "run.steps=30", "transformer.context=64", "batch.tokens=320")


class TaskRun(RunTest):
    def setUp(self):
        super().setUp()
        write_tokens(self.tokens, vocabulary=257)

    def requests(self, questions=9, name="requests.h5", arguments=()):
        """Questions of four kinds, with bytes as ids; some are longer than T."""
        words = "ab abc a b c bc cab bac".split()
        put = {"piqa": [{"goal": " ".join(words[: i % 8]), "sol1": "a" * (i + 1), "sol2": "bc" * (i % 5 + 1), "label": i % 2}
                        for i in range(questions)],
               "arc_easy": [{"question": "abc " * (i % 20), "answerKey": "B",
                             "choices": {"text": ["a", "bb", "a b", "é"], "label": ["A", "B", "C", "D"]}}
                            for i in range(questions)],
               "lambada_openai": [{"text": "ab c " * (i + 1) + "bca"} for i in range(questions)],
               "wikitext": [{"page": "a b c " * (9 * i + 1)} for i in range(questions)]}
        tasks = []
        for task, records in put.items():
            path = self.folder / f"{task}.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
            tasks += ["--task", f"{task}={path}"]
        out = self.folder / name
        done = subprocess.run([sys.executable, str(SOURCE / "inputs/prepare/prepare.py"), "tasks", "--out", str(out),
                               "--tokenizer", "bytes", *tasks, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def evaluate(self, out, requests, *arguments, ranks=0):
        result = run(["-i", self.deck, "-d", out, "job=tasks", f"tasks.requests={requests}", *MODEL, *arguments], ranks)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return datasets(out / "tasks.h5"), result.stdout


class Tasks(TaskRun):
    def assert_same(self, found, reference):
        scored = reference["requests/scored"]
        one = likely_rounding_of_logits(reference["requests/log_likelihood"] / scored, context=64)
        # Of sums of fp32 losses with errors of their own: of a request's ids; of a task's, at most all.
        limits = {"requests/log_likelihood": one * scored ** 0.5, "metrics/numerator": one * scored.sum() ** 0.5}
        for name, value in reference.items():
            if name in limits:
                self.assertTrue((np.abs(found[name] - value) <= limits[name]).all(), name)
            else:
                np.testing.assert_array_equal(found[name], value, name)

    def test_ranks_and_batches(self):
        """Also with 5 documents of each task on 3 ranks: fewer rows than room for them."""
        out = self.lexikos(*MODEL)
        one, many, apart = "batch.micro_batch=1", "batch.tokens=3072", "tasks.share_contexts=false"
        for count, runs in ((9, ((0, one), (0, many), (0, apart), (2,), (3, one), (3, many))), (5, ((2, many), (3, many)))):
            requests = self.requests(count)
            reference, _ = self.evaluate(out, requests)
            self.assertGreater(np.ptp(reference["requests/log_likelihood"]), 10.0)
            for ranks, *more in runs:
                with self.subTest(count=count, ranks=ranks, more=more):
                    self.assert_same(self.evaluate(out, requests, *more, ranks=ranks)[0], reference)

    def test_every_id_is_scored_once(self):
        out = self.lexikos(*MODEL)
        requests = self.requests()
        found, text = self.evaluate(out, requests, "data.tokens=not_here.h5", ranks=2)
        with h5py.File(requests) as file:
            lengths = np.diff(file["continuations/begin"][()])
            rolling = file["documents/task"][()] == 3
            for name in ("documents/gold", "documents/words", "documents/bytes", "requests/code_points", "requests/bytes"):
                np.testing.assert_array_equal(file[name][()], found[name])
        np.testing.assert_array_equal(found["requests/scored"], np.minimum(lengths, np.where(
            rolling[np.repeat(np.arange(rolling.size), np.diff(found["documents/first_request"]))], lengths, 64)))
        self.assertGreater(found["requests/scored"].max(), 3 * 64)
        self.assertIn("longer than T + 1 = 65 ids", text)
        with h5py.File(out / "tasks.h5") as file:
            self.assertEqual(file.attrs["format"], "lexikos-tasks")
            self.assertEqual(file.attrs["checkpoint"], "checkpoint_00000030.h5")
            self.assertEqual(file.attrs["tokenizer"], "bytes")
            self.assertIn("the right choice", file.attrs["definition"])

    def test_the_console_says_the_metrics(self):
        out = self.lexikos(*MODEL)
        found, text = self.evaluate(out, self.requests())
        values = found["requests/log_likelihood"]
        right = [int(np.argmax(values[2 * i : 2 * i + 2]) == i % 2) for i in range(9)]
        line = next(line for line in text.splitlines() if line.startswith("piqa: 9 documents"))
        self.assertEqual(float(line.split("acc ")[1].split(",")[0]), sum(right) / 9)
        pages = slice(-9, None)
        line = next(line for line in text.splitlines() if line.startswith("wikitext"))
        expected = math.exp(-values[pages].sum() / found["documents/words"][pages].sum())
        # An exponential's relative error is its argument's absolute one: of nine pages' sums.
        printed = float(line.split("word_perplexity ")[1].split(",")[0])
        self.assertAlmostEqual(printed / expected, 1.0, delta=rounding_of_sums(9, math.log(expected)))

    def test_members_of_a_sweep(self):
        sweep = "sweep.seed=[1, 2]"
        out = self.lexikos(*MODEL, sweep)
        self.evaluate_sweep(out, sweep)
        one, two = (datasets(out / member / "tasks.h5")["requests/log_likelihood"] for member in ("seed1", "seed2"))
        self.assertGreater(np.abs(one - two).max(), 0.01)

    def evaluate_sweep(self, out, sweep):
        result = run(["-i", self.deck, "-d", out, "job=tasks", f"tasks.requests={self.requests(5)}", *MODEL, sweep])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("member seed2", result.stdout)
        self.assertNotIn("nan", result.stdout)


class Refusals(TaskRun):
    def refused(self, out, requests, *words, on=(0,)):
        for ranks in on:
            result = run(["-i", self.deck, "-d", out, "job=tasks", f"tasks.requests={requests}", *MODEL], ranks)
            self.assertEqual(result.returncode, 3, result.stderr + result.stdout)
            lines = [line for line in result.stderr.splitlines() if "lexikos: error:" in line]
            self.assertEqual(len(lines), 1, result.stderr)
            for word in words:
                self.assertIn(word, lines[0])

    def altered(self, good, alter):
        """A copy with something changed, sealed again."""
        path = self.folder / "altered.h5"
        shutil.copy(good, path)
        path.write_bytes(path.read_bytes()[:-32])
        with h5py.File(path, "r+") as file:
            alter(file)
        content = path.read_bytes()
        path.write_bytes(content + seal.seal_of(content))
        return path

    def test_refusals(self):
        out = self.lexikos(*MODEL)
        good = self.requests(5)
        damaged = self.folder / "damaged.h5"
        content = bytearray(good.read_bytes())
        content[-200] ^= 1
        damaged.write_bytes(content)
        self.refused(out, damaged, "damaged.h5' is damaged", on=(0, 2))
        damaged.write_bytes(content[:-40])
        self.refused(out, damaged, "damaged.h5")
        self.refused(out, self.folder / "none.h5", "none.h5", "tasks.requests")
        self.refused(out, self.tokens, "lexikos-requests")

        def set_entry(name, index, value):
            def alter(file):
                file[name][index] = value
            return alter

        self.refused(out, self.altered(good, lambda file: file.attrs.update(format_version=2)), "newer")
        self.refused(out, self.altered(good, set_entry("continuations/ids", 7, 257)),
                     "/continuations/ids: id 257 at 7 is not below the model's vocabulary size 257")
        self.refused(out, self.altered(good, set_entry("requests/context", 2, 10000)), "/requests/context[2] is 10000")
        self.refused(out, self.altered(good, set_entry("contexts/begin", 1, 0)), "/contexts/begin[1]")
        self.refused(out, self.altered(good, set_entry("documents/gold", 0, 2)), "right choice of document 0 is number 2 of 2")

    def test_another_tokenizer(self):
        with h5py.File(self.tokens, "a") as file:
            file.attrs["tokenizer_hash"] = "a" * 64
        out = self.lexikos(*MODEL)
        self.refused(out, self.requests(5), "another tokenizer", "aaaaaaaaaaaa", "(bytes, e3b0c44298fc")


if __name__ == "__main__":
    unittest.main()
