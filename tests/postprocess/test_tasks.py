"""postprocess tasks: metrics and their errors against hand-made log-likelihoods, over seeds and in the report."""

import csv
import io
import math
import unittest
from pathlib import Path

import h5py
import numpy as np
from scipy import stats

from example_run import DECK
from folder_case import PLACES, Folder

from postprocess import reader, style
from postprocess.analysis import tasks as task_table, variants
from postprocess.figures import tasks as task_figure

GOLD = [0, 1, 1, 0, 1, 0]
# Choices of 4 code points each, the second of twice the bytes; the last question is a tie.
CHOICES = np.array([[-8.0, -9.0], [-8.0, -9.0], [-9.0, -8.0], [-9.0, -8.0], [-8.0, -10.0], [-7.0, -7.0]])
WORDS, GREEDY = np.array([-1.0, -2.5, -4.0]), np.array([1, 0, 1])
PAGES, PAGE_WORDS, PAGE_BYTES = np.array([-50.0, -70.0]), np.array([10, 20]), np.array([60, 90])


def write_tasks(folder: Path, member: str, seed: int, interface: str, choices=CHOICES, words=WORDS, gold=GOLD, **changes):
    """A tasks.h5 with a question task, a last-word task and pages."""
    folder.mkdir(parents=True, exist_ok=True)
    questions, lasts, pages = len(choices), len(words), len(PAGES)
    documents = questions + lasts + pages
    with h5py.File(folder / "tasks.h5", "w") as file:
        file.attrs.update({"format": "lexikos-tasks", "format_version": 2, "member": member,
                           "deck": DECK.format(width=16, member=member, tokens="t.h5", seed=seed, interface=interface),
                           **changes})
        text = h5py.string_dtype("utf-8")
        for name, values in {"name": ["quiz", "words", "pages"],
                             "description": ["quiz.jsonl: all", "words.jsonl: all", "pages: all"]}.items():
            file.create_dataset(f"tasks/{name}", data=values, dtype=text)
        per_document = [2] * questions + [1] * (lasts + pages)
        for name, values in {"task": [0] * questions + [1] * lasts + [2] * pages, "gold": list(gold) + [0] * (lasts + pages),
                             "first_request": np.concatenate([[0], np.cumsum(per_document)])}.items():
            file[f"documents/{name}"] = np.array(values, np.int64)
        assert len(per_document) == documents
        file["requests/code_points"] = np.array([4, 4] * questions + [5] * (lasts + pages))
        write_metrics(file, metrics_of(choices, gold, words), text)


def metrics_of(choices, gold, words) -> list[tuple]:
    """(row of /tasks, name, numerators, weights, exponential, chance), as the executable would find them."""
    right = {name: np.argmax(choices / lengths, axis=1) == gold for name, lengths in
             (("acc", [1, 1]), ("acc_norm", [4, 4]), ("acc_bytes", [4, 8]))}
    found = [(0, name, each, np.ones(len(choices)), 0, 0.5) for name, each in right.items()]
    found += [(1, "acc", GREEDY, np.ones(len(words)), 0, math.nan),
              (1, "perplexity", -words, np.ones(len(words)), 1, math.nan)]
    return found + [(2, "word_perplexity", -PAGES, PAGE_WORDS, 1, math.nan),
                    (2, "byte_perplexity", -PAGES, PAGE_BYTES, 1, math.nan),
                    (2, "bits_per_byte", -PAGES / math.log(2.0), PAGE_BYTES, 0, math.nan)]


def write_metrics(file: h5py.File, found: list[tuple], text) -> None:
    task, names, numerators, weights, exponential, chance = zip(*found)
    file.create_dataset("metrics/name", data=names, dtype=text)
    file["metrics/task"], file["metrics/chance"] = np.array(task, np.int64), np.array(chance)
    file["metrics/exponential"] = np.array(exponential, np.uint8)
    file["metrics/first"] = np.cumsum([0, *map(len, weights)])
    file["metrics/numerator"], file["metrics/weight"] = (np.concatenate(part).astype(float) for part in (numerators, weights))


class Tasks(Folder):
    def write(self, variant: str, seed: int, **settings):
        name = f"{variant}-seed{seed}"
        write_tasks(self.run_folder / name, name, seed, variant, **settings)

    def rows(self, *arguments: object) -> dict[tuple[str, str, str], dict[str, str]]:
        text = self.succeed("tasks", self.run_folder, "--csv", *arguments)
        return {(row["task"], row["metric"], row["variant"]): row for row in csv.DictReader(io.StringIO(text))}

    def number(self, rows, task, metric, key, variant="tied"):
        return float(rows[task, metric, variant][key])


class Metrics(Tasks):
    def test_values_and_errors(self):
        self.write("tied", 1)
        rows = self.rows()
        right = {"acc": [1, 0, 1, 0, 0, 1], "acc_norm": [1, 0, 1, 0, 0, 1], "acc_bytes": [0, 1, 1, 0, 1, 0]}
        for metric, each in right.items():
            self.assertEqual(self.number(rows, "quiz", metric, "value"), np.mean(each))
            self.assertAlmostEqual(self.number(rows, "quiz", metric, "stderr"), stats.sem(each), PLACES)
            self.assertEqual(rows["quiz", metric, "tied"]["documents"], "6")
        self.assertEqual(self.number(rows, "quiz", "acc", "chance"), 0.5)
        self.assertEqual(self.number(rows, "words", "acc", "value"), 2 / 3)
        perplexity = math.exp(2.5)  # of three documents, not of their ids
        self.assertAlmostEqual(self.number(rows, "words", "perplexity", "value"), perplexity, PLACES)
        self.assertAlmostEqual(self.number(rows, "words", "perplexity", "stderr"), perplexity * stats.sem(WORDS), PLACES)
        for metric, expected in (("word_perplexity", math.exp(120 / 30)), ("byte_perplexity", math.exp(120 / 150)),
                                 ("bits_per_byte", 120 / 150 / math.log(2))):
            self.assertAlmostEqual(self.number(rows, "pages", metric, "value"), expected, PLACES)
        # Of a ratio of sums: the jackknife gives the same order of magnitude.
        leave_one_out = np.array([70 / 20, 50 / 10])
        jackknife = math.sqrt(0.5 * ((leave_one_out - leave_one_out.mean())**2).sum())
        self.assertAlmostEqual(self.number(rows, "pages", "word_perplexity", "stderr") / math.exp(4) / jackknife, 1.0, delta=0.3)

    def test_over_seeds(self):
        random = np.random.default_rng(3)
        shift = {name: [0.6 * random.normal(size=CHOICES.shape) for _ in range(3)] for name in ("tied", "lev")}
        for seed in range(3):
            for name in ("tied", "lev"):
                self.write(name, seed, choices=CHOICES + shift[name][seed], words=WORDS + shift[name][seed][:3, 0])
        rows = self.rows()
        each = {name: [np.exp(-(WORDS + shift[name][s][:3, 0]).mean()) for s in range(3)] for name in shift}
        row = rows["words", "perplexity", "lev"]
        self.assertAlmostEqual(float(row["value"]), stats.gmean(each["lev"]), PLACES)
        self.assertAlmostEqual(float(row["value_sd"]), np.std(each["lev"], ddof=1), PLACES)
        difference = np.log(each["lev"]) - np.log(each["tied"])
        self.assertAlmostEqual(float(row["task_difference"]), difference.mean(), PLACES)
        low, high = stats.t.interval(0.95, 2, difference.mean(), stats.sem(difference))
        self.assertAlmostEqual(float(row["seed_half"]), (high - low) / 2, PLACES)
        paired = np.mean([shift["tied"][s][:3, 0] - shift["lev"][s][:3, 0] for s in range(3)], axis=0)
        self.assertAlmostEqual(float(row["document_half"]), 1.96 * stats.sem(paired), PLACES)
        self.assertEqual(rows["words", "perplexity", "tied"]["task_difference"], "0.0")
        self.assertEqual(rows["words", "perplexity", "tied"]["document_half"], "N/A")

    def test_text_and_markdown(self):
        self.write("tied", 1)
        self.write("lev", 1, choices=CHOICES[:, ::-1])
        text = self.succeed("tasks", self.run_folder)
        for words in ("quiz   acc_norm         lev       0.6667", "reference: tied", "quiz.jsonl: all", "equal ones)"):
            self.assertIn(words, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("| quiz | acc_norm | tied |", self.succeed("tasks", self.run_folder, "--markdown"))

    def test_refusals(self):
        self.refuse(3, "no such run folder", "tasks", self.run_folder)
        self.member("tied", [4.0])
        self.refuse(3, "no tasks.h5", "tasks", self.run_folder)
        self.write("tied", 1)
        self.write("lev", 1, gold=[1, *GOLD[1:]])
        self.refuse(3, "not the same tasks and documents", "tasks", self.run_folder)
        self.write("lev", 1, format_version=3)
        self.refuse(3, "newer than", "tasks", self.run_folder)
        self.write("lev", 1, format_version=1)
        self.refuse(3, "version 1 holds no metrics; score the requests again", "tasks", self.run_folder)
        self.write("lev", 1)
        self.refuse(2, "no such variant", "tasks", self.run_folder, "--reference", "albert")
        with h5py.File(self.run_folder / "lev-seed1" / "tasks.h5", "r+") as file:
            del file["metrics/weight"]
        self.refuse(3, "damaged or incomplete", "tasks", self.run_folder)


class Pictures(Tasks):
    def test_figure(self):
        self.write("tied", 1)
        self.write("lev", 1)
        run, found, _ = reader.read_tasks(self.run_folder)
        rows = task_table.rows(variants.variants_of(run), None, found)
        figure = task_figure.draw(rows)
        self.addCleanup(style.pyplot.close, figure)
        shown = [axes for axes in figure.axes if axes.get_visible()]
        self.assertEqual([(axes.get_title(), axes.get_xlabel()) for axes in shown],
                         [("quiz", "acc_norm"), ("words", "acc"), ("pages", "word_perplexity")])
        out = self.run_folder / "tasks.png"
        self.succeed("tasks", self.run_folder, "-o", out)
        self.assertTrue(out.read_bytes().startswith(b"\x89PNG"))

    def test_report(self):
        for name in ("tied", "lev"):
            self.member(f"{name}-seed1", [4.0, 3.9], seed=1, interface=name)
        self.member("albert-seed1", [4.0, 3.9], seed=1, interface="albert")
        self.succeed("report", self.run_folder)
        self.assertNotIn("Evaluation tasks", (self.run_folder / "report.html").read_text())
        self.write("tied", 1)
        self.write("lev", 1)
        self.succeed("report", self.run_folder)
        page = (self.run_folder / "report.html").read_text()
        for words in ("<h2>Evaluation tasks</h2>", "quiz.jsonl: all", "No tasks.h5 yet: albert-seed1", "postprocess tasks"):
            self.assertIn(words, page)


if __name__ == "__main__":
    unittest.main()
