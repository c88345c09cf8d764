"""The job `evaluate` against lm-evaluation-harness: the same model, records and tokenizer, request by request.

Needs Python packages that nothing else needs, in an environment of its own: torch, transformers, lm_eval 0.4.13,
tokenizers, h5py, numpy; and what the environment names
  LEXIKOS_EVALS           the folder of hellaswag.jsonl.gz and the others (inputs/prepare/README.md)
  LEXIKOS_WIKITEXT        optional: WikiText's raw text
  LEXIKOS_TOKENIZER_JSON  optional: a tokenizer.json with the end of text <|endoftext|>; by default one of 2,000 ids is
                          learnt from the records
Without them it is skipped and says why.
"""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

REASONS = [f"this Python has no package {name}" for name in ("numpy", "h5py", "torch", "transformers", "lm_eval", "tokenizers")
           if importlib.util.find_spec(name) is None]
REASONS += [] if os.environ.get("LEXIKOS_EVALS") else ["LEXIKOS_EVALS is not set"]
if REASONS:
    print(f"skipped: {'; '.join(REASONS)}")
    sys.exit(0)

import h5py  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))
import harness_tasks  # noqa: E402
from harness.runs import SOURCE, RunTest, likely_rounding_of_logits, run  # noqa: E402

EVALS = Path(os.environ["LEXIKOS_EVALS"])
TOKENIZER, WIKITEXT = os.environ.get("LEXIKOS_TOKENIZER_JSON"), os.environ.get("LEXIKOS_WIKITEXT")
DOCUMENTS = int(os.environ.get("LEXIKOS_PARITY_DOCUMENTS", "200"))  # of each task
PAGES = 5
HEADS, CONTEXT = 4, 512
TIMEOUT = 1200  # seconds
END = "<|endoftext|>"
DECK = f"""
[data]
tokens = "tokens.h5"
[embedding]
interface = "tied"
[transformer]
layers = 3
width = 64
heads = {HEADS}
context = {CONTEXT}
mlp_width = 192
[batch]
tokens = 2048
micro_batch = 2
[run]
steps = 400
gemm_rate = false
[optimizer]
learning_rate = 4e-3
warmup_steps = 20
"""


def tolerance(likelihood: float) -> float:
    """Nats that a request's log-likelihood may differ by: its tokens' losses, of up to 16 nats, are each as far off as logits
    of that size and independently, and their squares sum to at most 16 times the likelihood."""
    return likely_rounding_of_logits((16 * abs(likelihood)) ** 0.5, layers=3, width=64, head=64 // HEADS, context=CONTEXT,
                                     hidden=192)


def records(name: str) -> list[dict]:
    with gzip.open(EVALS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for _, line in zip(range(DOCUMENTS), file)]


class Harness(RunTest):
    def setUp(self):
        super().setUp()
        self.records = {name: records(name) for name in harness_tasks.TASKS if name != "wikitext"}
        if WIKITEXT:
            sys.path[:0] = [str(SOURCE / "inputs" / "prepare"), str(SOURCE)]
            import task_forms

            pages = task_forms.pages_of(Path(WIKITEXT).read_text(encoding="utf-8"))
            self.records["wikitext"] = [{"page": page} for page in pages[:PAGES]]
        self.text = "\n".join(record["text"] for record in self.records["lambada_openai"])
        self.tokenizer = Path(TOKENIZER) if TOKENIZER else self.learnt_tokenizer()
        self.trained = self.train()

    def prepare(self, *arguments: object):
        done = subprocess.run([sys.executable, str(SOURCE / "inputs/prepare/prepare.py"), *map(str, arguments)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def learnt_tokenizer(self) -> Path:
        """A byte-level BPE whose tokens take the blank before a word with them."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        learnt = Tokenizer(models.BPE())
        learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        learnt.decoder = decoders.ByteLevel()
        learnt.train_from_iterator([self.text], trainers.BpeTrainer(
            vocab_size=2000, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False))
        path = self.folder / "tokenizer.json"
        learnt.save(str(path))
        return path

    def train(self) -> Path:
        """On the texts of LAMBADA themselves, so that some last words are guessed."""
        text = self.folder / "text.txt"
        text.write_text(self.text, encoding="utf-8")
        self.prepare("text", "--out", self.tokens, "--train", text, "--validation-fraction", 0.3, "--tokenizer-model",
                     self.tokenizer)
        self.deck.write_text(DECK.replace("tokens.h5", str(self.tokens)))
        out = self.folder / "run"
        result = run(["-i", self.deck, "-d", out], threads=2, timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def ours(self, shots: int):
        """(values of tasks.h5, console)."""
        requests = self.folder / "requests.h5"
        tasks = []
        for name, rows in self.records.items():
            path = self.folder / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            if shots == 0 or name != "wikitext":
                tasks += ["--task", f"{name}={path}"]
        self.prepare("tasks", "--out", requests, "--tokens", self.tokens, "--shots", shots, *tasks)
        result = run(["-i", self.deck, "-d", self.trained, "job=tasks", f"tasks.requests={requests}"], threads=2,
                     timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(self.trained / "tasks.h5") as file:
            values = {name: file[name][()] for name in ("documents/task", "documents/first_request", "tasks/name",
                                                        "requests/log_likelihood", "requests/greedy")}
        return values, result.stdout

    def export(self) -> Path:
        """The folder that the job `export` writes, with the tokenizer's settings beside it."""
        folder = self.trained / "exported"
        if not folder.exists():
            place = self.folder / "tokenizer"
            place.mkdir()
            (place / "tokenizer.json").write_bytes(self.tokenizer.read_bytes())
            (place / "tokenizer_config.json").write_text(json.dumps(
                {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "model_max_length": CONTEXT}))
            result = run(["-i", self.deck, "-d", self.trained, "job=export", f"export.tokenizer={place}"],
                         timeout=TIMEOUT)
            self.assertEqual(result.returncode, 0, result.stderr)
        return folder

    def compare(self, shots: int):
        values, console = self.ours(shots)
        names = [name.decode() for name in values["tasks/name"]]
        definitions = self.folder / f"definitions{shots}"
        harness_tasks.write_definitions(definitions, {name: self.records[name] for name in names})
        theirs = harness_tasks.evaluate(self.export(), definitions, names, shots, self.folder / "cache")
        for number, name in enumerate(names):
            with self.subTest(task=name, shots=shots):
                self.compare_task(number, name, values, console, theirs)

    def compare_task(self, number: int, name: str, values: dict, console: str, theirs: dict):
        firsts = values["documents/first_request"]
        documents = np.flatnonzero(values["documents/task"] == number)
        samples = sorted(theirs["samples"][f"parity_{name}"], key=lambda sample: sample["doc_id"])
        self.assertEqual(len(samples), documents.size)
        largest, worst, count, unlike = 0.0, 0.0, 0, 0
        for document, sample in zip(documents, samples):
            found = [response[0] for response in sample["resps"]]
            mine = slice(firsts[document], firsts[document + 1])
            for value, greedy, other in zip(values["requests/log_likelihood"][mine], values["requests/greedy"][mine], found,
                                            strict=True):
                pair = other if isinstance(other, (tuple, list)) else (other, None)
                difference, count = abs(value - pair[0]), count + 1
                largest, worst = max(largest, difference), max(worst, difference / tolerance(pair[0]))
                unlike += pair[1] is not None and bool(pair[1]) != bool(greedy)
        line = next(line for line in console.splitlines() if line.startswith(name + ":"))
        metrics = dict(part.strip().rsplit(" ", 1) for part in line.split(", ")[1:])
        other = {key.split(",")[0]: value for key, value in theirs["results"][f"parity_{name}"].items() if "," in key}
        print(f"{name}: {count} requests, largest difference {largest:.2e} nats, {unlike} greedy flags differ; "
              + ", ".join(f"{key} {float(metrics[key])!r} and {other[key]!r}" for key in metrics), flush=True)
        self.assertLess(worst, 1.0)
        self.assertEqual(unlike, 0)
        for key in metrics:
            if key.startswith("acc"):
                self.assertAlmostEqual(float(metrics[key]), other[key], 12, key)
            else:
                self.assertAlmostEqual(float(metrics[key]) / other[key], 1.0, 4, key)

    def test_requests(self):
        self.compare(0)
        self.compare(2)


if __name__ == "__main__":
    unittest.main()
