"""Rank count, micro-batch and message path never change what is learned."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, RunTest, rounding_of_losses, run  # noqa: E402


def losses(folder):
    with h5py.File(folder / "history.h5") as file:
        return np.concatenate([file["history/train_loss"][()], file["validation/loss"][()]])


class Ranks(RunTest):
    def test_ranks_and_micro_batches(self):
        """5 sequences a step: no rank count divides them, and 3 ranks have shares of 2, 2, 1."""
        for interface in INTERFACES:
            chosen = f"embedding.interface={interface}"
            reference = losses(self.lexikos(chosen, name=interface))
            idle = losses(self.lexikos(chosen, "optimizer.learning_rate=0", name=interface + "0"))
            self.assertGreater(np.abs(reference - idle).max(), 0.01, "the model must move")
            # Every combination where input and output share a table and for the longest
            # arithmetic; one for the others, whose scatter is the same code.
            every = [(ranks, micro) for ranks in (1, 2, 3) for micro in (0, 1, 2, 3)]
            for ranks, micro in every if interface in ("tied", "lev") else [(2, 1), (3, 0)]:
                with self.subTest(interface=interface, ranks=ranks, micro_batch=micro):
                    out = self.lexikos(chosen, f"batch.micro_batch={micro}", ranks=ranks,
                                       name=f"{interface}{ranks}{micro}")
                    self.assertLess(np.abs(losses(out) - reference).max(), rounding_of_losses(reference))

    def test_affine_codes_are_the_same_on_every_rank(self):
        """Each rank draws the map itself; another map on one of them would be another model."""
        affine = ("embedding.interface=binary_code", "embedding.binary_code.recoding=affine")
        reference = losses(self.lexikos(*affine, name="one"))
        other = losses(self.lexikos(*affine, "embedding.binary_code.seed=2", name="other"))
        self.assertGreater(np.abs(reference - other).max(), 100 * rounding_of_losses(reference), "the map must matter")
        for ranks in (2, 3):
            out = self.lexikos(*affine, ranks=ranks, name=f"ranks{ranks}")
            self.assertLess(np.abs(losses(out) - reference).max(), rounding_of_losses(reference))

    def test_more_ranks_than_sequences(self):
        reference = losses(self.lexikos("batch.tokens=32", name="one"))
        out = self.lexikos("batch.tokens=32", ranks=3, name="three")
        self.assertLess(np.abs(losses(out) - reference).max(), rounding_of_losses(reference))

    def test_staged_messages_give_the_same_bits(self):
        direct = self.lexikos("parallel.gpu_aware_mpi=on", ranks=3, name="direct")
        staged = self.lexikos("parallel.gpu_aware_mpi=off", ranks=3, name="staged")
        self.assert_same_bits(direct / "checkpoint_00000020.h5", staged / "checkpoint_00000020.h5")

    def test_small_messages(self):
        """Many buckets in flight: the same sums within rounding."""
        reference = losses(self.lexikos(ranks=3, name="large"))
        out = self.lexikos("parallel.bucket_bytes=1024", ranks=3, name="small")
        self.assertLess(np.abs(losses(out) - reference).max(), rounding_of_losses(reference))

    def test_members_side_by_side(self):
        sweep = "sweep.embedding.interface=['tied', 'lev', 'untied']"
        one = self.lexikos(sweep, name="one")
        two = self.lexikos(sweep, "sweep.concurrent=2", ranks=2, name="two")
        for member in ("tied", "lev", "untied"):
            reference = losses(one / member)
            difference = np.abs(reference - losses(two / member)).max()
            self.assertLess(difference, rounding_of_losses(reference), member)

    def test_summary_is_printed_once(self):
        result = run(["-i", self.deck, "-d", self.folder / "x"], ranks=3)
        self.assertEqual(result.stdout.count("perplexity: its exponential"), 1)


if __name__ == "__main__":
    unittest.main()
