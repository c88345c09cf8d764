"""postprocess with files that are cut, changed or foreign, values that are not finite, and output that cannot be written."""

import contextlib
import io
import os
import random
import subprocess
import sys
import unittest
import warnings

import h5py
import numpy as np
from example_geometry import write_capacity, write_cell
from folder_case import SOURCE, Folder

from postprocess.guard import seal
from postprocess import numbers, reader, style
from postprocess.__main__ import main
from postprocess.analysis import efficiency
from test_tasks import write_tasks


class Damaged(Folder):
    def setUp(self):
        super().setUp()
        self.lev = self.member("lev", [5.0, 4.0, 3.9], geometry=[(10, 0, 0.2, 0.1), (20, 0, 0.15, 0.1)], evaluated=3.9)
        self.tied = self.member("tied", [5.0, 4.1, 4.0], geometry=[(10, 0, 0.2, 0.1), (20, 0, 0.15, 0.1)], evaluated=4.0)
        self.history = self.lev / "history.h5"

    def says(self, *arguments: object) -> tuple[int, str, str]:
        """(status, standard output, standard error), in this process."""
        out, complaints = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as the program does
            status = main([str(argument) for argument in arguments])
        return status, out.getvalue(), complaints.getvalue()

    def change(self, change, name="lev/history.h5") -> None:
        with h5py.File(self.run_folder / name, "r+") as file:
            change(file)


class Files(Damaged):
    def test_a_changed_byte_is_found_by_the_seal(self):
        content = self.history.read_bytes()
        sealed = content + seal.seal_of(content)
        self.history.write_bytes(sealed)
        self.succeed("table", self.run_folder)
        for at in (0, len(content) // 2, len(content) - 1):
            self.history.write_bytes(sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
            self.refuse(3, "damaged: its bytes are not those that were sealed", "table", self.run_folder)

    def test_blocks_of_zeros_cut_ends_and_random_bytes(self):
        """Without a seal: HDF5 may crash or loop on them, in a child."""
        content, draw = self.history.read_bytes(), random.Random(5)
        for _ in range(25):
            damaged, at = bytearray(content), draw.randrange(len(content))
            count = draw.choice((8, 64, 512))
            damaged[at : at + count] = draw.choice((bytes(count), draw.randbytes(count)))
            self.history.write_bytes(damaged if draw.random() < 0.7 else content[:at])
            status, _, complaints = self.says("table", self.run_folder)
            self.assertIn(status, (0, 3), complaints)
            self.assertLessEqual(len(complaints.splitlines()), 2, complaints)
        for other in (b"", bytes(3000), b"\x89HDF\r\n\x1a\n" + bytes(500)):
            self.history.write_bytes(other)
            self.refuse(3, "not a readable HDF5 file", "report", self.run_folder)

    def test_a_library_that_crashes_or_takes_all_memory_is_a_line(self):
        for function, words in ((os.abort, "reading it came to a crash (SIGABRT)"), (lambda: bytearray(1 << 40), "larger than memory"),
                                (lambda: 1 / 0, "damaged or incomplete (division by zero)")):
            with self.assertRaisesRegex(reader.Failure, words.replace("(", r"\(").replace(")", r"\)")):
                reader.stored.read(self.history, "lexikos-history", (0, 2, ""), lambda file, call=function: call())

    def test_columns(self):
        column = self.history_column
        for words, change in (
                ("was created, but not all of it was ever written", column("validation/loss", lambda f, n: f.create_dataset(n, (3,), "f8"))),
                ("was created, but not all", column("history/train_loss", lambda f, n: f.create_dataset(n, (1 << 40,), "f8", chunks=(1024,)))),
                ("is no column of numbers", column("validation/loss", lambda f, n: f.create_group(n))),
                ("is no column of numbers", column("validation/loss", lambda f, n: f.create_dataset(n, data=["a", "b", "c"]))),
                ("is no column of numbers", column("validation/loss", lambda f, n: f.create_dataset(n, data=np.ones((3, 2))))),
                ("no column validation/tokens", column("validation/tokens", lambda f, n: None)),
                ("what is no whole number", column("validation/tokens", lambda f, n: f.create_dataset(n, data=[1.0, np.nan, 3.0]))),
                ("goes back", column("validation/tokens", lambda f, n: f.create_dataset(n, data=[3, 2, 1]))),
                ("its /validation/loss lies in another file",
                 column("validation/loss", lambda f, n: f.__setitem__(n, h5py.ExternalLink("none.h5", "/x")))),
                ("damaged or incomplete", column("validation/loss", lambda f, n: f.__setitem__(n, h5py.SoftLink("/nowhere")))),
                ("lies in other files", column("validation/loss", self.virtual)),
                ("its format_version is 'two'", lambda f: f.attrs.__setitem__("format_version", "two"))):
            with self.subTest(words=words):
                kept = self.history.read_bytes()
                self.change(change)
                self.refuse(3, words, "table", self.run_folder)
                self.history.write_bytes(kept)

    @staticmethod
    def history_column(name: str, make):
        def change(file: h5py.File) -> None:
            del file[name]
            make(file, name)

        return change

    @staticmethod
    def virtual(file: h5py.File, name: str) -> None:
        layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
        layout[:] = h5py.VirtualSource("none.h5", "x", shape=(3,))
        file.create_virtual_dataset(name, layout)

    def test_tasks_and_cells(self):
        write_tasks(self.lev, "lev", 0, "lev")
        for name, values, words in (("metrics/weight", np.zeros(3), "metrics do not fit together"),
                                    ("documents/first_request", np.zeros(2, int), "do not fit together"),
                                    ("metrics/first", np.array([3, 2, 1]), "metrics do not fit together")):
            kept = (self.lev / "tasks.h5").read_bytes()
            self.change(self.history_column(name, lambda f, n, v=values: f.create_dataset(n, data=v)), "lev/tasks.h5")
            self.refuse(3, words, "tasks", self.run_folder)
            (self.lev / "tasks.h5").write_bytes(kept)
        write_cell(self.run_folder, "optimised", 16, 32, float("nan"))
        self.refuse(3, "no cell has", "packing", self.run_folder)

    def test_a_section_that_cannot_be_made_leaves_the_others(self):
        (self.run_folder / "capacity.h5").write_bytes(b"none")
        status, _, complaints = self.says("report", self.run_folder)
        self.assertEqual(status, 0, complaints)
        self.assertIn("the report has no section capacity", complaints)
        page = (self.run_folder / "report.html").read_text()
        self.assertIn("Training tokens to reach", page)
        self.assertIn("not a readable HDF5 file", page)

    def test_two_sources_of_one_matrix(self):
        matrix = np.random.default_rng(1).normal(size=(20, 8))
        for folder in (self.run_folder, self.run_folder / "older"):
            write_capacity(folder / "capacity.h5", [(f"runs/{name}/embedding.h5", "input", matrix) for name in ("lev", "tied")])
        self.refuse(3, "older/capacity.h5 both have the input matrix of lev", "cosine", self.run_folder)
        other = self.lev / "nested"
        other.mkdir()
        (other / "history.h5").write_bytes(self.history.read_bytes())
        _, _, complaints = self.says("table", self.lev)
        self.assertIn("is read, and not those of the folders in it: nested", complaints)


class NotFinite(Damaged):
    def put(self, name: str, place: int, value: float) -> None:
        self.change(lambda file: file[name].__setitem__(place, value))

    def test_is_said_by_every_command(self):
        self.put("history/train_loss", 4, np.nan)
        self.put("validation/loss", 2, np.inf)
        figure = self.run_folder / "x.png"
        for command in (("table",), ("table", "--csv"), ("perplexity", "-o", figure), ("history", "-o", figure), ("efficiency",), ("report",)):
            with self.subTest(command=command):
                status, _, complaints = self.says(*command[:1], self.run_folder, *command[1:])
                self.assertEqual((status, len(complaints.splitlines())), (0, 1), complaints)
                self.assertIn("lev: NaN or infinite are 1 of 40 values of history/train_loss, first at step 5; 1 of 3 values of "
                              "validation/loss, first at step 40", complaints)
        self.assertIn("1 of 40 values of history/train_loss", (self.run_folder / "report.html").read_text())

    def test_is_no_number_in_tables(self):
        self.put("validation/loss", 2, np.nan)
        for form in ((), ("--csv",), ("--markdown",)):
            self.assertIn("N/A", self.says("table", self.run_folder, *form)[1])
        self.assertEqual([numbers.shown(".2f", value) for value in (np.nan, np.inf, -np.inf, (1.0, np.nan))],
                         ["N/A", "infinite", "-infinite", "N/A"])
        self.assertEqual([numbers.shown("capacity", value) for value in (np.nan, np.inf)], ["N/A", "infinite"])
        self.assertTrue(np.isnan(efficiency.tokens_to_reach(np.array([1.0, 2.0]), np.array([np.nan, np.nan]), 3.0)))
        self.assertTrue(np.isnan(efficiency.tokens_to_reach(np.array([1.0, 2.0]), np.array([5.0, 4.0]), np.nan)))
        self.change(lambda file: file["validation/loss"].__setitem__(2, np.nan), "tied/history.h5")
        self.assertIn("N/A", self.says("efficiency", self.run_folder)[1])

    def test_what_was_never_measured(self):
        member = self.member("none", [], gemm_gflops=0.0)
        status, shown, complaints = self.says("table", member)
        self.assertEqual((status, complaints), (0, ""))
        self.assertIn("no validation yet", shown)
        self.assertNotRegex(shown, r"\b0\.0000\b|\b1\.000\b")
        self.assertEqual(self.says("report", member)[0], 0)
        self.assertRegex((member / "report.html").read_text(), r"matrix-product rate \(GFLOP/s\)</td><td[^>]*>N/A")

    def test_in_capacity_and_tasks(self):
        write_capacity(self.run_folder / "capacity.h5", [("a/embedding.h5", "input", np.eye(9)[:, :5] + 0.1)])
        self.change(lambda file: file["matrices/0/raw"].attrs.__setitem__("epsilon", np.nan), "capacity.h5")
        figure = self.run_folder / "x.png"
        status, shown, complaints = self.says("capacity", self.run_folder, "-o", figure, "--histograms", figure)
        self.assertEqual((status, len(complaints.splitlines())), (0, 1), complaints)
        self.assertRegex(complaints, "a/embedding.h5 .input.: NaN or infinite in .*capacity.h5 are raw: epsilon")
        write_tasks(self.lev, "lev", 0, "lev")
        self.change(lambda file: file["metrics/numerator"].__setitem__(0, np.nan), "lev/tasks.h5")
        status, shown, complaints = self.says("tasks", self.lev)
        self.assertEqual((status, len(complaints.splitlines())), (0, 1), complaints)
        self.assertIn("N/A", shown)


class Names(Damaged):
    def test_from_outside(self):
        """Formulas, terminal sequences, names that are not UTF-8: all is text."""
        folder = self.run_folder / os.fsdecode(b"x\xff")
        self.member("x", [5.0, 4.0]).rename(folder)
        self.alter(f"{folder}/history.h5", member="_$\\bad$\n\x1b[31m\u4f60", status="finished\n")
        for command in (("table",), ("history", "-o", self.run_folder / "x.png"), ("report",)):
            status, shown, complaints = self.says(*command[:1], self.run_folder, *command[1:])
            self.assertEqual((status, complaints), (0, ""))
            self.assertNotIn("\x1b", shown)
        self.assertEqual(style.plain("_a$b"), " _a\\$b")

    def test_a_large_figure_has_fewer_dots(self):
        self.assertEqual(style._resolution(7.0, 6.0), style.DPI)
        self.assertLess(style._resolution(7.0, 3000.0) * 3000.0, style.LONGEST_SIDE + 1)


class Programs(Damaged):
    def test_help_needs_no_package(self):
        done = subprocess.run([sys.executable, "-S", "-m", "postprocess", "--help"], capture_output=True, text=True, cwd=SOURCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = subprocess.run([sys.executable, "-S", "-m", "postprocess", "table", "x"], capture_output=True, text=True, cwd=SOURCE,
                              check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (5, 1), done.stderr)

    def test_output(self):
        for path, status in ((self.history, 2), (self.run_folder / "x.txt", 2), (self.run_folder / "none" / "x.html", 3)):
            kept = self.history.read_bytes()
            found, _, complaints = self.says("report", self.run_folder, "-o", path)
            self.assertEqual((found, len(complaints.splitlines())), (status, 1), complaints)
            self.assertEqual(self.history.read_bytes(), kept)
        environment = {**os.environ, "HOME": str(self.run_folder), "MPLBACKEND": "none such"}
        done = subprocess.run([sys.executable, "-m", "postprocess", "history", str(self.run_folder), "-o", "~/home.png"],
                              capture_output=True, text=True, cwd=SOURCE, env=environment, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.run_folder / "home.png").is_file())
        for redirection, status in ((">/dev/full", 3), ("| head -n 1 >/dev/null", 0)):
            command = f'"$0" -m postprocess table "$1" {redirection}; exit ${{PIPESTATUS[0]}}'
            done = subprocess.run(["bash", "-c", command, sys.executable, str(self.run_folder)], capture_output=True, text=True,
                                  cwd=SOURCE, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (status, status // 3), done.stderr)


if __name__ == "__main__":
    unittest.main()
