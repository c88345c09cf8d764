"""postprocess: training tokens to reach the target's final loss, on curves whose crossing is known."""

import csv
import io
import math
import unittest

import numpy as np

from folder_case import PLACES, Folder, run

from postprocess import reader
from postprocess.analysis import efficiency, variants

TOKENS = 4096.0  # of a step in the example runs


def power_law(tokens: np.ndarray, scale: float, exponent: float = 0.3, floor: float = 2.0) -> np.ndarray:
    """floor + scale tokens^-exponent: scale 2^-exponent times smaller is twice as efficient at every level."""
    return floor + scale * tokens ** -exponent


class Curves(unittest.TestCase):
    def test_linear_in_log_tokens_is_exact(self):
        tokens = np.array([1e3, 1e4, 1e5, 1e6])
        loss = 9.0 - 0.5 * np.log(tokens)
        for level in (5.0, 3.3, 2.5):
            expected = math.exp((9.0 - level) / 0.5)
            self.assertAlmostEqual(efficiency.tokens_to_reach(tokens, loss, level) / expected, 1.0, places=PLACES)

    def test_power_law_converges_to_its_crossing(self):
        """The error of the interpolation falls with the square of the distance of the validations."""
        level = 2.0 + 30.0 * 123_456.0 ** -0.3
        errors = []
        for number in (50, 100, 200):
            tokens = np.geomspace(1e4, 1e6, number)
            errors.append(abs(efficiency.tokens_to_reach(tokens, power_law(tokens, 30.0), level) / 123_456.0 - 1.0))
        self.assertLess(errors[0], 1e-3)
        self.assertLess(errors[2], errors[0] / 4.0)

    def test_never_reached_and_reached_before(self):
        tokens, loss = np.array([1e3, 1e4]), np.array([5.0, 4.0])
        self.assertEqual(efficiency.tokens_to_reach(tokens, loss, 3.999), efficiency.NOT_REACHED)
        self.assertEqual(efficiency.tokens_to_reach(tokens, loss, 5.1), efficiency.BEFORE)
        self.assertEqual(efficiency.tokens_to_reach(tokens, loss, 5.0), 1e3)
        self.assertEqual(efficiency.tokens_to_reach(tokens, loss, 4.0), 1e4)
        self.assertEqual(efficiency.tokens_to_reach(np.empty(0), np.empty(0), 4.0), efficiency.NOT_REACHED)

    def test_plateau_counts_from_its_beginning(self):
        tokens, loss = np.array([1e3, 1e4, 1e5, 1e6]), np.array([5.0, 4.0, 4.0, 4.0])
        self.assertEqual(efficiency.tokens_to_reach(tokens, loss, 4.0), 1e4)

    def test_smoothing_keeps_the_end_and_never_rises(self):
        noisy = power_law(np.arange(1.0, 41.0), 3.0) + 0.02 * np.random.default_rng(5).normal(size=40)
        smooth = efficiency.monotone(noisy)
        self.assertLessEqual(np.diff(smooth).max(), 0.0)
        self.assertAlmostEqual(smooth[1], min(noisy[0], noisy[:3].mean()))
        self.assertLessEqual(smooth[-1], noisy[-1])
        falling = np.arange(12.0)[::-1]
        np.testing.assert_allclose(efficiency.monotone(falling), falling)
        short = np.array([9.0, 5.0, 4.0, 4.5])
        np.testing.assert_array_equal(efficiency.monotone(short), [9.0, 5.0, 4.0, 4.0])  # too few to be smoothed

    def test_noisy_curves(self):
        """Twice as efficient under noise of a tenth of the last difference: within 3 % over many seeds."""
        random, tokens, ratios = np.random.default_rng(8), TOKENS * np.arange(1.0, 61.0), []
        for _ in range(100):
            curves = [power_law(tokens, scale) + 0.004 * random.normal(size=60) for scale in (30.0, 30.0 * 2.0 ** -0.3)]
            target, other = (efficiency.monotone(curve) for curve in curves)
            level = curves[0][-1]
            own, needed = (efficiency.tokens_to_reach(tokens, curve, level) for curve in (target, other))
            ratios.append(own / needed)
        self.assertAlmostEqual(np.mean(ratios), 2.0, delta=0.06)


class Rows(Folder):
    def runs(self, variant: str, scales: dict[int, float], number: int = 40):
        tokens = TOKENS * np.arange(1.0, number + 1.0)
        self.seed_runs(variant, {seed: power_law(tokens, scale) for seed, scale in scales.items()}, steps=number)

    def rows(self, target: str | None = None) -> dict[str, efficiency.Row]:
        found = variants.variants_of(reader.read_run(self.run_folder))
        return {row.variant: row for row in efficiency.analyse(found, variants.find_reference(found, target))}

    def test_ratio_seed_by_seed(self):
        scales = {1: 30.0, 2: 31.0, 3: 29.0}
        factors = {1: 2.0, 2: 2.5, 3: 1.6}
        self.runs("tied", scales)
        self.runs("lev", {seed: scale * factors[seed] ** -0.3 for seed, scale in scales.items()})
        row = self.rows()["lev"]
        self.assertEqual((row.reached_of, row.pairs), ("3 of 3", 3))
        self.assertAlmostEqual(row.ratio, np.mean(list(factors.values())), delta=0.01)
        self.assertAlmostEqual(row.ratio_sd, np.std(list(factors.values()), ddof=1), delta=0.01)
        needed = np.mean([40 * TOKENS / factor for factor in factors.values()])
        self.assertAlmostEqual(row.tokens_needed / needed, 1.0, delta=0.01)
        tied = self.rows()["tied"]
        self.assertEqual((tied.ratio, tied.ratio_sd, tied.tokens_needed), (1.0, 0.0, 40 * TOKENS))

    def test_some_seeds_or_none_reach_it(self):
        self.runs("tied", {1: 30.0, 2: 30.0, 3: 30.0})
        self.runs("lev", {1: 25.0, 2: 30.1, 3: 25.0})
        self.runs("untied", {1: 31.0, 2: 31.0, 4: 20.0})
        rows = self.rows()
        self.assertEqual((rows["lev"].reached_of, rows["untied"].reached_of), ("2 of 3", "0 of 2"))
        self.assertAlmostEqual(rows["lev"].ratio, (30.0 / 25.0) ** (1 / 0.3), delta=0.02)
        self.assertTrue(math.isnan(rows["untied"].ratio))
        text = self.succeed("efficiency", self.run_folder)
        self.assertRegex(text, r"lev +2 of 3 ")
        self.assertRegex(text, r"lev: 1\.8\d, not reached, 1\.8\d\s+\(trained on at least 163,840")
        self.assertIn("untied: not reached by any seed", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_target_that_rises_at_its_end(self):
        """A target that has been below its last loss reaches it where its curve first does, not at the end."""
        loss = [6.0, 5.0, 4.0, 4.5]
        self.member("tied", loss)
        self.member("lev", [5.0, 4.5, 4.0, 3.9])
        row = self.rows()["lev"]
        own = math.exp(math.log(20) + 0.5 * math.log(30 / 20)) * TOKENS
        self.assertAlmostEqual(row.ratio, own / (20 * TOKENS), places=PLACES)

    def test_validation_before_training_is_left_out(self):
        self.member("tied", [9.0, 6.0, 5.0])
        folder = self.member("lev", [9.0, 6.0, 4.0])
        (member,) = reader.read_run(folder).members
        member.columns["validation/tokens"].values[0] = 0
        tokens, loss = efficiency.curve(member)
        self.assertEqual((tokens.size, loss.tolist()), (2, [6.0, 4.0]))

    def test_target_option_and_csv(self):
        self.member("lev", [5.0, 4.0])
        self.member("albert", [5.0, 4.1])
        done = run("efficiency", self.run_folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("name the target with --target", done.stderr)
        text = self.succeed("efficiency", self.run_folder, "--target", "albert", "--csv")
        rows = {row["variant"]: row for row in csv.DictReader(io.StringIO(text))}
        self.assertEqual(float(rows["albert"]["ratio"]), 1.0)
        self.assertAlmostEqual(float(rows["lev"]["ratio"]), 2.0 ** 0.1, places=PLACES)  # 20 to 40 steps, 0.9 of the way in log


if __name__ == "__main__":
    unittest.main()
