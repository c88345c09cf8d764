"""geometry.every: epsilon against training, of the matrices that embedding.h5 ends with."""

import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, RunTest, datasets, moments_of_cosines, rounding_of_losses  # noqa: E402


class Geometry(RunTest):
    def check(self, interface, ranks=0):
        out = self.lexikos(f"embedding.interface={interface}", "geometry.every=10", ranks=ranks,
                           name=f"{interface}{ranks}")
        history, matrices = datasets(out / "history.h5"), datasets(out / "embedding.h5")
        kinds = [0] if interface == "tied" else [0, 1]
        self.assertEqual(history["geometry/step"].tolist(), [s for s in (0, 10, 20) for _ in kinds])
        self.assertEqual(history["geometry/matrix"].tolist(), kinds * 3)
        for kind in kinds:
            matrix = matrices["output" if kind else "input"]
            row = len(kinds) * 2 + kind
            mu, sigma, mu_error, sigma_error = moments_of_cosines(matrix)
            self.assertAlmostEqual(history["geometry/mu"][row], mu, delta=mu_error)
            self.assertAlmostEqual(history["geometry/sigma"][row], sigma, delta=sigma_error)
            self.assertAlmostEqual(history["geometry/epsilon"][row], mu + 2 * sigma, delta=mu_error + 2 * sigma_error)
            rows = matrix[np.linalg.norm(matrix, axis=1) > 0].astype(np.float64)
            mu, sigma, mu_error, sigma_error = moments_of_cosines(rows - rows.mean(axis=0))
            self.assertAlmostEqual(history["geometry/epsilon_centred"][row], mu + 2 * sigma,
                                   delta=mu_error + 2 * sigma_error)
        return history

    def test_every_interface(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                self.check(interface)

    def test_ranks(self):
        one = self.check("lev")
        # Elements of rows move by the rate times the relative errors of gradients, cosines by twice that over the
        # elements' size, mu and two sigma by three times that.
        table = datasets(self.folder / "lev0" / "embedding.h5")["input"]
        limit = 6 * rounding_of_losses(0) / table.std()
        for ranks in (2, 3):
            many = self.check("lev", ranks)
            np.testing.assert_allclose(many["geometry/epsilon"], one["geometry/epsilon"], rtol=0, atol=limit)

    def test_restart(self):
        straight = self.lexikos("geometry.every=4", "checkpoint.every=8", "checkpoint.keep=0")
        again = self.lexikos("geometry.every=4", "checkpoint.every=8", "-r",
                             straight / "checkpoint_00000008.h5", name="again")
        self.assert_same_bits(straight / "history.h5", again / "history.h5")


if __name__ == "__main__":
    unittest.main()
