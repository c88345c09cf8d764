"""inputs/prepare with input, files, disks and libraries that are not as they should be: one line, a documented status."""

import contextlib
import gzip
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import h5py
import numpy as np

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
PREPARE = SOURCE / "inputs" / "prepare"
sys.dont_write_bytecode = True
sys.path[:0] = [str(PREPARE), str(SOURCE)]

import prepare  # noqa: E402
import task_forms  # noqa: E402
import tokenizer  # noqa: E402
from postprocess.guard.program import guarded  # noqa: E402

LINE = "the quick brown fox jumps over the lazy dog 0123456789\n"
COMMAND = [sys.executable, str(PREPARE / "prepare.py")]
PIQA = {"goal": "g", "sol1": "a", "sol2": "b", "label": 1}


class Folder(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)
        self.out = self.folder / "out.h5"

    def write(self, name: str, content: bytes | str = LINE * 60) -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    def ends(self, status: int, words: str, *arguments: object, **settings) -> None:
        """The status, and one line on stderr that has `words` (none where it is empty); in this process, which is faster,
        where there are no settings of another."""
        words_given = [os.fsdecode(argument) if isinstance(argument, bytes) else str(argument) for argument in arguments]
        if settings:
            done = subprocess.run([*COMMAND, *words_given], capture_output=True, check=False, **settings)
            found, complaints = done.returncode, done.stderr.decode("utf-8")
        else:
            errors = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                found = guarded("prepare.py", prepare.main, words_given)
            complaints = errors.getvalue()
        self.assertEqual(found, status, complaints)
        self.assertEqual(len(complaints.splitlines()), 1 if words else 0, complaints)
        self.assertIn(words, complaints)

    def tasks(self, status: int, words: str, records: str | bytes, *more: object, task="piqa") -> None:
        self.ends(status, words, "tasks", "--out", self.out, "--tokenizer", "bytes", "--task",
                  f"{task}={self.write('r.jsonl', records)}", *more)


class Packages(Folder):
    def test_help_needs_none(self):
        for command in ((), ("text",), ("tasks",), ("encode",), ("decode",), ("bible",), ("debian",)):
            done = subprocess.run([sys.executable, "-S", COMMAND[1], *command, "--help"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage", done.stdout)

    def test_missing_ones_are_named(self):
        blocked = "import sys; sys.modules[{0!r}] = None; sys.argv = ['prepare.py', *sys.argv[1:]]; sys.path.insert(0, {2!r}); " \
                  "import runpy; runpy.run_path({1!r}, run_name='__main__')"
        text = ("text", "--out", self.out, "--train", self.write("a.txt"))
        for package, arguments in (("numpy", ("encode", "--tokenizer", "bytes", "a")), ("h5py", (*text, "--tokenizer", "bytes")),
                                   ("sentencepiece", text)):
            done = subprocess.run([sys.executable, "-c", blocked.format(package, COMMAND[1], str(PREPARE)), *map(str, arguments)],
                                  capture_output=True, text=True, check=False)
            with self.subTest(package=package):
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (5, 1), done.stderr)
                self.assertIn(f"python3-{package}", done.stderr)


class Records(Folder):
    def test_what_is_no_record(self):
        for words, record in (
                ("a lone surrogate", '{"goal": "\\ud800", "sol1": "a", "sol2": "b", "label": 0}'), ("nested too deeply", "[" * 200_000),
                ("not JSON (a number in it has too many digits)", '{"label": ' + "9" * 5000 + "}"), ("no JSON object", "[1]"),
                *((f"({field} is no", json.dumps({**PIQA, field: value})) for field, value in (
                    ("goal", None), ("sol1", 5), ("sol2", ["b"]), ("label", 1.5), ("label", True), ("label", float("inf")),
                    ("label", float("nan")), ("label", "one"), ("label", None))),
                ("number 5 of 2", json.dumps({**PIQA, "label": 5}))):
            with self.subTest(words=words, record=record[:60]):
                self.tasks(3, words.replace("no JSON object", "not a JSON object"), record)
        for task, record in (("hellaswag", {"activity_label": "a", "ctx_a": "b", "ctx_b": "c", "endings": "xyz", "label": 0}),
                             ("arc_easy", {"question": "q", "choices": {"label": "AB", "text": "xy"}, "answerKey": "A"}),
                             ("arc_easy", {"question": "q", "choices": {"label": ["A"], "text": ["x", "y"]}, "answerKey": "A"}),
                             ("winogrande", {"sentence": "no blank", "option1": "a", "option2": "b", "answer": "1"}),
                             ("lambada_openai", {"text": 5})):
            with self.subTest(record=record):
                self.tasks(3, "record 1: not a record of", json.dumps(record), task=task)

    def test_what_is_one_all_the_same(self):
        line = json.dumps(PIQA).encode()
        for content in (b"\xef\xbb\xbf" + line, line + b"\r\n" + line + b"\r\n", gzip.compress(line), b"\n\n" + line,
                        line.replace(b'"g"', rb'"\ud83d\ude00"')):
            self.tasks(0, "", content)

    def test_equal_records_with_examples(self):
        self.tasks(3, "too few for 1 examples", "\n".join([json.dumps(PIQA)] * 3), "--shots", 1)
        self.tasks(0, "", "\n".join([json.dumps(PIQA)] * 3 + [json.dumps({**PIQA, "goal": "h"})]), "--shots", 1)

    def test_descriptions(self):
        good = ('name = "t"\nshape = "multiple_choice"\ncontext = "{goal}"\nchoices = ["{sol1}", "b"]\ngold = "{label}"\n')
        record = json.dumps({**PIQA, "none": None})
        self.tasks(0, "", record, task=self.write("t.toml", b"\xef\xbb\xbf" + good.replace("\n", "\r\n").encode()))
        for words, text in (("no field 'x.y'", good.replace("{goal}", "{x.y}")), ("no field 'goal.z'", good.replace("{goal}", "{goal.z}")),
                            ("none is neither text nor a number", good.replace("{goal}", "{none}")),
                            ("a list of texts", good.replace('"b"', "2")), ("shape must be", good.replace('"multiple_choice"', "[]")),
                            ("nested too deeply", good + "x = " + "[" * 100_000), ("gold is no whole number", good.replace("{label}", "x"))):
            with self.subTest(words=words):
                self.tasks(3, words, record, task=self.write("t.toml", text))

    def test_time_grows_with_the_length_only(self):
        start = time.monotonic()
        for mark in '([{"\'':
            task_forms.detokenised((mark + " ") * 200_000)
        task_forms._hellaswag_text("[" * 200_000)
        self.assertLess(time.monotonic() - start, 10.0)

    def test_brackets_as_the_harness_has_them(self):
        patterns = [(r"\(\s*([^\)]*?)\s*\)", r"(\1)"), (r"\[\s*([^\]]*?)\s*\]", r"[\1]"), (r"{\s*([^}]*?)\s*}", r"{\1}"),
                    (r"\"\s*([^\"]*?)\s*\"", r'"\1"'), (r"'\s*([^']*?)\s*'", r"'\1'")]
        draw = random.Random(1)
        for _ in range(3000):
            page = "".join(draw.choice("()[]{}\"' \n\u00a0ab") for _ in range(draw.randrange(20)))
            expected = page
            for pattern, new in patterns:
                expected = re.sub(pattern, new, expected)
            found = page
            for first, last in task_forms._BRACKETS:
                found = task_forms.between(found, first, last, lambda inside: first + inside.strip() + last)
            self.assertEqual(found, expected, repr(page))
            title = page.replace("a", "[b]")
            self.assertEqual(task_forms._hellaswag_text(title),
                             re.sub(r"\[.*?\]", "", title.strip().replace(" [title]", ". ")).replace("  ", " "))


class Texts(Folder):
    def text(self, status: int, words: str, content: bytes | str, *more: object, name="a.txt", **settings) -> None:
        self.ends(status, words, "text", "--out", self.out, "--train", self.write(name, content), "--validation", self.write("v.txt"),
                  *(more or ("--vocabulary", 310)), **settings)

    def test_words_on_which_sentencepiece_ends_the_process(self):
        for length in (65_534, 300_000):
            self.text(0, "", "x" * length + "\n" + LINE * 60)

    def test_characters_for_which_it_drops_a_line(self):
        self.text(0, "", LINE.replace("\n", "\u2585\n") * 60)
        self.assertIn("the", self.pieces())
        self.text(0, "", LINE.replace(" ", "\0 ") * 60)

    def pieces(self) -> list[str]:
        with h5py.File(self.out) as file:
            return [piece.decode("utf-8") for piece in file["pieces"][()]]

    def test_nothing_to_learn_from(self):
        for content in ("\n\n", "\u2585\n", "\0"):
            self.text(3, "nothing to learn a vocabulary from", content)

    def test_files_by_their_content(self):
        self.text(0, "", gzip.compress(LINE.encode() * 60))
        self.text(0, "", LINE * 60, name="a.gz")
        self.text(3, "iconv -f UTF-16", LINE.encode("utf-16"))
        self.text(3, "not UTF-8 text at byte 0", b"\xff")
        self.text(3, "the file is empty", b"\xef\xbb\xbf")

    def test_models_that_are_none(self):
        h5py.File(self.folder / "x.h5", "w").close()
        tokenizer_model = tokenizer.train_sentencepiece([LINE * 60], 310).model
        damaged = bytearray(tokenizer_model)
        damaged[:200] = bytes(200)
        for words, content in (("damaged", bytes(100)), ("damaged", b""), ("damaged", os.urandom(2000)), ("damaged", bytes(damaged)),
                               ("damaged", tokenizer_model[: len(tokenizer_model) // 2])):
            self.text(3, words, LINE * 60, "--tokenizer-model", self.write("m", content))
        self.text(2, "is given with --tokens", LINE * 60, "--tokenizer-model", self.folder / "x.h5")

    def test_names_that_are_not_utf8(self):
        self.text(0, "", LINE * 60, "--tokenizer", "bytes", name=os.fsdecode(b"caf\xe9.txt"))
        with h5py.File(self.out) as file:
            self.assertIn("caf\\xe9.txt", file.attrs["source"])
        self.ends(2, "not UTF-8 text at byte 3", "encode", "--tokenizer", "bytes", b"caf\xe9")


class Output(Folder):
    def setUp(self):
        super().setUp()
        self.out.write_text("older")
        self.text = ("text", "--out", self.out, "--train", self.write("a.txt"), "--tokenizer", "bytes")

    def kept(self) -> None:
        self.assertEqual(self.out.read_text(), "older")
        self.assertEqual([path.name for path in self.folder.glob("out*")], ["out.h5"])

    def test_a_disk_that_is_full(self):
        """Wherever it ends: HDF5 itself, and then the process, comes to a bad end when its writes fail."""
        for size in (0, 100, 3000, 5000):
            self.ends(3, "cannot write", *self.text, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))  # noqa: B023
            self.kept()

    def test_a_signal_while_it_learns(self):
        self.write("a.txt", "".join(f"{i * i:x} {i * 7919 % 1000003:x} line\n" for i in range(60_000)))
        process = subprocess.Popen([*COMMAND, "text", "--out", str(self.out), "--train", str(self.folder / "a.txt"), "--vocabulary",
                                    "4000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("source", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=60)
        self.assertEqual((process.returncode, len(complaints.splitlines())), (143, 1), complaints)
        self.kept()

    def test_an_input_is_not_replaced(self):
        source = self.write("a.txt")
        for out in (source, self.folder / "." / "a.txt"):
            self.ends(2, "which it would replace", "text", "--out", out, "--train", source, "--tokenizer", "bytes")
        records = self.write("r.jsonl", json.dumps(PIQA))
        self.ends(2, "which it would replace", "tasks", "--out", records, "--tokenizer", "bytes", "--task", f"piqa={records}")
        self.ends(3, "no ordinary file", *(("text", "--out", "/dev/null") + self.text[3:]))
        self.assertEqual(source.read_text(), LINE * 60)

    def test_the_home_folder(self):
        environment = {**os.environ, "HOME": str(self.folder / "home")}
        self.ends(0, "", "text", "--out=~/x.h5", *self.text[3:], env=environment, cwd=self.folder)
        self.assertTrue((self.folder / "home" / "x.h5").is_file())
        self.assertFalse((self.folder / "~").exists())

    def test_a_reader_that_went_away(self):
        """The file is written all the same."""
        with subprocess.Popen([*COMMAND, *map(str, self.text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            complaints = process.stderr.read()
        self.assertEqual((process.returncode, complaints), (0, b""))
        with h5py.File(self.out) as file:
            self.assertEqual(file.attrs["format"], "lexikos-tokens")


class TokensFiles(Folder):
    """A tokens file that changed: its tokenizer must not be another one in silence, and nothing crashes."""

    def test_damage(self):
        good = self.write("a.txt")
        subprocess.run([*COMMAND, "text", "--out", self.out, "--train", good, "--vocabulary", "310"], check=True, capture_output=True)
        content = self.out.read_bytes()
        expected = subprocess.run([*COMMAND, "encode", "--tokens", self.out, "fox"], capture_output=True, check=True).stdout
        draw = random.Random(3)
        for _ in range(12):
            damaged = bytearray(content)
            at, count = draw.randrange(len(content)), draw.choice((1, 64, 512))
            damaged[at : at + count] = bytes(len(damaged[at : at + count]))
            self.out.write_bytes(damaged[: draw.choice((len(damaged), at))])
            done = subprocess.run([*COMMAND, "encode", "--tokens", self.out, "fox"], capture_output=True, check=False)
            self.assertIn((done.returncode, len(done.stderr.splitlines())), ((0, 0), (3, 1)), done.stderr)
            if done.returncode == 0:
                self.assertEqual(done.stdout, expected)

    def test_another_tokenizer(self):
        subprocess.run([*COMMAND, "text", "--out", self.out, "--train", self.write("a.txt"), "--vocabulary", "310"], check=True,
                       capture_output=True)
        with h5py.File(self.out, "r+") as file:
            model = file["tokenizer_model"][()]
            model[np.flatnonzero(model == ord("q"))[0]] = ord("Q")
            file["tokenizer_model"][...] = model
        self.ends(3, "not the one that its tokenizer_hash names", "encode", "--tokens", self.out, "fox")

    def test_ids(self):
        for words, text in (("not a list of ids", "1.5"), ("not a list of ids", "1_0"), ("not a list of ids", "\u0661"),
                            ("an id that", "9" * 30), ("the file is empty", "")):
            self.ends(3, words, "decode", "--tokenizer", "bytes", self.write("ids.txt", text))
        self.ends(0, "", "decode", "--tokenizer", "bytes", self.write("ids.txt", "\ufeff97 98\r\n"))


if __name__ == "__main__":
    unittest.main()
