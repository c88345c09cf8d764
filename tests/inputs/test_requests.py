"""inputs/prepare: evaluation tasks -> requests.h5, and the tokenizers that others made.

Where the packages tokenizers and tiktoken are missing, the cases that need them are skipped with a reason; the published
files are looked for in the folder LEXIKOS_TOKENIZERS.
"""

import base64
import gzip
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
PREPARE = SOURCE / "inputs" / "prepare"
sys.dont_write_bytecode = True
sys.path[:0] = [str(PREPARE), str(SOURCE)]

import task_description  # noqa: E402
import task_forms  # noqa: E402
import task_requests  # noqa: E402
import tokenizer  # noqa: E402
import tokenizer_files  # noqa: E402

from postprocess.guard import seal  # noqa: E402
from postprocess.guard.failure import Failure  # noqa: E402

TOKENIZERS = Path(os.environ["LEXIKOS_TOKENIZERS"]) if os.environ.get("LEXIKOS_TOKENIZERS") else None
GOLDEN_TEXT = "Hello world! I'll don't  two  spaces\n\n\ttabs 12345 ünï 你好 😀"
GOLDEN = {
    "r50k_base": [15496, 995, 0, 314, 1183, 836, 470, 220, 734, 220, 9029, 628, 197, 8658, 82, 17031, 2231, 6184, 120, 77,
                  26884, 220, 19526, 254, 25001, 121, 30325, 222],
    "cl100k_base": [9906, 1917, 0, 358, 3358, 1541, 956, 220, 1403, 220, 12908, 271, 3324, 3518, 220, 4513, 1774, 10709, 77,
                    38672, 220, 57668, 53901, 91416],
    "o200k_base": [13225, 2375, 0, 17291, 4128, 220, 1920, 220, 18608, 279, 6264, 6071, 220, 7633, 2548, 86582, 9954, 220,
                   177519, 88038]}


def needs(package: str):
    return unittest.skipUnless(importlib.util.find_spec(package), f"this Python has no package {package}")


def ranks(merges: tuple[bytes, ...] = (b"ab", b" a")) -> bytes:
    """A rank file: the bytes, then `merges`."""
    tokens = [bytes([byte]) for byte in range(256)] + list(merges)
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


class Joining:
    """Bytes, but for "ab", which is one id: a tokenizer whose tokens can span a join."""

    begin_of_text, end_of_text, begin_piece = 300, 301, "<s>"

    def encode(self, text: str) -> np.ndarray:
        parts = text.encode("utf-8").split(b"ab")
        ids = [i for part in parts for i in [299, *part]]
        return np.array(ids[1:], dtype=np.uint32)


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def records(self, name: str, *records: dict) -> Path:
        path = self.folder / name
        text = "".join(json.dumps(record) + "\n" for record in records).encode("utf-8")
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    def prepare(self, *arguments: object) -> subprocess.CompletedProcess:
        out = ("--out", self.folder / "requests.h5")
        return subprocess.run([sys.executable, str(PREPARE / "prepare.py"), "tasks", *map(str, (*out, *arguments))],
                              capture_output=True, text=True, check=False)

    def prepared(self, *arguments: object) -> Path:
        done = self.prepare(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.folder / "requests.h5"

    def refused(self, status: int, words: str, *arguments: object):
        done = self.prepare(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertFalse(list(self.folder.glob("requests.h5*")))


class Pairs(unittest.TestCase):
    """Where the context ends and what is scored."""

    def setUp(self):
        self.encoder = task_requests.Encoder(Joining(), with_bos=False)

    def test_blanks_at_the_end_of_a_context_go_to_the_continuation(self):
        self.assertEqual(self.encoder.pair("x \n", "y"), ([*b"x"], [*b" \ny"]))

    def test_a_token_that_spans_the_join(self):
        """The context keeps its own ids; as many are cut from those of the whole text."""
        self.assertEqual(self.encoder.pair("xa", "bc"), ([*b"xa"], [*b"c"]))

    def test_an_empty_context_is_one_id(self):
        self.assertEqual(self.encoder.pair("", "y"), ([300], [*b"y"]))
        self.assertEqual(self.encoder.pair(" ", "y"), ([300], [*b" y"]))
        ends = task_requests.Encoder(tokenizer.ByteTokenizer(), with_bos=False)
        self.assertEqual(ends.pair("", "y"), ([256], [*b"y"]))

    def test_begin_of_text_is_never_there_twice(self):
        with_bos = task_requests.Encoder(Joining(), with_bos=True)
        for encoder in (self.encoder, with_bos):
            self.assertEqual(encoder.pair("<s>x", "y"), ([300, *b"x"], [*b"y"]))
            self.assertEqual(encoder.pair("", "<s>y"), ([300], [*b"y"]))
            self.assertEqual(encoder.page("<s>x"), ([300], [*b"x"]))
            self.assertEqual(encoder.page("x"), ([300], [*b"x"]))
        self.assertEqual(with_bos.pair("x", "y"), ([300, *b"x"], [*b"y"]))
        self.assertEqual(self.encoder.pair("x", "y"), ([*b"x"], [*b"y"]))

    def test_a_remembered_context_is_the_right_one(self):
        for context in ("xa", "xb", "xa", ""):
            self.assertEqual(self.encoder.pair(context, "c")[0], [*context.encode()] or [300])


class Forms(unittest.TestCase):
    """Records as the harness puts them."""

    def test_hellaswag(self):
        put = task_forms.hellaswag({"activity_label": "Roof ", "ctx_a": "A  man [step] sits [title] Up.", "ctx_b": "he SAYS",
                                    "endings": [" one [x] two", "b"], "label": "1"})
        self.assertEqual(put.contexts, ["Roof : A man sits. Up. He says"] * 2)
        self.assertEqual(put.continuations, [" one two", " b"])
        self.assertEqual((put.gold, put.choices), (1, ["one two", "b"]))

    def test_arc_and_piqa(self):
        put = task_forms.arc({"question": "Q?", "choices": {"text": ["p", "q"], "label": ["1", "2"]}, "answerKey": "2"})
        self.assertEqual((put.contexts[0], put.continuations, put.gold), ("Question: Q?\nAnswer:", [" p", " q"], 1))
        put = task_forms.piqa({"goal": "G", "sol1": "a", "sol2": "b ", "label": 0})
        self.assertEqual((put.contexts[1], put.continuations, put.gold), ("Question: G\nAnswer:", [" a", " b "], 0))

    def test_winogrande_scores_what_follows_the_blank(self):
        put = task_forms.winogrande({"sentence": "Ann saw Bo and _ ran. ", "option1": "Ann", "option2": "Bo", "answer": "2"})
        self.assertEqual(put.contexts, ["Ann saw Bo and Ann", "Ann saw Bo and Bo"])
        self.assertEqual((put.continuations, put.gold), ([" ran."] * 2, 1))

    def test_lambada(self):
        put = task_forms.lambada({"text": "one two\nthree  four"})
        self.assertEqual((put.contexts, put.continuations), (["one two\nthree "], [" four"]))
        self.assertEqual(put.example, "one two\nthree   four")  # the harness's second space

    def test_wikitext(self):
        page = task_forms.wikitext({"page": " = T = \n \n In 2 @,@ 000 ( or so ) the cat 's \" hat \" . = = S = = \n"})
        self.assertEqual(page.text, " = T =\n\nIn 2,000 (or so) the cat's \"hat\". == S ==\n")
        self.assertEqual(page.words, 25)  # of the original, an empty one at either end counted
        self.assertEqual(page.bytes, len(page.original.encode()))
        pages = task_forms.pages_of("\n = A = \n\n x \n = = part = = \n y \n = B = \n z \n")
        self.assertEqual(pages, [" = A = \n\n x \n = = part = = \n y ", " = B = \n z \n"])

    def test_wrong_records(self):
        for put, record in ((task_forms.piqa, {"goal": "g", "sol1": "a", "sol2": "b", "label": -1}),
                            (task_forms.piqa, {"goal": "g", "sol1": "a", "sol2": "", "label": 0}),
                            (task_forms.lambada, {"text": "one"}), (task_forms.winogrande, {"sentence": "no blank"})):
            with self.assertRaises((ValueError, KeyError)):
                put(record)


class Descriptions(Folder):
    """A task from a TOML file."""

    def read(self, text: str) -> task_forms.Task:
        path = self.folder / "task.toml"
        path.write_text(text)
        return task_description.read(path)

    def test_multiple_choice(self):
        task = self.read('name = "t"\nshape = "multiple_choice"\ncontext = "Q: {q.text}\\nA:"\nchoices = "{options}"\n'
                         'labels = ["A", "B"]\ngold = "{answer}"\nmetrics = ["acc", "acc_bytes"]\n')
        put = task.put({"q": {"text": "why"}, "options": ["x", "y"], "answer": "B"})
        self.assertEqual((put.contexts[0], put.continuations, put.gold), ("Q: why\nA:", [" x", " y"], 1))
        self.assertEqual(task.metrics, ("acc", "acc_bytes"))
        task = self.read('name = "t"\nshape = "multiple_choice"\ncontext = "{p}"\nchoices = ["no", "{y}"]\ngold = "{l}"\n'
                         'delimiter = ""\n')
        self.assertEqual(task.put({"p": "P", "y": "yes", "l": 1}).continuations, ["no", "yes"])

    def test_last_word(self):
        task = self.read('name = "w"\nshape = "last_word"\ntext = "{a} {b}"\n')
        self.assertEqual(task.put({"a": "one", "b": "two"}).continuations, [" two"])

    def test_refusals(self):
        good = 'name = "t"\nshape = "multiple_choice"\ncontext = "c"\nchoices = ["a", "b"]\ngold = "{l}"\n'
        for text, words in ((good + "glod = 1\n", "unknown key glod"), (good.replace("gold", "# gold"), "gold is missing"),
                            (good.replace("multiple", "single"), "shape must be"), (good + 'metrics = ["f1"]\n', "found f1"),
                            (good + "delimiter = 1\n", "wrong type"), ("name =", "not TOML")):
            with self.assertRaisesRegex(Failure, words):
                self.read(text)


class Requests(Folder):
    """The file."""

    PIQA = [{"goal": "g", "sol1": "cafe", "sol2": "éééé", "label": 1}, {"goal": "h", "sol1": "abc", "sol2": "d", "label": 0},
            {"goal": "i", "sol1": "e", "sol2": "f", "label": 0}]

    def test_layout(self):
        path = self.prepared("--tokenizer", "bytes", "--task", f"piqa={self.records('p.jsonl.gz', *self.PIQA)}", "--task",
                             f"lambada_openai={self.records('l.jsonl', {'text': 'in the end'})}", "--task",
                             f"winogrande={self.records('w.jsonl', dict(sentence='a _ b', option1='x', option2='yz', answer='1'))}",
                             "--task", f"wikitext={self.records('t.jsonl', {'page': ' = é = '})}")
        with h5py.File(path) as file:
            self.assertEqual((file.attrs["vocabulary_size"], file.attrs["prefix"]), (257, 256))
            shapes = [value.decode() for value in file["tasks/shape"][()]]
            self.assertEqual(shapes, ["multiple_choice", "last_word", "multiple_choice", "rolling"])
            self.assertEqual(file["tasks/metrics"][()].tolist()[0], b"acc acc_norm")
            found = {name: file[name][()].tolist() for group in ("documents", "requests", "contexts", "continuations")
                     for name in (f"{group}/{key}" for key in file[group])}
            self.assertEqual(file["contexts/ids"].dtype, np.dtype("<u2"))
        self.assertEqual(found["documents/task"], [0, 0, 0, 1, 2, 3])
        self.assertEqual(found["documents/gold"], [1, 0, 0, 0, 0, 0])
        self.assertEqual(found["documents/first_request"], [0, 2, 4, 6, 7, 9, 10])
        self.assertEqual(found["documents/bytes"], [0, 0, 0, 0, 0, 8])
        # Code points and bytes of "cafe" and "éééé"; choices of a question name one context.
        self.assertEqual(found["requests/code_points"][:2], [4, 4])
        self.assertEqual(found["requests/bytes"][:2], [4, 8])
        self.assertEqual(found["requests/context"], [0, 0, 1, 1, 2, 2, 3, 4, 5, 6])
        self.assertEqual(found["requests/choice"], [0, 1, 0, 1, 0, 1, 0, 0, 1, 0])
        texts = [bytes(found[f"{group}/ids"][a:b]) for group in ("contexts", "continuations")
                 for a, b in [found[f"{group}/begin"][-3:-1]]]
        self.assertEqual(texts, [b"a yz", b" b"])
        self.assertEqual(found["contexts/ids"][-1], 256)
        self.assertEqual(bytes(found["continuations/ids"][-8:]).decode(), " = é = ")

    def test_seal(self):
        self.assertEqual(seal.crc64(b"123456789"), 0x995DC9BBDF1939FA)
        content = self.prepared("--tokenizer", "bytes", "--task", f"piqa={self.records('p.jsonl', *self.PIQA)}").read_bytes()
        self.assertEqual(content[-32:-16], b"LXKSEAL\n" + bytes(8))
        self.assertEqual(content[-16:], (len(content) - 32).to_bytes(8, "little")
                         + seal.crc64(content[:-32]).to_bytes(8, "little"))

    def test_examples_are_the_harness_draws(self):
        records = [{"goal": str(i), "sol1": "a", "sol2": "b", "label": 0} for i in range(9)]
        path, other = self.records("p.jsonl", *records), self.records("o.jsonl", *records[::-1])
        encoder = task_requests.Encoder(tokenizer.ByteTokenizer(), with_bos=False)
        task = task_forms.TASKS["piqa"]

        def goals(examples: task_requests.Examples) -> list[list[str]]:
            found = task_requests.requests_of(task, path, encoder, examples, 4)
            texts = [bytes(document.requests[0].context).decode() for document in found.documents]
            return [[line.removeprefix("Question: ") for line in text.split("\n") if line.startswith("Q")] for text in texts]

        draw = random.Random(7)
        want = [[record["goal"] for record in draw.sample(records[::-1], 2)] + [str(i)] for i in range(4)]
        self.assertEqual(goals(task_requests.Examples(2, other, 7)), want)
        draw = random.Random(7)
        want = []
        for i in range(4):
            drawn = [record["goal"] for record in draw.sample(records, 3)]
            want.append([goal for goal in drawn if goal != str(i)][:2] + [str(i)])
        self.assertEqual(goals(task_requests.Examples(2, None, 7)), want)
        self.assertNotEqual(goals(task_requests.Examples(2, None, 8)), want)

    def test_the_tokenizer_of_a_tokens_file(self):
        text = self.folder / "a.txt"
        text.write_text("the quick brown fox\n" * 50)
        tokens = self.folder / "tokens.h5"
        done = subprocess.run([sys.executable, str(PREPARE / "prepare.py"), "text", "--out", str(tokens), "--train", str(text),
                               "--vocabulary", "280"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.prepared("--tokens", tokens, "--task", f"piqa={self.records('p.jsonl', *self.PIQA)}")
        with h5py.File(tokens) as one, h5py.File(path) as two:
            for name in ("tokenizer", "tokenizer_hash", "vocabulary_size"):
                self.assertEqual(one.attrs[name], two.attrs[name])
            self.assertEqual(two.attrs["prefix"], 1)

    def test_refusals(self):
        piqa = f"piqa={self.records('p.jsonl', *self.PIQA)}"
        bad = f"piqa={self.records('b.jsonl', *self.PIQA, {'goal': 'g', 'sol1': 'a'})}"
        (self.folder / "broken.jsonl").write_text('{"goal": \n')
        byte = ("--tokenizer", "bytes", "--task")
        for status, words, arguments in (
                (3, "b.jsonl: record 4: not a record of piqa (no field 'sol2')", (*byte, bad)),
                (3, "line 1 is not JSON", (*byte, f"piqa={self.folder / 'broken.jsonl'}")),
                (3, "No such file", (*byte, "piqa=missing.jsonl")), (2, "no task pqia", (*byte, "pqia=x")),
                (2, "NAME=FILE", (*byte, "piqa")), (2, "is there twice", (*byte, piqa, "--task", piqa)),
                (3, "too few for 3", (*byte, piqa, "--shots", 3)), (2, "must be positive", (*byte, piqa, "--limit", 0)),
                (2, "--shots-from arc_easy", (*byte, piqa, "--shots", 1, "--shots-from", "arc_easy=x")),
                (3, "no such file", ("--tokens", "missing.h5", "--task", piqa))):
            with self.subTest(words=words):
                self.refused(status, words, *arguments)


class Files(Folder):
    """Tokenizers made elsewhere."""

    def test_kinds_are_recognised_by_content(self):
        path = self.folder / "ranks"
        path.write_bytes(ranks())
        with self.assertRaisesRegex(Failure, "none of the published rank files"):
            tokenizer_files.load(path)
        path.write_bytes(b"neither\n")
        with self.assertRaisesRegex(Failure, "not a SentencePiece model"):
            tokenizer_files.load(path)
        with self.assertRaisesRegex(Failure, "no file of tiktoken ranks"):
            tokenizer_files.load(path, "r50k_base")

    def test_damaged_ranks(self):
        for content, words in ((ranks()[:-3] + b"\nx y z\n", "line 259 is not"), (ranks().split(b"\n", 1)[1], "no rank for the byte 0"),
                               (ranks((b"ab", b"ac")).replace(b" 257", b" 256"), "the same rank")):
            with self.assertRaisesRegex(Failure, words):
                tokenizer_files._ranks(content, "file")

    def test_a_missing_package_is_one_line(self):
        (self.folder / "t.json").write_text("{}")
        (self.folder / "ranks").write_bytes(ranks())
        for file, package, more in (("t.json", "tokenizers", None), ("ranks", "tiktoken", "r50k_base")):
            held = sys.modules.get(package)
            sys.modules[package] = None
            try:
                with self.assertRaises(Failure) as caught:
                    tokenizer_files.load(self.folder / file, more)
            finally:
                del sys.modules[package]
                if held is not None:
                    sys.modules[package] = held
            self.assertEqual(caught.exception.status, 5)
            self.assertIn(f"pip install {package}", str(caught.exception))

    def test_a_package_that_panics(self):
        class Panic(BaseException):
            pass

        def encode():
            raise Panic("called `Option::unwrap()` on a `None` value")

        with self.assertRaisesRegex(Failure, "the package tiktoken cannot cut a text"):
            tokenizer_files._cut("tiktoken", encode)

    @needs("tiktoken")
    def test_ranks(self):
        (self.folder / "ranks").write_bytes(ranks())
        found = tokenizer_files.load(self.folder / "ranks", "r50k_base")
        self.assertEqual(found.encode("ab a").tolist(), [256, 257])
        self.assertEqual((found.vocabulary_size, found.end_of_text, found.name), (50257, 50256, "tiktoken-r50k_base"))
        for text in ("ab é\n\n", tokenizer.END_OF_TEXT):
            self.assertNotIn(found.end_of_text, found.encode(text))
            self.assertEqual(found.decode(found.encode(text)), text)
        self.assertEqual([found.pieces[i] for i in (97, 200, 256, 300, 50256)],
                         ["a", "<0xC8>", "ab", "<unused 300>", tokenizer.END_OF_TEXT])
        again = tokenizer_files.from_model(found.name, found.model, "a file")
        self.assertEqual(again.encode("ab a").tolist(), [256, 257])

    @needs("tokenizers")
    def test_tokenizer_json(self):
        path = self.folder / "tokenizer.json"
        path.write_text(json.dumps(self.small_json()))
        found = tokenizer_files.load(path)
        self.assertEqual(found.encode("ab<s>").tolist(), [3, 4, 5, 6])
        self.assertEqual((found.vocabulary_size, found.end_of_text, found.begin_of_text, found.begin_piece), (8, 1, 0, "<s>"))
        self.assertEqual(found.decode(found.encode("ab")), "ab")
        pair = task_requests.Encoder(found, with_bos=True).pair("<s>ab", "b")
        self.assertEqual(pair, ([0, 3], [2]))
        none = self.small_json()
        none["added_tokens"] = none["added_tokens"][:1]
        path.write_text(json.dumps(none))
        with self.assertRaisesRegex(Failure, "0 of its special tokens are an end of text"):
            tokenizer_files.load(path)

    @staticmethod
    def small_json() -> dict:
        """Merges a and b; adds <s> in front of a text, which must not happen."""
        special = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                    "special": True} for i, text in ((0, "<s>"), (1, "</s>"))]
        vocabulary = {"<s>": 0, "</s>": 1, "b": 2, "ab": 3, "<": 4, "s": 5, ">": 6, "a": 7}
        return {"version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
                "padding": None, "added_tokens": special, "normalizer": None, "pre_tokenizer": None,
                "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                                           {"Sequence": {"id": "A", "type_id": 0}}],
                                   "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                                   "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
                "decoder": {"type": "Fuse"},
                "model": {"type": "BPE", "vocab": vocabulary, "merges": [["a", "b"]]}}

    @needs("tiktoken")
    @unittest.skipUnless(TOKENIZERS, "LEXIKOS_TOKENIZERS names no folder with the published rank files")
    def test_published_ranks(self):
        for name, ids in GOLDEN.items():
            found = tokenizer_files.load(TOKENIZERS / f"{name}.tiktoken")
            self.assertEqual(found.name, "tiktoken-" + name)
            self.assertEqual(found.encode(GOLDEN_TEXT).tolist(), ids)
            self.assertEqual(found.decode(found.encode(GOLDEN_TEXT)), GOLDEN_TEXT)

    @needs("tiktoken")
    @unittest.skipUnless(TOKENIZERS and (TOKENIZERS / "../text/tinyshakespeare.txt").is_file(),
                         "no ../text/tinyshakespeare.txt beside the folder LEXIKOS_TOKENIZERS")
    def test_published_counts(self):
        text = (TOKENIZERS / "../text/tinyshakespeare.txt").read_text(encoding="utf-8")
        for name, count in (("r50k_base", 338025), ("cl100k_base", 301829), ("o200k_base", 297606)):
            self.assertEqual(tokenizer_files.load(TOKENIZERS / f"{name}.tiktoken").encode(text).size, count)

    @needs("tokenizers")
    @unittest.skipUnless(TOKENIZERS, "LEXIKOS_TOKENIZERS names no folder with gpt-neox-20b.tokenizer.json")
    def test_published_json(self):
        found = tokenizer_files.load(TOKENIZERS / "gpt-neox-20b.tokenizer.json")
        self.assertEqual((found.end_of_text, found.begin_of_text), (0, None))
        self.assertEqual(found.decode(found.encode(GOLDEN_TEXT)), GOLDEN_TEXT)


if __name__ == "__main__":
    unittest.main()
