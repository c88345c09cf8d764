"""postprocess over seeds: variants, paired statistics against SciPy, perplexity in all units, loss by token
frequency."""

import csv
import io
import math
import unittest
from unittest import mock

import h5py
import numpy as np
from scipy import stats

from example_run import IDS, OFFSETS, TARGETS, bin_losses, write_member
from example_geometry import write_capacity
from folder_case import PLACES, Folder, run

from postprocess import deck, reader, style
from postprocess.analysis import comparison, curves, frequency, seed_statistics, variants
from postprocess.commands import report
from postprocess.commands.shared import Shown
from postprocess.guard.failure import Failure
from postprocess.figures import frequency as frequency_figure, history as history_figure

TIED = {1: [5.00, 4.000], 2: [5.10, 4.020], 3: [5.05, 4.011]}
LEV = {1: [5.20, 3.913], 2: [5.15, 3.928], 3: [5.12, 3.931]}


class SeedFolder(Folder):
    def two_variants(self, tied=None, lev=None, **settings):
        self.seed_runs("tied", tied or TIED, **settings)
        self.seed_runs("lev", lev or LEV, **settings)

    def variants(self) -> dict[str, variants.Variant]:
        return {variant.name: variant for variant in variants.variants_of(reader.read_run(self.run_folder))}

    def rows(self) -> dict[str, comparison.Row]:
        found = list(self.variants().values())
        return {row.variant: row for row in comparison.compare(found, variants.find_reference(found, None))}

    def analyse(self) -> frequency.Frequencies | None:
        found = list(self.variants().values())
        return frequency.analyse(found, variants.find_reference(found, None))

    def csv_rows(self, *arguments: object) -> dict[str, dict[str, str]]:
        text = self.succeed(arguments[0], self.run_folder, *arguments[1:], "--csv")
        return {row["variant"]: row for row in csv.DictReader(io.StringIO(text))}


class Variants(SeedFolder):
    def members(self) -> dict[str, list[str]]:
        return {name: [member.name for member in variant.members] for name, variant in self.variants().items()}

    def test_members_that_differ_in_their_seed_are_one_variant(self):
        self.two_variants(lev={10: [4.0], 9: [4.1]})
        self.member("seed2-albert", [4.0], seed=2, interface="albert")
        self.assertEqual(self.members(), {"albert": ["seed2-albert"], "lev": ["lev-seed9", "lev-seed10"],
                                          "tied": ["tied-seed1", "tied-seed2", "tied-seed3"]})

    def test_a_sweep_of_nothing_but_seeds_has_the_interface_s_name(self):
        for seed in (1, 2):
            self.member(f"seed{seed}", [4.0], seed=seed, interface="lev")
        self.assertEqual(self.members(), {"lev": ["seed1", "seed2"]})

    def test_other_differences_make_other_variants(self):
        for width in (16, 32):
            self.member(f"lev-width{width}-seed1", [4.0], seed=1, interface="lev", width=width)
        self.member("lev-width32-seed2", [4.0], seed=2, interface="lev", width=32)
        self.assertEqual(self.members(), {"lev-width16": ["lev-width16-seed1"],
                                          "lev-width32": ["lev-width32-seed1", "lev-width32-seed2"]})

    def test_copies_of_a_run_are_not_seeds(self):
        for name in ("lev", "copy"):
            self.member(name, [4.0], seed=1, interface="lev")
        self.assertEqual(self.members(), {"copy": ["copy"], "lev": ["lev"]})

    def test_members_without_a_deck_stay_apart(self):
        for name in ("lev-seed1", "lev-seed2"):
            self.member(name, [4.0], deck="")
        self.assertEqual(self.members(), {"lev-seed1": ["lev-seed1"], "lev-seed2": ["lev-seed2"]})

    def test_decks_are_read_alike_without_tomllib(self):
        self.two_variants(tokens_file="runs/a#b.h5")
        member = self.variants()["lev"].members[0]
        expected = deck.settings(member)
        self.assertEqual((expected["seed"], expected["data.tokens"]), (1, "runs/a#b.h5"))
        with mock.patch.object(deck, "tomllib", None):
            self.assertEqual(deck.settings(member), expected)
            self.assertEqual([len(variant.members) for variant in self.variants().values()], [3, 3])


class Statistics(SeedFolder):
    def test_spread_against_scipy(self):
        values = self.random.normal(size=(4, 3))
        spread = seed_statistics.summarise(values)
        low, high = stats.t.interval(0.95, 3, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
        for found, expected in ((spread.mean, values.mean(axis=0)), (spread.sd, stats.tstd(values, axis=0)),
                                (spread.low, low), (spread.high, high)):
            np.testing.assert_allclose(found, expected, rtol=10 ** -PLACES)

    def test_too_few_seeds_give_no_spread(self):
        one, none = seed_statistics.summarise([2.0]), seed_statistics.summarise([])
        self.assertEqual((one.n, one.mean), (1, 2.0))
        self.assertEqual(none.n, 0)
        for value in (one.sd, one.half, one.low, none.mean, none.sd, none.half):
            self.assertTrue(math.isnan(value))

    def test_paired_difference_against_scipy(self):
        self.two_variants()
        row = self.rows()["lev"]
        mine, theirs = ([losses[-1] for losses in runs.values()] for runs in (LEV, TIED))
        interval = stats.ttest_rel(mine, theirs).confidence_interval(0.95)
        self.assertEqual((row.seeds, row.pairs), (3, 3))
        self.assertAlmostEqual(row.loss, np.mean(mine), places=PLACES)
        self.assertAlmostEqual(row.loss_sd, stats.tstd(mine), places=PLACES)
        self.assertAlmostEqual(row.difference_low, interval.low, places=PLACES)
        self.assertAlmostEqual(row.difference_high, interval.high, places=PLACES)
        self.assertAlmostEqual(row.change_of_reference, math.exp(row.difference_nats) - 1.0, places=PLACES)
        self.assertAlmostEqual(row.change_of_reference_interval[1], math.exp(interval.high) - 1.0, places=PLACES)
        self.assertAlmostEqual(row.change_of_member_interval[0], 1.0 - math.exp(-interval.low), places=PLACES)
        reference = self.rows()["tied"]
        self.assertAlmostEqual(row.perplexity / reference.perplexity, math.exp(row.difference_nats), places=PLACES)
        self.assertTrue(math.isnan(reference.difference_half))

    def test_only_common_seeds_are_paired(self):
        self.two_variants(lev={2: [5.0, 3.9], 3: [5.0, 3.8], 4: [5.0, 1.0]})
        row = self.rows()["lev"]
        self.assertEqual((row.seeds, row.pairs), (3, 2))
        self.assertAlmostEqual(row.difference_nats, ((3.9 - 4.02) + (3.8 - 4.011)) / 2)
        self.assertIn("lev: 2 of 3 seeds are paired with tied's", self.succeed("perplexity", self.run_folder))

    def test_seeds_are_averaged_where_all_have_been(self):
        self.seed_runs("tied", TIED)
        self.seed_runs("lev", {1: [5.2, 3.9], 2: [5.1, 3.8]})
        self.member("lev-seed3", [5.3], seed=3, interface="lev", steps=20, status="running")
        row = self.rows()["lev"]
        self.assertEqual((row.tokens, row.compared_at_tokens, row.status), (20 * 4096, 20 * 4096, "2 of 3 finished"))
        self.assertAlmostEqual(row.loss, 5.2)
        tokens, differences = curves.differences(self.variants()["lev"], self.variants()["tied"])
        np.testing.assert_allclose(differences, [[0.2], [0.0], [0.25]])
        np.testing.assert_array_equal(tokens, [20 * 4096])


class Perplexity(SeedFolder):
    def test_all_units_and_both_percentages(self):
        self.two_variants(lev={1: [3.913], 2: [3.933], 3: [3.924]}, tied={1: [4.0], 2: [4.021], 3: [4.01]})
        rows = self.csv_rows("perplexity")
        tied, lev = ({key: float(value) for key, value in rows[name].items() if value not in ("", "N/A") and key != "variant"}
                     for name in ("tied", "lev"))
        loss = (4.0 + 4.021 + 4.01) / 3
        for key, expected in (("loss", loss), ("perplexity", math.exp(loss)), ("nats_per_byte", loss / 4.0),
                              ("bits_per_byte", loss / 4.0 / math.log(2.0)), ("word_perplexity", math.exp(loss / 0.8))):
            self.assertAlmostEqual(tied[key], expected, places=9, msg=key)
        self.assertAlmostEqual(lev["difference_nats"], -0.087)
        self.assertAlmostEqual(lev["change_of_reference"], -0.0833230, places=6)
        self.assertAlmostEqual(lev["change_of_member"], -0.0908967, places=6)
        self.assertLess(lev["change_of_reference_low"], lev["change_of_reference_high"])
        self.assertNotIn("difference_low", tied)
        text = self.succeed("perplexity", self.run_folder)
        self.assertRegex(text, r"lev +3 +3\.9233 +0\.0100 +50\.569 ")
        self.assertRegex(text, r"lev +3 +-0\.0870 +0\.0025 +-8\.33 %")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_one_seed_has_no_columns_over_seeds(self):
        self.member("tied", [4.0])
        self.member("lev", [3.913])
        text = self.succeed("perplexity", self.run_folder)
        self.assertRegex(text, r"lev +-0\.0870 +-8\.33 %")
        for word in ("pairs", "sd", "95 %"):
            self.assertNotIn(word, text[:text.index("reference:")])

    def test_evaluation_replaces_the_last_validation(self):
        self.two_variants(evaluated=3.5)
        self.member("albert-seed1", [4.0], seed=1, interface="albert")
        rows = self.csv_rows("perplexity", "--evaluation")
        self.assertEqual({name: float(row["loss"]) for name, row in rows.items()}, {"tied": 3.5, "lev": 3.5})
        text = self.succeed("perplexity", self.run_folder, "--evaluation")
        self.assertIn("no evaluation.h5 yet: albert-seed1", text)
        self.assertIn("checkpoint_00000040.h5; all targets", text)
        self.assertIn("f < 1e-7: 3 ids, 20 targets", self.succeed("frequency", self.run_folder, "--evaluation"))

    def test_figures(self):
        self.two_variants()
        for command in ("perplexity", "frequency", "history"):
            path = self.run_folder / f"{command}.png"
            self.assertIn(f"wrote {path}", self.succeed(command, self.run_folder, "-o", path))
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")

    def test_table_of_variants_or_of_members(self):
        self.two_variants()
        self.assertEqual(list(self.csv_rows("table")), ["tied", "lev"])
        text = self.succeed("table", self.run_folder, "--members", "--csv")
        rows = {row["member"]: row for row in csv.DictReader(io.StringIO(text))}
        self.assertEqual(len(rows), 6)
        self.assertAlmostEqual(float(rows["lev-seed2"]["difference_nats"]), 3.928 - 4.02)

    def test_errors_are_one_line(self):
        self.member("lev", [4.0])
        self.member("albert", [4.0])
        for status, expected, arguments in ((3, "no evaluation.h5 in any member", ("perplexity", "--evaluation")),
                                            (2, "there is no reference", ("perplexity", "-o", "x.png")),
                                            (2, "variants are albert, lev", ("perplexity", "--reference", "x"))):
            done = run(arguments[0], self.run_folder, *arguments[1:])
            self.assertEqual((done.returncode, len(done.stderr.strip().splitlines())), (status, 1), done.stderr)
            self.assertIn(expected, done.stderr)


class Frequency(SeedFolder):
    def test_bins_against_scipy(self):
        self.two_variants()
        found = self.analyse()
        self.assertEqual(found.labels, ["< 1e-7", "1e-7 to 1e-6", "1e-6 to 1e-5", "1e-5 to 1e-4", "> 1e-4"])
        self.assertEqual(found.tokens, 40 * 4096)
        rows = found.of("lev")
        self.assertEqual(([row.ids for row in rows], [row.targets for row in rows]), (list(IDS), list(TARGETS)))
        self.assertAlmostEqual(sum(row.share for row in rows), 1.0)
        mine, theirs = (bin_losses([losses[-1] for losses in runs.values()]) for runs in (LEV, TIED))
        for number, row in enumerate(rows):
            interval = stats.ttest_rel(mine[:, number], theirs[:, number]).confidence_interval(0.95)
            self.assertAlmostEqual(row.loss, mine[:, number].mean(), places=PLACES)
            self.assertAlmostEqual(row.loss_sd, stats.tstd(mine[:, number]), places=PLACES)
            self.assertAlmostEqual(row.difference_low, interval.low, places=PLACES)
            self.assertAlmostEqual(row.difference_high, interval.high, places=PLACES)

    def test_bins_add_up_to_the_whole(self):
        self.two_variants()
        self.assertLess(self.analyse().deviation, 10 ** -PLACES)
        with h5py.File(self.run_folder / "lev-seed2" / "history.h5", "r+") as file:
            file["frequency/loss"][-1] += 1e-7
        with self.assertRaisesRegex(Failure, "lev-seed2/history.h5: at 163840 training tokens the frequency bins give"):
            self.analyse()
        with h5py.File(self.run_folder / "lev-seed2" / "history.h5", "r+") as file:
            file["frequency/targets"][-1] += 1
        with self.assertRaisesRegex(Failure, "lev-seed2/history.h5: .* hold 62001 targets, the validation 62000"):
            self.analyse()

    def test_the_last_validation_that_all_have_made(self):
        self.two_variants()
        self.member("albert-seed1", [5.5], seed=1, interface="albert", steps=20, status="running")
        self.member("untied-seed1", [5.5], seed=1, interface="untied", version=1)
        found = self.analyse()
        self.assertEqual((found.tokens, found.missing), (20 * 4096, ["untied-seed1"]))
        self.assertAlmostEqual(found.of("albert")[0].difference_nats, 0.5)

    def test_an_empty_bin_is_not_a_number(self):
        targets = np.array(TARGETS[1:])
        losses = {}
        for name, loss in (("tied", 4.0), ("lev", 3.9)):
            bins = bin_losses([loss])[0]
            bins[1:] += loss - bins[1:] @ targets / targets.sum()
            bins[0] = math.nan
            losses[name] = bins
            self.member(name, [loss], bins=[bins])
            with h5py.File(self.run_folder / name / "history.h5", "r+") as file:
                file["validation/targets"][-1] = targets.sum()
        rows = self.analyse().of("lev")
        self.assertTrue(math.isnan(rows[0].loss) and math.isnan(rows[0].difference_nats))
        self.assertAlmostEqual(rows[1].difference_nats, losses["lev"][1] - losses["tied"][1])
        self.assertEqual((rows[0].targets, len(rows)), (0, len(OFFSETS)))
        self.succeed("frequency", self.run_folder, "-o", self.run_folder / "x.png")

    def test_other_bins_cannot_be_compared(self):
        self.two_variants()
        with h5py.File(self.run_folder / "lev-seed1" / "history.h5", "r+") as file:
            file["frequency/ids"][-1] = 6
        with self.assertRaisesRegex(Failure, "`ids` of its frequency bins is not that of"):
            self.analyse()

    def test_an_older_history_has_no_frequency_data_yet(self):
        self.member("tied", [4.0], version=1)
        self.assertIsNone(self.analyse())
        done = run("frequency", self.run_folder)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("no frequency data yet", done.stderr)
        page = report.build(Shown(reader.read_run(self.run_folder), list(self.variants().values()), None))
        self.assertTrue("No frequency data yet" in page)

    def test_text(self):
        self.two_variants()
        text = self.succeed("frequency", self.run_folder)
        self.assertIn("f 1e-6 to 1e-5: 15 ids, 4,000 targets (6.45 % of all)", text)
        self.assertRegex(text.replace("\n  ", " "), r"up to a relative deviation of at most \d\.\de-1\d")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class Figures(SeedFolder):
    def draw(self, module, *arguments):
        figure = module.draw(*arguments)
        self.addCleanup(style.pyplot.close, figure)
        return figure.axes

    def test_bins_carry_their_number_of_targets(self):
        self.two_variants()
        upper, lower = self.draw(frequency_figure, self.analyse())
        labels = [label.get_text() for label in lower.get_xticklabels()]
        self.assertEqual((labels[0], labels[4]), ("< 1e-7\n20 targets", "> 1e-4\n37,680 targets"))
        self.assertIn("95 % interval", lower.get_ylabel())
        self.assertIn("mean over seeds +- sd", upper.get_ylabel())

    def test_intervals_of_the_loss_figure(self):
        """Bands where they can be told apart, bars at the end where there are more of them, nothing for one seed."""
        for number, word in ((1, "band: 95 %"), (4, "bars at the end: 95 %")):
            for name in ("tied", "lev", "albert", "untied", "flat_mlp")[:number + 1]:
                self.seed_runs(name, LEV if name == "lev" else TIED)
            found = variants.ordered(list(self.variants().values()), None)
            _, lower = self.draw(history_figure, found, variants.find_reference(found, "tied"))
            self.assertIn(word, lower.get_ylabel())
        found = variants.singles(found)[:2]
        self.assertNotIn("95 %", self.draw(history_figure, found, None)[0].get_ylabel())

    def test_seven_variants_differ_without_colour(self):
        looks = [style.look(number) for number in range(7)]
        self.assertEqual(len({look.marker for look in looks}), 7)
        self.assertEqual(len({str(look.dashes) for look in looks}), 7)


class Report(SeedFolder):
    def page(self) -> str:
        self.succeed("report", self.run_folder)
        return (self.run_folder / "report.html").read_text(encoding="utf-8")

    def test_several_seeds(self):
        self.two_variants()
        names = [f"{name}-seed{seed}" for name in ("tied", "lev") for seed in (1, 2, 3)]
        write_capacity(self.run_folder / "capacity.h5", [
            (f"{name}/embedding.h5", "input", np.random.default_rng(3).normal(size=(50, 16))) for name in names])
        text = self.page()
        for words in ("6 members in 2 variants", "mean of 3 seeds, standard deviation 0.0096",
                      "<h2>Loss by token frequency</h2>", "<h2>Training tokens to reach tied's final loss</h2>"):
            self.assertTrue(words in text, words)
        self.assertFalse("Each member is one training run" in text)
        self.assertEqual(text.count("Resolved deck of"), 2)
        self.assertEqual(text.count("Each of the 6 members"), 2)
        self.assertFalse("lev-seed2" in text[:text.index("Each of the 6 members")])

    def test_one_seed(self):
        write_member(self.run_folder / "tied", "tied", losses=[4.0])
        self.member("lev", [3.9])
        self.assertTrue("Each member is one training run" in self.page())
        self.member("lev-seed2", [3.9], seed=2, interface="lev")
        self.assertTrue("without a spread over seeds: tied." in self.page())


if __name__ == "__main__":
    unittest.main()
