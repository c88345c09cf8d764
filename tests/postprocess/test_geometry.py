"""postprocess of the jobs capacity and packing: laws, fits to the published cells, tables, figures, damaged files."""

import csv
import io
import math
import subprocess
import sys
import unittest

import h5py
import numpy as np
from scipy.optimize import brentq

from example_geometry import write_capacity, write_cell
from folder_case import PLACES, SOURCE, Folder

from postprocess import deck, numbers, published, reader
from postprocess.analysis import capacity as capacity_table, law, packing as packing_table, packing_fits, variants
from postprocess.analysis import cosines
from postprocess.figures import capacity as capacity_figure, histograms, packing as packing_figure

# (d, epsilon) -> capacity by the four-parameter law, as printed in the paper
PRINTED = {(4096, 0.0645): 3.99e7, (5120, 0.06766): 5.11e8, (2560, 0.05497): 4.57e5, (16384, 0.04813): 1.22e11,
           (4096, 0.07019): 1.33e8, (2048, 0.06329): 4.81e5, (7168, 0.05917): 1.16e9, (4096, 0.04874): 1.77e6}


class Laws(unittest.TestCase):
    def test_random_line(self):
        """The k of the line is where the law reaches the epsilon of random directions."""
        constants = law.Law(scale=0.45809143, a=1.0668005, b=1.44738666, c=0.97197234)
        # Found between points 0.01 apart in log10(k): 0.01^2 / 8 of the second derivative, which is below 0.04.
        for d in (48, 512, 4096):
            k = 10.0 ** law.log10_random(d, constants)
            self.assertAlmostEqual(float(law.fitted_epsilon(d, k, 0.45809143, 1.0668005, 1.44738666, 0.97197234)),
                                   2.0 / math.sqrt(d), places=6)

    def test_edges(self):
        self.assertEqual(float(law.adjusted_epsilon(100, 100, 1.3)), 0.0)
        self.assertEqual(float(law.fitted_epsilon(100, 99, 0.46, 1.07, 1.45, 0.97)), 0.0)
        self.assertEqual([numbers.capacity_text(x) for x in (math.log10(278), 300.0, 1234.567, math.nan)],
                         ["278", "10^300.00", "10^1234.57", "N/A"])
        self.assertEqual([numbers.capacity_text(math.log10(2.5), up) for up in (False, True)], ["2", "3"])

    def test_welch_bound(self):
        """Met by a simplex of d + 1 vectors; 0 for a basis."""
        self.assertAlmostEqual(float(law.welch_bound(7, 8)), 1.0 / 7.0, PLACES)
        self.assertAlmostEqual(float(law.welch_bound(2, 3)), 0.5, PLACES)
        self.assertEqual(float(law.welch_bound(8, 8)), 0.0)

    def test_no_published_cell_breaks_the_welch_bound(self):
        for cell in packing_table.published_cells():
            self.assertGreaterEqual(cell.epsilon, float(law.welch_bound(cell.d, cell.k)), cell)


class Fits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fits = {(fit.form, fit.cells): fit for fit in packing_table.fits([])}

    def test_data(self):
        cells = published.packing("optimised")
        self.assertEqual((len(cells), sum(cell.k > cell.d for cell in cells), len(published.packing("random"))),
                         (166, 160, 256))
        self.assertIn((2000, 32, 0.38594261), [(cell.k, cell.d, cell.epsilon) for cell in cells])

    def test_constants(self):
        self.assertEqual(f"{self.fits['JL, random', 'all'].C:.4f}", "3.0295")
        self.assertEqual(f"{self.fits['adjusted', 'all'].C:.5f}", "1.29340")
        self.assertEqual(f"{self.fits['JL, optimised', 'all'].C:.5f}", "0.70676")
        for which in ("all", "k > d"):
            for found, printed in zip(self.fits["four-parameter", which].constants,
                                      (0.45809143, 1.0668005, 1.44738666, 0.97197234)):
                self.assertLess(abs(found / printed - 1.0), 5e-5)

    def test_quality(self):
        for form, which, r2, mape in (
                ("JL, random", "all", ".9985", "1.31"), ("JL, optimised", "all", ".963", "975"),
                ("adjusted", "all", ".99835", "7.95"), ("four-parameter", "all", ".9998", "5.4"),
                ("JL, optimised", "k > d", ".965", "52.4"), ("adjusted", "k > d", ".9983", "4.50"),
                ("four-parameter", "k > d", ".9998", "1.8")):
            fit = self.fits[form, which]
            for value, printed in ((fit.r2, r2), (100.0 * fit.mape, mape)):
                decimals = len(printed.partition(".")[2])
                self.assertEqual(f"{value:.{decimals}f}".lstrip("0"), printed, (form, which))

    def test_least_squares_against_its_condition(self):
        """One constant: the derivative of the sum of squares, solved by another method."""
        cells = published.packing("optimised")
        d, k, e = (np.array([getattr(cell, key) for cell in cells], float) for key in ("d", "k", "epsilon"))
        shape = np.sqrt(np.log(k) / d)
        root = brentq(lambda c: np.sum(shape * (c * shape - e)), 0.1, 5.0)
        # A search ends where the sum of squares changes by 1e-14, which is flat there: the constant by the root of that.
        self.assertAlmostEqual(self.fits["JL, optimised", "all"].C, root ** 2, delta=1e-7)

    def test_law_is_found_again(self):
        true = (0.3, 1.1, 1.3, 0.9)
        cells = [published.Cell("optimised", d, k, float(law.fitted_epsilon(d, k, *true)))
                 for d in (32, 100, 400) for k in (500, 2000, 10_000)]
        fit = packing_fits.chosen(packing_fits.fit_all("test", cells), "four-parameter")
        np.testing.assert_allclose(fit.constants, true, rtol=10 ** -PLACES)
        self.assertAlmostEqual(fit.r2, 1.0, places=PLACES)

    def test_constants_that_the_cells_do_not_determine(self):
        """One width says nothing of the power of d; as many cells as constants say nothing of the error."""
        spread = [(16, 1000), (64, 9000), (256, 2000), (1024, 30_000)]
        epsilons = [float(law.fitted_epsilon(d, k, 0.3, 1.1, 1.3, 0.9)) for d, k in spread]
        for cells in ([published.Cell("optimised", 64, k, 0.02 * math.log(k)) for k in range(1000, 9000, 1000)],
                      [published.Cell("optimised", d, k, epsilon) for (d, k), epsilon in zip(spread, epsilons)]):
            fits = packing_fits.fit_all("test", cells)
            self.assertIsNone(packing_fits.chosen(fits, "four-parameter"))
            self.assertIsNotNone(packing_fits.chosen(fits, "adjusted"))
            self.assertEqual(list(packing_fits.law_constants(fits)), ["adjusted"])
        self.assertIsNone(packing_fits.chosen(packing_fits.fit_all("test", cells[:1]), "adjusted"))

    def test_cells_with_as_many_vectors_as_dimensions_are_not_above(self):
        cells = [published.Cell("optimised", 100, k, 0.01) for k in (99, 100, 101, 102)]
        self.assertEqual({fit.cells: fit.number for fit in packing_fits.fit_all("test", cells)}, {"all": 4, "k > d": 2})


class EpsilonWhileTraining(Folder):
    """Two seeds of one variant, measured at steps 0, 20 and 40; the second seed is one measurement behind."""

    def runs(self):
        for seed, shift, steps in ((1, 0.0, (0, 20, 40)), (2, 0.04, (0, 20))):
            rows = [row for step in steps for row in ((step, 0, 0.2 + shift + step / 100.0, 0.1 + shift),
                                                      (step, 1, 0.5 + shift, 0.4))]
            self.member(f"untied-seed{seed}", [5.0, 4.0], seed=seed, interface="untied", width=64, geometry=rows)
        self.member("tied-seed1", [5.0, 4.5], seed=1, interface="tied")

    def test_table_has_the_last_measurement_of_all_seeds(self):
        self.runs()
        out = self.succeed("epsilon", self.run_folder)
        # Step 20: 0.40 and 0.44 of the input matrix; sd 0.04 / sqrt(2); times sqrt(64) / 2.
        self.assertRegex(out, r"untied +input +2 +81,920 +0\.4200 +0\.0283 +0\.1200 +1\.68")
        self.assertRegex(out, r"untied +output +2 +81,920 +0\.5200 +0\.0283 +0\.4000 +2\.08")
        self.assertNotIn("tied     input", out)
        self.assertTrue((self.run_folder / "epsilon.png").read_bytes().startswith(b"\x89PNG"))
        self.assertIn("Epsilon while training", self.page())

    def test_runs_without_it(self):
        self.member("tied", [5.0, 4.5])
        self.refuse(3, "geometry.every", "epsilon", self.run_folder)
        self.assertNotIn("Epsilon while training", self.page())

    def page(self) -> str:
        self.succeed("report", self.run_folder)
        return (self.run_folder / "report.html").read_text(encoding="utf-8")


class Packing(Folder):
    def cells(self):
        for cell in published.packing("optimised") + published.packing("random"):
            if cell.d <= 256 and cell.k <= 6000:
                write_cell(self.run_folder, cell.kind, cell.d, cell.k, cell.epsilon * (1.02 if cell.d == 64 else 1.0))

    def test_table(self):
        self.cells()
        out = self.succeed("packing", self.run_folder)
        self.assertRegex(out, r"optimised +32 +2,000 +11 +5,000 +0\.385943 +0\.385943 +1\.0000 +0\.175401")
        self.assertRegex(out, r"optimised +64 +2,000 .* 1\.0200 ")
        self.assertRegex(out, r"random +256 +2,000 +N/A +1,000 +0\.283447")
        self.assertRegex(out, r"published +JL, optimised +all +166 +0\.70676 +0\.96308 +975\.34 %")
        self.assertRegex(out, r"measured +four-parameter +all +12 ")
        self.assertIn("1.0000 to 1.0200", out)
        self.assertNotIn("were made with other", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_csv(self):
        write_cell(self.run_folder, "optimised", 32, 2000, 0.4, repeats=100)
        write_cell(self.run_folder / "b", "optimised", 32, 2001, 0.4)
        rows = list(csv.DictReader(io.StringIO(self.succeed("packing", self.run_folder, "--csv"))))
        self.assertEqual([row["k"] for row in rows], ["2000", "2001"])
        self.assertAlmostEqual(float(rows[0]["to_published"]), 0.4 / 0.38594261)
        self.assertEqual((rows[1]["published"], rows[1]["to_published"]), ("N/A", "N/A"))
        rows = list(csv.DictReader(io.StringIO(self.succeed("packing", self.run_folder, "--published", "--csv"))))
        self.assertEqual(len(rows), 166 + 256 + 1)
        fits = list(csv.DictReader(io.StringIO(self.succeed("packing", "--fits", "--csv"))))
        self.assertEqual((len(fits), fits[0]["b"]), (8, "N/A"))
        self.assertIn("1 optimised cell was made with other than the published 5,000 steps", " ".join(
            self.succeed("packing", self.run_folder).split()))

    def test_law_for_the_deck(self):
        self.cells()
        settings = deck.parsed(self.succeed("packing", "--toml"))
        self.assertAlmostEqual(settings["capacity.law.jl_random"], 3.0295, places=4)
        found = law.from_deck(settings)
        self.assertAlmostEqual(found.b, 1.44738666, places=4)
        ours = law.from_deck(deck.parsed(self.succeed("packing", self.run_folder, "--toml")))
        self.assertNotAlmostEqual(ours.adjusted, found.adjusted, places=3)

    def test_figure(self):
        write_cell(self.run_folder, "optimised", 64, 2000, 0.25)
        path = self.run_folder / "p.svg"
        self.succeed("packing", self.run_folder, "-o", path)
        self.assertIn(b"<svg", path.read_bytes())

    def test_what_the_figure_shows(self):
        """Published cells alone: a panel for each dimension; points at the cells, and the bound below all of them."""
        panels = [axes for axes in packing_figure.draw([], packing_table.fits([])).axes if axes.get_visible()]
        self.assertEqual(len(panels), 13)
        drawn = {line.get_marker(): line for line in panels[3].lines
                 if line.get_linestyle() == "None" and len(line.get_xdata())}
        self.assertEqual({mark: len(line.get_xdata()) for mark, line in drawn.items()}, {"o": 16, "s": 16})
        self.assertEqual(drawn["o"].get_ydata()[0], next(cell.epsilon for cell in published.packing("optimised")
                                                         if (cell.d, cell.k) == (256, 2000)))
        curves = [line for line in panels[3].lines if line.get_linestyle() != "None"]
        self.assertEqual(len(curves), 5)
        self.assertLess(curves[-1].get_ydata().max(), drawn["o"].get_ydata().min())

    def test_damaged_files(self):
        good = write_cell(self.run_folder, "optimised", 32, 2000, 0.4)
        whole = good.read_bytes()
        for change, words in ((lambda: good.write_bytes(whole[:len(whole) // 2]), "not a readable HDF5 file"),
                              (lambda: good.write_text("<html>"), "not a readable HDF5 file"),
                              (lambda: write_cell(self.run_folder, "optimised", 32, 2000, math.nan), "epsilon nan"),
                              (lambda: write_cell(self.run_folder, "optimised", 32, 2000, 0.4, format_version=9), "newer"),
                              (lambda: self.without(good, "epsilon"), "epsilon")):
            good.write_bytes(whole)
            change()
            self.refuse(3, words, "packing", self.run_folder)
        good.unlink()
        self.refuse(3, "no cell_*.h5", "packing", self.run_folder)
        self.refuse(3, "no such folder", "packing", self.run_folder / "absent")

    def without(self, path, attribute: str):
        with h5py.File(path, "r+") as file:
            del file.attrs[attribute]


class Capacity(Folder):
    def capacity(self, **settings) -> None:
        matrix = self.random.normal(size=(200, 48)) + 0.3
        matrix[5] = 0.0
        write_capacity(self.run_folder / "capacity.h5", [
            ("runs/first_run/lev/embedding.h5", "input", matrix), ("runs/first_run/lev/embedding.h5", "output", -matrix),
            ("x/gauss.npy", "input", self.random.normal(size=(100, 512)))], **settings)

    def rows(self) -> dict[tuple[str, str], capacity_table.Row]:
        return {(row.matrix, row.row_set): row for row in capacity_table.rows([reader.read_capacity(self.run_folder)])}

    def test_rows(self):
        self.capacity()
        rows = self.rows()
        self.assertEqual(list(dict.fromkeys(name for name, _ in rows)), ["lev", "lev output", "gauss"])
        raw, centred = rows["lev", "all"], rows["lev", "centred"]
        self.assertEqual((raw.count, raw.width, raw.vocabulary, raw.capacity_class), (199, 48, 200, "1"))
        self.assertAlmostEqual(raw.epsilon, raw.mean + 2.0 * raw.deviation)
        self.assertGreater(raw.mean, 0.05)
        self.assertLess(abs(centred.mean), 0.01)
        self.assertEqual(raw.histogram.sum(), 199 * 198 / 2)
        self.assertEqual(rows["gauss", "all"].capacity_class, "2")
        self.assertTrue(math.isnan(rows["lev", "regular"].epsilon))  # a set without pairs

    def test_names(self):
        matrix = self.random.normal(size=(10, 4))
        files = ["a/embedding.h5", "b/embedding.h5", "w/Llama-2-7B/model.safetensors", "w/Qwen2.5-7B", "c/table.h5:/x/y",
                 "d/same.npy", "e/same.npy", "e/same.npy", "m/model-00001-of-00002.safetensors",
                 "runs/r/checkpoint_00000010.h5"]
        write_capacity(self.run_folder / "capacity.h5", [(file, "input", matrix) for file in files])
        names = [row.matrix for row in capacity_table.facts([reader.read_capacity(self.run_folder)])]
        self.assertEqual(names, ["a", "b", "Llama-2-7B", "Qwen2.5-7B", "table", "d/same.npy", "e/same.npy (1)",
                                 "e/same.npy (2)", "m", "r"])

    def test_table(self):
        self.capacity()
        out = self.succeed("capacity", self.run_folder)
        self.assertRegex(out, r"lev +200 +48 +F32 +1 +2 +N/A +1\n")
        self.assertRegex(out, r"gauss +all +10 +100 +1000 +10\^400\.00")
        self.assertNotIn("different constants", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        rows = list(csv.DictReader(io.StringIO(self.succeed("capacity", self.run_folder / "capacity.h5", "--csv"))))
        self.assertEqual((len(rows), rows[0]["log10_k_fitted"], rows[2]["epsilon"]), (9, "400.0", "N/A"))

    def test_untrained_rows_are_known_with_tokens_only(self):
        self.capacity(tokens="runs/data/a.h5")
        self.assertRegex(self.succeed("capacity", self.run_folder), r"lev +200 +48 +F32 +1 +2 +2 +1\n")

    def test_another_law_is_said(self):
        self.capacity(adjusted=1.5)
        self.assertIn("adjusted = 1.5, scale = 0.45809143", " ".join(self.succeed("capacity", self.run_folder).split()))
        other = self.run_folder / "other"
        write_capacity(other / "capacity.h5", [("a.npy", "input", self.random.normal(size=(10, 4)))])
        self.assertIn("different constants", self.succeed("capacity", self.run_folder, other))

    def test_figures(self):
        self.capacity()
        one, two = self.run_folder / "map.png", self.run_folder / "cosines.svg"
        out = self.succeed("capacity", self.run_folder, "-o", one, "--histograms", two)
        self.assertIn(f"wrote {one}", out)
        self.assertIn(f"wrote {two}", out)
        self.assertEqual(one.read_bytes()[:4], b"\x89PNG")
        self.assertIn(b"<svg", two.read_bytes())

    def test_epsilon_is_where_the_figures_mark_it(self):
        self.capacity()
        rows = list(self.rows().values())
        panel = histograms.draw(rows).axes[0]
        marked = sorted(line.get_xdata()[0] for line in panel.lines if line.get_marker() == "v")
        shown = sorted(row.epsilon for row in rows if row.matrix == "lev" and row.histogram is not None)
        np.testing.assert_allclose(marked, shown)
        left, right = capacity_figure.draw(rows, law.Law()).axes
        heights = [float(np.ravel(line.get_ydata())[0]) for line in left.lines if line.get_marker() in "os^"]
        for epsilon in shown:
            self.assertIn(epsilon, heights)
        (random,) = [line for line in left.lines if line.get_linestyle() == ":" or len(line.get_xdata()) == 200]
        np.testing.assert_allclose(random.get_ydata(), 2.0 / np.sqrt(random.get_xdata()))
        self.assertEqual(sum(len(line.get_xdata()) for line in right.lines if line.get_marker() == "x"),
                         len(published.models()))

    def test_published_models_are_what_the_law_gives(self):
        models = published.models()
        self.assertEqual({(model.width, model.epsilon): model.capacity for model in models}, PRINTED)
        self.assertTrue(all(model.source for model in models))

    def test_damaged_files(self):
        self.capacity()
        path = self.run_folder / "capacity.h5"
        whole = path.read_bytes()

        def change(action):
            with h5py.File(path, "r+") as file:
                action(file)

        def no_raw(file):
            del file["matrices/1/raw"]

        def no_width(file):
            del file["matrices/0"].attrs["width"]

        def no_matrix(file):
            for name in list(file["matrices"]):
                del file["matrices"][name]

        def packing(file):
            file.attrs["format"] = "lexikos-packing"

        for action, words in ((lambda: path.write_bytes(whole[:5000]), "not a readable"), (lambda: change(no_raw), "/raw"),
                              (lambda: change(no_width), "width"), (lambda: change(no_matrix), "no matrix"),
                              (lambda: change(packing), "format is"), (path.unlink, "no such file")):
            with self.subTest(words=words):
                path.write_bytes(whole)
                action()
                self.refuse(3, words, "capacity", self.run_folder)


class Cosines(Folder):
    """Members' matrices over the seeds, from a capacity.h5 of the run."""

    def measured(self, *names: str) -> dict[str, np.ndarray]:
        matrices = {name: self.random.normal(size=(60, 16)) + 0.2 for name in names}
        write_capacity(self.run_folder / "capacity.h5", [(f"{self.run_folder / name}/embedding.h5", side, matrix)
                                                         for name, matrix in matrices.items() for side in ("input", "output")])
        return matrices

    def test_over_seeds(self):
        for variant in ("tied", "lev"):
            self.seed_runs(variant, {1: [5.0, 4.0], 2: [5.0, 4.1]})
        matrices = self.measured("tied-seed1", "tied-seed2", "lev-seed2")
        run = reader.read_run(self.run_folder)
        measured, missing = cosines.measured_members(run, "input")
        self.assertEqual((set(measured), missing), (set(matrices), ["lev-seed1"]))
        rows = {(row.variant, row.rows): row for row in cosines.over_seeds(variants.variants_of(run), measured)}
        both = rows["tied", "all"]
        each = [self.epsilon(matrices[f"tied-seed{seed}"]) for seed in (1, 2)]
        self.assertAlmostEqual(both.epsilon, np.mean(each), PLACES)
        self.assertAlmostEqual(both.relative_sd, np.std(each, ddof=1) * 2.0, PLACES)  # sqrt(16) / 2
        self.assertEqual((both.seeds, both.histogram.sum()), (2, 2 * 60 * 59 // 2))
        self.assertEqual(rows["lev", "centred"].seeds, 1)
        text = self.succeed("cosine", self.run_folder)
        self.assertRegex(text, r"tied +centred +60 +0 ")
        self.assertIn("not measured yet: lev-seed1", text)

    def epsilon(self, rows: np.ndarray) -> float:
        units = rows / np.linalg.norm(rows, axis=1)[:, None]
        found = (units @ units.T)[np.triu_indices(len(rows), 1)]
        return found.mean() + 2.0 * found.std()

    def test_what_is_not_measured_is_said_with_its_command(self):
        self.member("tied", [5.0, 4.0])
        (self.run_folder / "tied" / "embedding.h5").touch()
        words = f"-d {self.run_folder} 'capacity.files=[\"{self.run_folder}/tied/embedding.h5\"]'"
        self.refuse(3, words, "cosine", self.run_folder)
        self.succeed("report", self.run_folder)
        self.assertIn("Not measured yet: tied.", (self.run_folder / "report.html").read_text())

    def test_version_1_has_the_rank_under_another_name(self):
        self.member("tied", [5.0, 4.0])
        self.measured("tied")
        with h5py.File(self.run_folder / "capacity.h5", "r+") as file:
            rank = file["matrices/0/raw"].attrs["effective_rank"]
            file["matrices/0/raw"].attrs["entropy_rank_singular"] = rank
            del file["matrices/0/raw"].attrs["effective_rank"]
            file.attrs["format_version"] = np.int64(1)
        rows = capacity_table.rows([reader.read_capacity(self.run_folder)])
        self.assertEqual(rows[0].effective_rank, rank)


class Report(Folder):
    def page(self) -> str:
        self.succeed("report", self.run_folder)
        return (self.run_folder / "report.html").read_text(encoding="utf-8")

    def test_sections(self):
        self.member("tied", [5.0, 4.0])
        self.assertNotIn("<h2>Representational", self.page())
        write_capacity(self.run_folder / "capacity.h5", [("a.npy", "input", self.random.normal(size=(50, 16)))])
        write_cell(self.run_folder, "optimised", 32, 2000, 0.4)
        text = self.page()
        for words in ("<h2>Loss</h2>", "<h2>Representational capacity</h2>", "<h2>Packing of directions</h2>", "0.385943",
                      f"postprocess packing {self.run_folder} -o", f"capacity {self.run_folder / 'capacity.h5'} -o"):
            self.assertIn(words, text)

    def test_scipy_is_needed_for_packings_alone(self):
        program = ("import sys; sys.modules['scipy'] = None; from postprocess.commands import capacity, report; "
                   "from pathlib import Path; print(len(capacity.of_folder(Path(sys.argv[1]))))")
        write_capacity(self.run_folder / "capacity.h5", [("a.npy", "input", self.random.normal(size=(50, 16)))])
        done = subprocess.run([sys.executable, "-c", program, str(self.run_folder)], capture_output=True, text=True,
                              cwd=SOURCE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_without_a_training_run(self):
        write_cell(self.run_folder, "optimised", 32, 2000, 0.4)
        text = self.page()
        self.assertIn("<h2>Packing of directions</h2>", text)
        self.assertNotIn("<h2>Loss</h2>", text)


if __name__ == "__main__":
    unittest.main()
