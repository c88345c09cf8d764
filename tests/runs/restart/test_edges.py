"""N steps straight = k steps, restart, N - k steps, for every k; and on another number of ranks.

12 windows and 5 sequences a step: epochs end inside the steps 3, 5, 8, 10 and at the end of
step 12. Evaluations fall on 4, 8, 12, measurements of the geometry on 3, 6, 9, 12.
"""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import RunTest, rounding_of_losses, write_tokens  # noqa: E402

STEPS = 14
FILES = (f"checkpoint_{STEPS:08d}.h5", "history.h5", "embedding.h5")
DECK = ("embedding.interface=lev", f"run.steps={STEPS}", "run.log_every=100", "validation.every=4",
        "geometry.every=3", "checkpoint.keep=0")


def losses(folder):
    with h5py.File(folder / "history.h5") as file:
        return np.concatenate([file["history/train_loss"][()], file["validation/loss"][()]])


class Edges(RunTest):
    def setUp(self):
        super().setUp()
        write_tokens(self.tokens, train=12 * 16 + 1, validation=200)

    def restart(self, folder, step, *arguments, **options):
        return self.lexikos(*DECK, "-r", folder / f"checkpoint_{step:08d}.h5", *arguments, **options)

    def test_every_step(self):
        straight = self.lexikos(*DECK, name="straight")
        every = self.lexikos(*DECK, "checkpoint.every=1", name="every")
        for name in FILES:
            self.assert_same_bits(straight / name, every / name)
        for step in range(1, STEPS):
            with self.subTest(step=step):
                again = self.restart(every, step, name=f"from{step}")
                for name in FILES:
                    self.assert_same_bits(straight / name, again / name)

    def test_every_step_on_two_ranks(self):
        every = self.lexikos(*DECK, "checkpoint.every=1", ranks=2, name="every")
        for step in (3, 4, 12):
            with self.subTest(step=step):
                again = self.restart(every, step, ranks=2, name=f"from{step}")
                for name in FILES:
                    self.assert_same_bits(every / name, again / name)

    def test_another_number_of_ranks(self):
        straight = self.lexikos(*DECK, "checkpoint.every=3", name="straight")
        for step in (3, 12):
            for ranks in (2, 3):
                with self.subTest(step=step, ranks=ranks):
                    again = self.restart(straight, step, ranks=ranks, name=f"{step}on{ranks}")
                    difference = np.abs(losses(again) - losses(straight)).max()
                    self.assertLess(difference, rounding_of_losses(losses(straight), STEPS))

    def test_the_tokens_are_the_same_on_every_number_of_ranks(self):
        """A model that does not move: the loss of a step is a fingerprint of its tokens, nearer to itself than to the
        closest of another step."""
        still = ("optimizer.learning_rate=0", "validation.every=0", "geometry.every=0")
        straight = self.lexikos(*DECK, *still, "checkpoint.every=5", name="straight")
        prints = losses(straight)[:STEPS]
        gaps = np.abs(prints[:, None] - prints[None, :])[~np.eye(STEPS, dtype=bool)]
        for ranks in (2, 3):
            for step in (5, 10):
                again = self.restart(straight, step, *still, ranks=ranks, name=f"{step}on{ranks}")
                self.assertLess(np.abs(losses(again)[:STEPS] - prints).max(), gaps.min() / 2)


if __name__ == "__main__":
    unittest.main()
