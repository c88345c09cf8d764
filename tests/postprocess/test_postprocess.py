"""postprocess: reader, table numbers, figures and report, on hand-made run folders."""

import csv
import io
import math
import re
import subprocess
import sys
import unittest
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np

from example_geometry import write_capacity
from example_run import write_member
from folder_case import PLACES, Folder as EmptyFolder, run

from postprocess import deck, reader, style, tables
from postprocess.analysis import comparison, variants
from postprocess.guard.failure import Failure
from postprocess.figures import history as history_figure

PAGE_LIMIT = 2_000_000  # bytes

# Another process that has the file open for writing, locked, one column a row ahead of the others.
HOLDER = """
import sys, h5py
file = h5py.File(sys.argv[1], "r+")
file["history/step"].resize((8,))
file.flush()
print("held", flush=True)
sys.stdin.read()
"""


class Folder(EmptyFolder):
    def three_members(self):
        self.member("tied", [5.0, 4.0])
        self.member("lev", [5.2, 3.913])
        self.member("binary_code", [6.5], steps=20, status="running")
        write_capacity(self.run_folder / "capacity.h5", [(f"runs/a_run/{name}/embedding.h5", side, matrix)
                                                         for name in ("tied", "lev") for side in ("input", "output")
                                                         for matrix in [self.random.normal(size=(50, 16))]])


class Reader(Folder):
    def test_reads_columns_units_and_attributes(self):
        self.member("tied", [5.0, 4.0])
        (member,) = reader.read_run(self.run_folder).members
        self.assertEqual((member.name, member.finished, member.text("blas")), ("tied", True, "oneDNN 2.6.3"))
        self.assertEqual(member.number("flops_per_token"), 20_000_000)
        np.testing.assert_array_equal(member.column("history/step"), np.arange(1, 41))
        np.testing.assert_array_equal(member.column("validation/loss"), [5.0, 4.0])
        self.assertEqual(member.columns["validation/loss"].unit, "nats per token")
        self.assertEqual(member.columns["history/train_loss"].definition, "definition of train_loss")
        self.assertTrue(math.isnan(member.number("absent")))
        self.assertEqual((member.text("absent"), member.column("history/absent").size), ("unknown", 0))

    def test_run_without_sweep(self):
        write_member(self.run_folder, "", losses=[4.0])
        (member,) = reader.read_run(self.run_folder).members
        self.assertEqual(member.name, "a_run")

    def test_fixed_length_strings(self):
        self.member("tied", [4.0])
        self.alter("tied/history.h5", blas=np.bytes_("OpenBLAS"), format=np.bytes_("lexikos-history"))
        self.assertEqual(reader.read_run(self.run_folder).members[0].text("blas"), "OpenBLAS")

    def test_run_in_progress(self):
        """No validation yet, one column a row ahead, no embedding, and another process that holds the file open."""
        folder = self.member("tied", [], steps=7, status="running")
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder / "history.h5")], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(holder.stdout.readline(), "held\n")
            (member,) = reader.read_run(self.run_folder).members
        finally:
            holder.communicate("")
        self.assertFalse(member.finished)
        self.assertEqual((member.column("history/step").size, member.column("history/train_loss").size), (7, 7))
        self.assertEqual(member.column("validation/loss").size, 0)

    def test_newer_version_is_refused(self):
        self.member("tied", [4.0])
        self.alter("tied/history.h5", format_version=np.int64(3))
        with self.assertRaisesRegex(Failure, "history.h5.*version 3 is newer"):
            reader.read_run(self.run_folder)

    def test_other_files_are_refused(self):
        folder = self.member("tied", [4.0])
        self.alter("tied/history.h5", format="something")
        with self.assertRaisesRegex(Failure, "format is 'something'"):
            reader.read_run(self.run_folder)
        (folder / "history.h5").write_bytes(b"half a fi")
        with self.assertRaisesRegex(Failure, "not a readable HDF5 file"):
            reader.read_run(self.run_folder)


class Numbers(Folder):
    def rows(self, reference: str | None = None) -> dict[str, comparison.Row]:
        found = variants.variants_of(reader.read_run(self.run_folder))
        return {row.variant: row for row in comparison.compare(found, variants.find_reference(found, reference))}

    def test_a_column_of_the_history_needs_its_key_only(self):
        self.seed_runs("tied", {1: [5.0, 4.0], 2: [5.1, 4.1]})
        rows = list(self.rows().values())
        keys = ["variant", "history/learning_rate", "validation/perplexity", "loss"]
        text = tables.text_table(rows, keys)
        self.assertRegex(text, r"variant +learning_rate +perplexity +loss\ntied +0\.001 +57\.\d+ +4\.0500")
        (row,) = csv.DictReader(io.StringIO(tables.csv_table(rows, keys)))
        self.assertEqual(float(row["history/learning_rate"]), 1e-3)
        self.assertAlmostEqual(float(row["validation/perplexity"]), (math.exp(4.0) + math.exp(4.1)) / 2.0)
        self.assertIn("learning_rate: definition of learning_rate (median over", tables.definition_text(keys, rows))
        for key in ("history/none", "geometry/epsilon"):
            with self.assertRaisesRegex(Failure, f"no column {key}"):
                tables.text_table(rows, ["variant", key])
            with self.assertRaisesRegex(Failure, f"no column {key}"):
                tables.csv_table(rows, ["variant", key])

    def test_difference_in_nats_and_both_percentages(self):
        """The published example: 0.087 nats below tied is 8.3 % of the reference's and 9.1 % of the member's
        perplexity."""
        self.member("tied", [5.0, 4.0])
        self.member("lev", [5.2, 3.913])
        lev = self.rows()["lev"]
        self.assertAlmostEqual(lev.difference_nats, -0.087)
        self.assertAlmostEqual(lev.change_of_reference, -0.0833230, places=6)
        self.assertAlmostEqual(lev.change_of_member, -0.0908967, places=6)
        self.assertAlmostEqual(lev.perplexity / math.exp(4.0) - 1.0, lev.change_of_reference)
        tied = self.rows("lev")["tied"]
        self.assertAlmostEqual(tied.change_of_reference, +0.0908967, places=6)
        self.assertAlmostEqual(tied.change_of_member, +0.0833230, places=6)

    def test_units_of_loss(self):
        self.member("tied", [4.0])
        row = self.rows()["tied"]
        self.assertAlmostEqual(row.perplexity, 54.598150, places=5)
        self.assertAlmostEqual(row.nats_per_byte, 1.0)  # 4 nats per token, 4 bytes per token
        self.assertAlmostEqual(row.bits_per_byte, 1.442695, places=6)
        self.assertAlmostEqual(row.word_perplexity, 148.413159, places=5)  # exp(4 / 0.8)
        self.assertEqual((row.targets, row.step, row.tokens), (62_000, 40, 40 * 4096))

    def test_speed_is_the_median_without_the_first_step(self):
        folder = self.member("tied", [4.0], steps=4)
        with h5py.File(folder / "history.h5", "r+") as file:
            file["history/tokens_per_second"][:] = [1.0, 3000.0, 9000.0, 5000.0]
        row = self.rows()["tied"]
        self.assertEqual(row.tokens_per_second, 5000.0)
        self.assertAlmostEqual(row.gemm_share, 20e6 * 5000.0 / 200e9)  # 0.5

    def test_what_is_unknown_is_not_a_number(self):
        self.member("tied", [4.0], gemm_gflops=math.nan, validation_bytes_per_token=math.nan,
                    validation_unigram_nats=math.nan, steps=1)
        row = self.rows()["tied"]
        for value in (row.gemm_share, row.bits_per_byte, row.unigram_nats, row.tokens_per_second, row.difference_nats):
            self.assertTrue(math.isnan(value))
        self.assertIn("N/A", tables.text_table([row], ["bits_per_byte"]))
        self.assertEqual(tables.csv_table([row], ["bits_per_byte", "loss"]), "bits_per_byte,loss\nN/A,4.0")

    def test_unfinished_member_is_compared_where_both_have_been(self):
        self.member("tied", [5.0, 4.0])
        self.member("lev", [4.9], steps=20, status="running")
        row = self.rows()["lev"]
        self.assertEqual(row.compared_at_tokens, 20 * 4096)
        self.assertAlmostEqual(row.difference_nats, -0.1)

    def test_reference(self):
        self.three_members()
        self.assertEqual(list(self.rows()), ["tied", "binary_code", "lev"])
        self.assertEqual(list(self.rows("lev")), ["lev", "binary_code", "tied"])
        with self.assertRaisesRegex(Failure, "no such variant; variants are binary_code, lev, tied"):
            self.rows("led")

    def test_statements_print_both_numbers(self):
        self.three_members()
        lines = dict(line.split(": ", 1) for line in comparison.statements(list(self.rows().values())))
        self.assertRegex(lines["tied"], r"4\.0000 .* is below .* 6\.0000\.")
        self.assertRegex(lines["binary_code"], r"6\.5000 .* is NOT below .* 6\.0000 \(unfinished: status is running\)")

    def test_decks_are_compared(self):
        self.three_members()
        members = reader.read_run(self.run_folder).members
        differing = deck.differing(members)
        self.assertEqual(differing.pop("embedding.interface"), ["binary_code", "lev", "tied"])
        self.assertEqual(list(differing), ["output.directory"])
        self.assertEqual(deck.shared(members)["transformer.layers"], 4)
        self.assertEqual(deck.comments(members[0])["problem"], "First run: input interfaces on the King James Bible")


class Figures(unittest.TestCase):
    def test_labels_keep_their_distance_and_order(self):
        placed = style.spread([0.5, 0.52, 0.1, 0.51], 0.1)
        self.assertEqual(np.argsort(placed).tolist(), [2, 0, 3, 1])
        self.assertGreaterEqual(np.diff(sorted(placed)).min(), 0.1 - 10 ** -PLACES)
        self.assertAlmostEqual(placed[2], 0.1)

    def test_running_mean_does_not_lag(self):
        smooth, window = history_figure.running_mean(np.arange(500.0))
        self.assertEqual(window, 11)
        np.testing.assert_allclose(smooth, np.arange(500.0))

    def test_members_look_different(self):
        looks = [(style.look(i).colour, style.look(i).marker) for i in range(20)]
        self.assertEqual(len(set(looks)), 20)


class Page(HTMLParser):
    """Collects what a page would load, its tags and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.loaded, self.open, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.loaded += [value for name, value in attributes if name in ("src", "href", "data", "srcset")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        self.words.append(data)


class Commands(Folder):
    def page(self, *arguments: object) -> str:
        done = run("report", self.run_folder, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (self.run_folder / "report.html").read_text(encoding="utf-8")

    def test_report(self):
        self.three_members()
        text = self.page()
        page = Page(text)
        words = "".join(page.words)
        self.assertEqual(page.open, [])  # every tag is closed
        self.assertEqual(len(page.loaded), 4)
        for address in page.loaded:  # self-contained: pictures are in the page
            self.assertTrue(address.startswith("data:image/png;base64,"))
        self.assertNotRegex(re.sub(r'"data:[^"]*"', "", text), r"https?://|@import|url\(|<script|<link")
        self.assertLess(len(text), PAGE_LIMIT)
        for name in ("tied", "lev", "binary_code"):
            self.assertRegex(words, rf"{name}: validation loss \d\.\d{{4}} nats per token is (NOT )?below the unigram")
            self.assertIn(f"Resolved deck of {name}", words)
        self.assertIn("Unfinished: binary_code (running)", words)
        self.assertIn("Not measured yet: binary_code", words)
        self.assertIn("-8.33 %", words)
        self.assertIn("-9.09 %", words)
        self.assertIn("over 62,000 validation targets", words)
        self.assertIn("reg. centred", words)
        for fact in ("oneDNN 2.6.3", "OpenMP, 2 threads", "fp32", "v0-test", "200.0"):
            self.assertIn(fact, words)
        for command in ("history", "cosine", "table", "frequency", "efficiency"):
            self.assertIn(f"python3 -m postprocess {command} {self.run_folder}", words)

    def test_report_of_a_run_that_has_just_begun(self):
        self.member("tied", [], steps=1, status="running")
        words = "".join(Page(self.page()).words)
        self.assertIn("tied: no validation yet (unfinished: status is running).", words)

    def test_names_from_outside_are_escaped(self):
        self.member("tied", [4.0], device="<script>alert(1)</script>")
        self.assertNotIn("<script", self.page())

    def test_figures(self):
        self.three_members()
        for arguments, made in ((("history",), "history.png"), (("cosine",), "cosine.png"),
                                (("cosine", "--matrix", "output"), "cosine_output.png")):
            done = run(arguments[0], self.run_folder, *arguments[1:])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual((self.run_folder / made).read_bytes()[:4], b"\x89PNG")
            self.assertIn(made, done.stdout)
        other = self.run_folder / "x.svg"
        self.assertEqual(run("history", self.run_folder, "-o", other).returncode, 0)
        self.assertIn(b"<svg", other.read_bytes())

    def test_table(self):
        self.three_members()
        done = run("table", self.run_folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"lev +3\.9130 +50\.049 +1\.4113 +163,840 +finished")
        self.assertRegex(done.stdout, r"lev +-0\.0870 +-8\.33 % +-9\.09 %")
        rows = list(csv.DictReader(io.StringIO(run("table", self.run_folder, "--csv").stdout)))
        self.assertEqual([row["variant"] for row in rows], ["tied", "binary_code", "lev"])
        self.assertAlmostEqual(float(rows[2]["difference_nats"]), -0.087)
        markdown = run("table", self.run_folder, "--markdown").stdout.splitlines()
        self.assertEqual({line.count("|") for line in markdown}, {markdown[0].count("|")})

    def test_errors_are_one_line(self):
        self.three_members()
        folder = self.run_folder
        (folder / "no_run").mkdir()
        for status, expected, arguments in (
                (3, "no such run folder", ("table", folder / "absent")),
                (3, "has the run started?", ("report", folder / "no_run")),
                (3, "no capacity.h5", ("cosine", folder / "binary_code")),
                (3, "cannot write", ("history", folder, "-o", folder / "none" / "x.png")),
                (2, "must end in .png", ("history", folder, "-o", folder / "x.bmp")),
                (2, "no such variant", ("table", folder, "--reference", "led")),
                (2, "unrecognized arguments: --mark", ("table", folder, "--mark")),
                (2, "invalid choice", ("plot", folder)),
                (2, "required: RUN", ("table",))):
            with self.subTest(expected=expected):
                done = run(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(expected, done.stderr)

    def test_help(self):
        for command in ("", "history", "table", "perplexity", "frequency", "efficiency", "cosine", "capacity", "packing",
                        "report"):
            self.assertEqual(run(*command.split(), "--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
