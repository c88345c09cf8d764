"""inputs/prepare: text -> tokens.h5. Runs the program as a user does, and its modules where a case needs it."""

import collections
import gzip
import hashlib
import os
import shutil
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

import debian_sources  # noqa: E402
import text_sources  # noqa: E402
import tokenizer as tokenizers  # noqa: E402
import tokens_file  # noqa: E402
from postprocess.guard.failure import Failure  # noqa: E402

SAMPLE = "".join(f"Line {i}: the quick brown fox jumps over {i * i} lazy dogs,\n\tand ünï 你好 \U0001f600 come back.\n"
                 for i in range(120))
AWKWARD = ["", " ", "  two  spaces ", "\n\n", "a\r\nb\r", "\tx", "\u2581", "a\u2581\u2581 b", "\x00",
           "<unk> <0x41> <|endoftext|>", "\ufeffx", "e\u0301 \u00a0\u2028\u0085",
           "\U0001f9ec\U0001f9ec", "unseen: \u0416\u4e16"]


def run(*arguments: object, path: str | None = None) -> subprocess.CompletedProcess:
    """The program, with another PATH if one is given."""
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    return subprocess.run([sys.executable, str(PREPARE / "prepare.py"), *map(str, arguments)], capture_output=True,
                          text=True, check=False, env=environment)


def tokenizer_of(file: h5py.File):
    """The tokenizer rebuilt from what the file carries, and nothing else."""
    if file.attrs["tokenizer"] == "bytes":
        return tokenizers.ByteTokenizer()
    return tokenizers.SentencePieceTokenizer(file["tokenizer_model"][()].tobytes(), file.attrs["tokenizer"], "a file")


def documents_of(file: h5py.File, part: str) -> list[str]:
    """The texts of a part, decoded from its ids and cut at the end-of-text id."""
    ids, end = file[part][()].astype(np.int64), file.attrs["end_of_text"]
    cuts = np.flatnonzero(ids == end)
    starts = np.concatenate([[0], cuts[:-1] + 1])
    return [tokenizer_of(file).decode(ids[a:b]) for a, b in zip(starts, cuts)]


class Folder(unittest.TestCase):
    """Gives each test an empty folder."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def write(self, name: str, text: str = SAMPLE) -> Path:
        path = self.folder / name
        path.write_bytes(text.encode("utf-8"))
        return path

    def prepared(self, *arguments: object) -> Path:
        out = self.folder / "out.h5"
        done = run("text", "--out", out, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out

    def assert_refused(self, status: int, expected: str, *arguments: object, path: str | None = None):
        """Exit status, exactly one line on stderr that says `expected`, and no file left behind."""
        out = self.folder / "refused.h5"
        done = run(*arguments, "--out", out, path=path)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual(list(self.folder.glob("refused.h5*")), [])


class RoundTrip(Folder):
    def test_sentencepiece_gives_every_text_back(self):
        tokenizer = tokenizers.train_sentencepiece([SAMPLE, "with \u2581 in it\n"], 400)
        for text in [SAMPLE, *AWKWARD]:
            with self.subTest(text=text[:20]):
                self.assertEqual(tokenizer.decode(tokenizer.encode(text)), text)

    def test_bytes_give_every_text_back(self):
        tokenizer = tokenizers.ByteTokenizer()
        for text in [SAMPLE, *AWKWARD]:
            self.assertEqual(tokenizer.decode(tokenizer.encode(text)), text)

    def test_text_that_spells_the_end_of_text_does_not_produce_its_id(self):
        for tokenizer in (tokenizers.ByteTokenizer(), tokenizers.train_sentencepiece([SAMPLE], 400)):
            self.assertNotIn(tokenizer.end_of_text, tokenizer.encode(tokenizers.END_OF_TEXT))

    def test_encoding_in_lines_changes_no_id(self):
        tokenizer = tokenizers.train_sentencepiece([SAMPLE], 400)
        whole = tokenizer._ids([SAMPLE])
        for size in (1, 100, 1 << 20):
            lines = [tokenizer._ids(group) for group in tokenizers._line_groups(SAMPLE, size)]
            np.testing.assert_array_equal(np.concatenate(lines), whole)

    def test_file_gives_the_documents_back(self):
        texts = {"a.txt": SAMPLE, "b.txt": "Second file.\nno line break at its end", "c.txt": "Held out.\n"}
        paths = [self.write(name, text) for name, text in texts.items()]
        out = self.prepared("--train", *paths[:2], "--validation", paths[2], "--vocabulary", 400)
        with h5py.File(out) as file:
            self.assertEqual(documents_of(file, "train"), [texts["a.txt"], texts["b.txt"]])
            self.assertEqual(documents_of(file, "validation"), [texts["c.txt"]])

    def test_gzip_is_read_and_a_byte_order_mark_dropped(self):
        packed = self.folder / "a.txt.gz"
        packed.write_bytes(gzip.compress(("\ufeff" + SAMPLE).encode("utf-8")))
        out = self.prepared("--train", packed, "--validation", self.write("c.txt"), "--tokenizer", "bytes")
        with h5py.File(out) as file:
            self.assertEqual(documents_of(file, "train"), [SAMPLE])

    def test_lossy_model_is_refused(self):
        import io

        import sentencepiece

        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SAMPLE.split("\n")), model_writer=model,
                                                 vocab_size=100, model_type="bpe", hard_vocab_limit=False, minloglevel=2)
        path = self.folder / "lossy.model"
        path.write_bytes(model.getvalue())
        easy = self.write("easy.txt", "quick")
        for parts in (("--train", self.write("a.txt"), "--validation", easy),
                      ("--train", easy, "--validation", self.write("a.txt"))):
            self.assert_refused(3, "does not give the text back", "text", *parts, "--tokenizer-model", path)

    def test_model_of_one_file_serves_another(self):
        first = self.prepared("--train", self.write("a.txt"), "--vocabulary", 400)
        with h5py.File(first) as file:
            model, hash_of_first = file["tokenizer_model"][()].tobytes(), file.attrs["tokenizer_hash"]
        path = self.folder / "first.model"
        path.write_bytes(model)
        second = self.prepared("--train", self.write("b.txt", "Other text.\nMore of it.\n"), "--tokenizer-model", path)
        with h5py.File(second) as file:
            self.assertEqual(file.attrs["tokenizer_hash"], hash_of_first)
            self.assertEqual(documents_of(file, "train") + documents_of(file, "validation"),
                             ["Other text.\n", "More of it.\n"])


class Layout(Folder):
    def check_layout(self, path: Path, vocabulary: int, train: list[str], validation: list[str]):
        with h5py.File(path) as file:
            self.assertEqual((file.attrs["format"], file.attrs["format_version"]), ("lexikos-tokens", 1))
            self.assertEqual(file.attrs["vocabulary_size"], vocabulary)
            for name in ("tokenizer", "source", "code_version"):
                self.assertIsInstance(file.attrs[name], str)
                self.assertTrue(file.attrs[name])
            model = file["tokenizer_model"]
            self.assertEqual(model.dtype, np.uint8)
            self.assertEqual(file.attrs["tokenizer_hash"], hashlib.sha256(model[()].tobytes()).hexdigest())
            for name, texts in (("train", train), ("validation", validation)):
                data = file[name]
                self.assertEqual(data.dtype, np.dtype("<u2"))
                self.assertIsNone(data.chunks)  # contiguous, so that it can be memory-mapped
                self.assertEqual(data.id.get_offset() % 64, 0)
                self.assertEqual(data.attrs["documents"], len(texts))
                self.assertEqual(data.attrs["source_bytes"], sum(len(text.encode("utf-8")) for text in texts))
                self.assertEqual(data.attrs["source_words"], sum(len(text.split()) for text in texts))
                self.assertIsInstance(data.attrs["description"], str)
                self.assertEqual(data[-1], file.attrs["end_of_text"])
                self.assertEqual(np.sum(data[()] == file.attrs["end_of_text"]), len(texts))
            counts = file["train_counts"]
            self.assertEqual((counts.dtype, counts.shape), (np.dtype("<u8"), (vocabulary,)))
            expected = collections.Counter(file["train"][()].tolist())
            self.assertEqual({i: int(n) for i, n in enumerate(counts) if n}, dict(expected))
            pieces = file["pieces"].asstr()[()]
            self.assertEqual(len(pieces), vocabulary)
            return list(pieces)

    def test_sentencepiece(self):
        held = "Held out text.\n"
        out = self.prepared("--train", self.write("a.txt"), "--validation", self.write("c.txt", held), "--vocabulary", 400)
        pieces = self.check_layout(out, 400, [SAMPLE], [held])
        self.assertEqual(pieces[:3], ["<unk>", "<|endoftext|>", "<0x00>"])
        self.assertIn("\u2581the", pieces)

    def test_bytes(self):
        held = "Held out text.\n"
        out = self.prepared("--train", self.write("a.txt"), "--validation", self.write("c.txt", held),
                            "--tokenizer", "bytes")
        pieces = self.check_layout(out, 257, [SAMPLE], [held])
        self.assertEqual((pieces[0x41], pieces[256]), ("<0x41>", "<|endoftext|>"))
        with h5py.File(out) as file:
            self.assertEqual(file["train"][:-1].astype(np.uint8).tobytes().decode("utf-8"), SAMPLE)
            self.assertEqual(file["tokenizer_model"].shape, (0,))

    def test_same_text_gives_the_same_file(self):
        arguments = ("--train", self.write("a.txt"), "--vocabulary", 400)
        first = self.prepared(*arguments).read_bytes()
        self.assertEqual(self.prepared(*arguments).read_bytes(), first)

    def test_ids_past_16_bits_are_stored_in_32(self):
        class Wide(tokenizers.ByteTokenizer):
            vocabulary_size, end_of_text = 65_537, 65_536
            pieces = ["x"] * 65_537

        part = tokens_file.encode_part(Wide(), ["ab"])
        out = self.folder / "wide.h5"
        tokens_file.write_tokens(out, Wide(), part, part, "two letters")
        with h5py.File(out) as file:
            self.assertEqual(file["train"].dtype, np.dtype("<u4"))
            self.assertEqual(file["train"][()].tolist(), [97, 98, 65_536])
            self.assertEqual(file["train_counts"][65_536], 1)
        self.assertEqual(tokens_file.id_type(65_536), np.dtype("<u2"))

    def test_an_older_file_survives_a_failed_write(self):
        out = self.folder / "kept.h5"
        out.write_bytes(b"older")
        wrong = tokens_file.Part(np.array([300]), 1, 1, 1)
        with self.assertRaises(ValueError):
            tokens_file.write_tokens(out, tokenizers.ByteTokenizer(), wrong, wrong, "")
        self.assertEqual(out.read_bytes(), b"older")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["kept.h5"])


class Cut(Folder):
    def test_tail_is_cut_after_a_line_then_a_space_then_anywhere(self):
        self.assertEqual(text_sources.cut_tail("aaaa\nbbbb\ncccc\ndd", 0.25), ("aaaa\nbbbb\n", "cccc\ndd"))
        self.assertEqual(text_sources.cut_tail("aaaa bbbb cccc dd", 0.25), ("aaaa bbbb ", "cccc dd"))
        self.assertEqual(text_sources.cut_tail("aaaabbbbccccdddd", 0.25), ("aaaabbbbcccc", "dddd"))

    def test_fraction_loses_and_repeats_nothing(self):
        texts = [SAMPLE, SAMPLE[:2000]]
        paths = [self.write(f"{i}.txt", text) for i, text in enumerate(texts)]
        out = self.prepared("--train", *paths, "--validation-fraction", 0.2, "--tokenizer", "bytes")
        with h5py.File(out) as file:
            pairs = zip(documents_of(file, "train"), documents_of(file, "validation"))
            for (head, tail), text in zip(pairs, texts):
                self.assertEqual(head + tail, text)
                self.assertTrue(head.endswith("\n"))
                self.assertTrue(0.2 <= len(tail) / len(text) < 0.25)

    def test_books_are_held_out_whole(self):
        books = {"Ruth": [["r1", "r2"], ["r3"]], "Mark": [["m1"]], "Jude": [["j1"]]}
        corpus = text_sources.cut_by_books(books, ("Ruth",))
        self.assertEqual((corpus.train, corpus.validation), (["m1\n", "j1\n"], ["r1\nr2\n", "r3\n"]))
        self.assertIn("Ruth", corpus.source)

    def test_cut_or_reworded_bible_is_refused(self):
        for text, expected in (("Ge1:1 a\nGe1:3 b\n", "line 2"), ("Ge1:1 a\nnonsense\n", "line 2"), ("Xyz1:1 a\n", "line 1"),
                               ("Ge1:1 a\n", "31102")):
            with self.assertRaisesRegex(Failure, expected):
                text_sources.parse_bible(text)

    @unittest.skipUnless(shutil.which("bible"), "the program bible (Debian package bible-kjv) is not installed")
    def test_bible(self):
        out = self.folder / "bible.h5"
        done = run("bible", "--out", out, "--vocabulary", 1000)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Ruth", done.stdout)
        with h5py.File(out) as file:
            train, held = documents_of(file, "train"), documents_of(file, "validation")
            source = file.attrs["source"]
        self.assertEqual(len(train) + len(held), 1189)  # chapters
        self.assertEqual(sum(text.count("\n") for text in train + held), 31_102)  # verses
        self.assertTrue(train[0].startswith("In the beginning God created the heaven and the earth.\n"))
        self.assertTrue(train[-1].endswith("The grace of our Lord Jesus Christ be with you all. Amen.\n"))
        self.assertEqual(set(train) & set(held), set())
        for book in text_sources.VALIDATION_BOOKS:
            self.assertIn(book, source)
        self.assertTrue(any(text.startswith("Now it came to pass in the days when the judges ruled") for text in held))
        self.assertTrue(0.05 < sum(map(len, held)) / sum(map(len, train + held)) < 0.08)
        self.assertNotRegex("".join(train + held), r"[0-9]")  # no label is left


class Debian(Folder):
    """The packages in small: a dictionary, pages, and a program `bible` whose verses say nothing but their labels."""

    ENTRIES = {"Abandon": "Abandon \\A*ban\"don\\, v. t.\n   1. To cast out.\n      [1913 Webster]\n\n"
                          "   2. fa\u00e7ade [Obs.]\n      [1913 Webster +PJC]\n",
               "Zebra": "Zebra \\Ze\"bra\\, n.\n   An animal.\n   [PJC]\n   [Obs.]\n",
               "abandonee": "abandonee \\a*ban`don*ee\"\\, n.\n   One to whom a thing is left.\n",
               "-ab-an": "-ab-an \\-\\, suffix\n   Made up.\n"}
    PAGE = "A page of documentation, long enough to be no stub.\n" * 25

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        self.write_bible()
        self.write_dictionary(self.ENTRIES)
        # Of these names, email.policy and perldsc are below 2 % of the hashes' range (sha256sum).
        for name in ("tutorial/index", "library/email.policy", "library/os"):
            self.write_page(f"usr/share/doc/python3.11/html/_sources/{name}.rst.txt", f"{name}\n{self.PAGE}")
        self.write_page("usr/share/doc/python3.11/html/_sources/library/stub.rst.txt", "A stub.\n")
        self.write_page("usr/share/doc/python3.9/html/_sources/old.rst.txt", self.PAGE)
        for name in ("perlfunc", "perldsc", "perldelta", "perltoc", "perl5100delta"):
            self.write_page(f"usr/share/perl/5.36.0/pod/{name}.pod", f"{name}\n{self.PAGE}")

    def write_page(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_bible(self):
        """31,102 verses, one chapter a book."""
        lines, books = [], list(text_sources.BOOKS)
        for i, book in enumerate(books):
            count = text_sources.BIBLE_VERSES * (i + 1) // len(books) - text_sources.BIBLE_VERSES * i // len(books)
            lines += [f"{book}1:{verse} And so {verse % 7} times in {book}.\n" for verse in range(1, count + 1)]
        program = self.folder / "bin" / "bible"
        program.parent.mkdir()
        (self.folder / "verses").write_text("".join(lines), encoding="utf-8")
        program.write_text(f"#!/bin/sh\nexec cat '{self.folder / 'verses'}'\n", encoding="utf-8")
        program.chmod(0o755)

    def write_dictionary(self, entries: dict[str, str], encoding: str = "cp1252"):
        """The text with an entry about itself first, and the index, its lines sorted by headword as dictd wants."""
        digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

        def number(value: int) -> str:
            return (number(value // 64) if value >= 64 else "") + digits[value % 64]

        text, index = b"", []
        for headword, entry in {"00-database-info": "00-database-info\n   Made up.\n", **entries}.items():
            raw = entry.encode(encoding)
            index += [f"{word}\t{number(len(text))}\t{number(len(raw))}\n" for word in (headword, headword + "s")]
            text += raw + b"\n"
        if encoding == "utf-8":
            index.append("00-database-utf8\tA\tB\n")
        folder = self.root / "usr/share/dictd"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gcide.dict.dz").write_bytes(gzip.compress(text))
        (folder / "gcide.index").write_text("".join(sorted(index)), encoding="utf-8")

    def dictionary(self) -> dict[str, str]:
        return {document.name: document.text for document in debian_sources.dictionary_documents(self.root)}

    def refused(self, expected: str):
        self.assert_refused(3, expected, "debian", "--root", self.root, "--tokenizer", "bytes", path=self.path)

    def test_documents_of_both_parts(self):
        out = self.folder / "out.h5"
        done = run("debian", "--root", self.root, "--out", out, "--tokenizer", "bytes", path=self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with h5py.File(out) as file:
            train, held = documents_of(file, "train"), documents_of(file, "validation")
            self.assertEqual(file["train"].attrs["source_words"], sum(len(text.split()) for text in train))
            self.assertIn("python3.11-doc", file.attrs["source"])
        self.assertEqual(len(train), 57 + 2 + 2 + 2)  # books, dictionary, python, perl
        self.assertEqual({text.split("\n")[0] for text in train if text.endswith(self.PAGE)},
                         {"tutorial/index", "library/os", "perlfunc", "perl5100delta"})
        self.assertEqual({text.split("\n")[0] for text in held if text.endswith(self.PAGE)},
                         {"library/email.policy", "perldsc"})
        self.assertEqual(sum(" times in Ruth." in text for text in held), 1)
        self.assertEqual(len(held), 9 + 2)

    def test_dictionary_entries_are_grouped_and_their_sources_left_out(self):
        self.assertEqual(self.dictionary(), {
            "gcide/aban": "Abandon \\A*ban\"don\\, v. t.\n   1. To cast out.\n\n   2. fa\u00e7ade [Obs.]\n\n"
                          "abandonee \\a*ban`don*ee\"\\, n.\n   One to whom a thing is left.\n\n"
                          "-ab-an \\-\\, suffix\n   Made up.\n",
            "gcide/zebr": "Zebra \\Ze\"bra\\, n.\n   An animal.\n   [Obs.]\n"})

    def test_dictionary_that_says_so_is_read_as_utf8(self):
        self.write_dictionary(self.ENTRIES, "utf-8")
        self.assertIn("fa\u00e7ade", self.dictionary()["gcide/aban"])

    def test_rule_of_the_held_out_part(self):
        names = [f"gcide/{i:04d}" for i in range(20_000)]
        self.assertTrue(0.017 < sum(map(debian_sources.held_out, names)) / len(names) < 0.023)
        digest = hashlib.sha256(b"perl/perldsc").hexdigest()
        self.assertEqual(debian_sources.name_hash("perl/perldsc"), int(digest[:16], 16))
        held = next(f"perl/perl{i}delta" for i in range(10_000)
                    if debian_sources.name_hash(f"perl/perl{i}delta") < 0.02 * 2**64)
        self.assertFalse(debian_sources.held_out(held))
        self.assertTrue(debian_sources.held_out("perl/perldsc"))

    def test_vocabulary_is_larger_than_the_bible_s(self):
        done = run("debian", "--root", self.root, "--out", self.folder / "x.h5", path=self.path)
        self.assertIn("--vocabulary 16384", done.stderr)  # more than this text can fill

    def test_missing_packages_are_named_at_once(self):
        shutil.rmtree(self.root / "usr/share/perl")
        self.refused("apt-get install perl-doc")
        shutil.rmtree(self.root / "usr/share/doc")
        (self.root / "usr/share/dictd/gcide.index").unlink()
        (self.root / "usr/share/dictd/gcide.dict.dz").unlink()
        self.path = str(self.folder)
        self.refused("apt-get install bible-kjv dict-gcide python3-doc perl-doc")

    def test_damaged_dictionary(self):
        index = self.root / "usr/share/dictd/gcide.index"
        whole = index.read_text(encoding="utf-8")
        for text, expected in ((whole + "Zoo\tzz\tB\n", "shorter than"), (whole + "Zoo\t?\tB\n", "line 11"),
                               (whole + "Zoo\n", "line 11")):
            index.write_text(text, encoding="utf-8")
            self.refused(expected)
        index.unlink()
        self.refused("gcide.index")


class Ids(Folder):
    """The commands encode and decode."""

    def test_there_and_back(self):
        train = ("--train", self.write("a.txt"))
        for arguments in (("--vocabulary", 400), ("--tokenizer", "bytes")):
            tokens = self.prepared(*train, *arguments)
            for text in ("In the beginning", "two  spaces\n\tünï 你好", "#"):
                done = run("encode", "--tokens", tokens, text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with h5py.File(tokens) as file:
                    expected = tokenizer_of(file).encode(text).tolist()
                self.assertEqual([int(x) for x in done.stdout.split()], expected)
                self.assertEqual(len(done.stdout.splitlines()), 1)
                samples = self.write("samples.txt", "# a remark 9999\n" + done.stdout + done.stdout + "\n")
                done = run("decode", "--tokens", tokens, samples)
                self.assertEqual(done.stdout, f"--- 0\n{text}\n--- 1\n{text}\n")

    def test_other_tokenizers(self):
        self.assertEqual(run("encode", "--tokenizer", "bytes", "ab").stdout, "97 98\n")
        ends = self.write("ends.txt", "97 256 98 256\n256 97\n")
        self.assertEqual(run("decode", "--tokenizer", "bytes", ends).stdout,
                         "--- 0\na<|endoftext|>b<|endoftext|>\n--- 1\n<|endoftext|>a\n")
        with h5py.File(self.prepared("--train", self.write("a.txt"), "--vocabulary", 400)) as file:
            model = self.folder / "a.model"
            model.write_bytes(file["tokenizer_model"][()].tobytes())
            expected = tokenizer_of(file).encode("lazy dogs").tolist()
        done = run("encode", "--tokenizer-model", model, "lazy dogs")
        self.assertEqual([int(x) for x in done.stdout.split()], expected)

    def test_refusals(self):
        bytes_here = ("--tokenizer", "bytes")
        for status, words, arguments in (
                (2, "required", ("encode", "text")),
                (3, "no such file", ("encode", "--tokens", self.folder / "none.h5", "text")),
                (3, "cannot be read", ("encode", "--tokens", self.write("a.txt"), "text")),
                (3, "line 2: not a list of ids", ("decode", *bytes_here, self.write("b.txt", "1 2\n3 x\n"))),
                (3, "line 1: an id that", ("decode", *bytes_here, self.write("c.txt", "1 257\n"))),
                (3, "No such file", ("decode", *bytes_here, self.folder / "none.txt"))):
            with self.subTest(words=words):
                done = run(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(words, done.stderr)


class BadInput(Folder):
    def setUp(self):
        super().setUp()
        self.text = ("text", "--train", self.write("a.txt"))

    def test_files(self):
        (self.folder / "binary.txt").write_bytes(b"abc\xff\xfe")
        (self.folder / "cut.txt.gz").write_bytes(gzip.compress(SAMPLE.encode("utf-8"))[:-20])
        self.write("empty.txt", "")
        for name, expected in (("absent.txt", "No such file"), ("binary.txt", "not UTF-8 text at byte 3"),
                               ("cut.txt.gz", "not a whole gzip file"),
                               ("empty.txt", "empty"), (".", "directory")):
            with self.subTest(name=name):
                self.assert_refused(3, expected, "text", "--train", self.folder / name)
        self.assert_refused(3, "not a SentencePiece model", *self.text, "--tokenizer-model", self.folder / "a.txt")
        self.assert_refused(3, "too short", "text", "--train", self.write("one.txt", "x"))

    def test_output_that_cannot_be_written(self):
        done = run(*self.text, "--tokenizer", "bytes", "--out", self.folder / "a.txt" / "x.h5")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)

    def test_usage(self):
        for expected, arguments in (
                ("required: --train", ("text",)),
                ("unrecognized arguments: --vocab", (*self.text, "--vocab", 300)),
                ("invalid choice", ("poem",)),
                ("must be between 0 and 1", (*self.text, "--validation-fraction", 1)),
                ("not allowed with", (*self.text, "--validation", "b.txt", "--validation-fraction", 0.1)),
                ("both a training and a validation file", (*self.text, "--validation", self.folder / "a.txt")),
                ("257 ids", (*self.text, "--tokenizer", "bytes", "--vocabulary", 300)),
                ("give at most", (*self.text, "--vocabulary", 100_000)),
                ("give at least", (*self.text, "--vocabulary", 100))):
            with self.subTest(expected=expected):
                self.assert_refused(2, expected, *arguments)

    def test_bible_missing(self):
        self.assert_refused(3, "bible-kjv", "bible", path=str(self.folder))

    def test_help(self):
        for arguments in (("--help",), ("bible", "--help"), ("debian", "--help"), ("text", "--help")):
            self.assertEqual(run(*arguments).returncode, 0)


if __name__ == "__main__":
    unittest.main()
