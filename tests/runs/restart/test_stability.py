"""A step that must not be taken: not finite (the run ends), or a spike (it is left out)."""

import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import U, RunTest, likely_rounding_of_logits, run  # noqa: E402

NUMERICAL = 4
CONTEXT = 16  # of the deck that RunTest writes
# At a threshold of one standard deviation about one step in six is a spike.
GUARD = ("spike_guard.deviations=1", "spike_guard.window=6", "run.steps=30", "run.log_every=1",
         "optimizer.learning_rate=3e-4")


def column(path, name):
    with h5py.File(path) as file:
        return file[f"history/{name}"][()]


class NotFinite(RunTest):
    def diverge(self, out, *arguments, ranks=0):
        result = run(["-i", self.deck, "-d", out, "optimizer.learning_rate=1e30",
                      "optimizer.warmup_steps=0", "checkpoint.every=1", "validation.every=0",
                      "checkpoint.keep=0", *arguments], ranks)
        self.assertEqual(result.returncode, NUMERICAL, result.stderr)
        lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
        self.assertEqual(len(lines), 1, result.stderr)
        return lines[0]

    def test_post_mortem(self):
        for ranks in (0, 3):
            with self.subTest(ranks=ranks):
                out = self.folder / f"ranks{ranks}"
                line = self.diverge(out, ranks=ranks)
                (path,) = out.glob("postmortem_*.h5")
                self.assertIn(str(path), line)
                with h5py.File(path) as file:
                    step = int(file.attrs["step"])
                    self.assertEqual(path.name, f"postmortem_{step:08d}.h5")
                    self.assertIn(f"at step {step};", line)
                    self.assertFalse(np.isfinite(file.attrs["loss"] + file.attrs["gradient_norm"]))
                    self.assertIn("learning_rate = 1e+30", file.attrs["deck"])
                    # 5 sequences a step, on any number of ranks; which windows, an epoch tells.
                    samples = list(file["samples/number"])
                    self.assertEqual(samples, list(range(5 * (step - 1), 5 * step)))
                    first = file["samples/first_token"][()]
                    self.assertEqual(len(set(first)), 5)
                    self.assertTrue(((0 <= first) & (first < 93 * CONTEXT) & (first % CONTEXT == 0)).all())
                    self.assertTrue((file["samples/source"][()] == 0).all())
                    # The step's loss is their mean; where that is a number, the gradient is not.
                    mean = file["samples/loss"][()].mean()
                    self.assertTrue(np.isclose(mean, file.attrs["loss"], rtol=0, equal_nan=True,
                                               atol=likely_rounding_of_logits(mean)))
                    names = [name.decode() for name in file["parameters/name"]]
                    self.assertIn("transformer.0.qkv", names)
                    bad = dict(zip(names, file["parameters/bad_gradients"], strict=True))
                    sizes = dict(zip(names, file["parameters/elements"], strict=True))
                    self.assertGreater(sum(bad.values()), 0)
                    self.assertTrue(all(0 <= bad[n] <= sizes[n] for n in names))
                    self.assertEqual(sizes["head.weight"], 61 * 32)
                # What was there before the step is as it was.
                with h5py.File(out / f"checkpoint_{step - 1:08d}.h5") as file:
                    self.assertEqual(file.attrs["step"], step - 1)
                self.assertEqual(list(column(out / "history.h5", "step")), list(range(1, step)))
                self.assertFalse((out / f"checkpoint_{step:08d}.h5").exists())
                self.assertFalse((out / "embedding.h5").exists())

    def test_the_same_windows_on_every_number_of_ranks(self):
        found = []
        for ranks in (0, 2):
            out = self.folder / f"windows{ranks}"
            self.diverge(out, ranks=ranks)
            (path,) = out.glob("postmortem_*.h5")
            with h5py.File(path) as file:
                found.append(list(file["samples/first_token"]))
        self.assertEqual(found[0], found[1])

    def test_the_last_checkpoint_goes_on(self):
        out = self.folder / "out"
        self.diverge(out)
        last = int(column(out / "history.h5", "step")[-1])
        result = run(["-i", self.deck, "-d", self.folder / "again", "-r",
                      out / f"checkpoint_{last:08d}.h5", f"run.steps={last}"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"step {last}", result.stdout)


class SpikeGuard(RunTest):
    def test_off_by_default(self):
        out = self.lexikos()
        self.assertEqual(set(column(out / "history.h5", "skipped")), {0.0})

    def test_spikes_are_left_out(self):
        out = self.lexikos(*GUARD, name="guarded")
        loss, norm, skipped = (column(out / "history.h5", name)
                               for name in ("train_loss", "gradient_norm", "skipped"))
        # The rule again, over the rows that were not left out.
        expected = []
        for i in range(len(loss)):
            rows = [k for k in range(i) if not expected[k]][-6:]
            spike = len(rows) == 6 and any(
                x[i] > x[rows].mean() + x[rows].std() for x in (loss, norm))
            expected.append(bool(spike))
        self.assertEqual(list(skipped > 0), expected)
        self.assertGreater(sum(expected), 1)

    def test_a_step_left_out_changes_nothing(self):
        out = self.lexikos(*GUARD, "checkpoint.every=1", "checkpoint.keep=0", name="guarded")
        step = 1 + int(np.argmax(column(out / "history.h5", "skipped") > 0))
        with h5py.File(out / f"checkpoint_{step - 1:08d}.h5") as before, \
                h5py.File(out / f"checkpoint_{step:08d}.h5") as after:
            for group in ("parameters", "moment1", "moment2"):
                for name in before[group]:
                    self.assertTrue((before[group][name][()] == after[group][name][()]).all(), name)
            self.assertEqual(after.attrs["tokens"] - before.attrs["tokens"], 80)

    def test_restart_decides_the_same(self):
        straight = self.lexikos(*GUARD, "checkpoint.every=1", "checkpoint.keep=0", name="straight")
        skipped = column(straight / "history.h5", "skipped") > 0
        first = 1 + int(np.argmax(skipped))
        for step in (first - 1, first, first + 1):
            with self.subTest(step=step):
                again = self.lexikos(*GUARD, "-r", straight / f"checkpoint_{step:08d}.h5",
                                     name=f"from{step}")
                for name in ("checkpoint_00000030.h5", "history.h5", "embedding.h5"):
                    self.assert_same_bits(straight / name, again / name)

    def test_the_start_up_correction_counts_updates(self):
        """AdamW's moments after u updates are divided by 1 - beta^u, whatever the step's number."""
        out = self.lexikos(*GUARD, "checkpoint.every=1", "checkpoint.keep=0", "optimizer.beta1=0.5",
                           "optimizer.beta2=0.999", "optimizer.weight_decay=0",
                           "optimizer.schedule=constant", "optimizer.warmup_steps=0", name="guarded")
        skipped = column(out / "history.h5", "skipped") > 0
        step = int(np.argmax(skipped)) + 2  # the step after the first spike
        while skipped[step - 1]:
            step += 1
        updates = step - int(skipped[:step].sum())
        self.assertLess(updates, step)
        with h5py.File(out / f"checkpoint_{step - 1:08d}.h5") as before, \
                h5py.File(out / f"checkpoint_{step:08d}.h5") as after:
            name = "transformer.0.qkv"
            change = before["parameters"][name][()].astype(float) - after["parameters"][name][()]
            m = after["moment1"][name][()].astype(float)
            v = after["moment2"][name][()].astype(float)
            for count, right in ((updates, True), (step, False)):
                expected = 3e-4 * m / (1 - 0.5**count) / (np.sqrt(v / (1 - 0.999**count)) + 1e-8)
                # The new value is rounded to fp32; the change itself is made in some ten operations.
                limit = U[4] * (np.abs(before["parameters"][name][()]) + 16 * np.abs(expected))
                same = bool((np.abs(change - expected) <= limit).all())
                self.assertEqual(same, right, f"{count} updates")

    def test_too_many_in_a_row_end_the_run(self):
        """A rate that makes the loss climb for good is no single bad batch."""
        out = self.folder / "out"
        arguments = ["-i", self.deck, "-d", out, "run.steps=60", "spike_guard.window=3",
                     "spike_guard.most_in_a_row=2", "optimizer.warmup_steps=0", "checkpoint.every=1"]
        result = run([*arguments, "spike_guard.deviations=1e-9"])
        self.assertEqual(result.returncode, NUMERICAL, result.stderr)
        self.assertIn("left out 2 steps one after another", result.stderr)
        self.assertTrue(list(out.glob("checkpoint_*.h5")))

    def test_switching_it_on_at_a_restart(self):
        straight = self.lexikos("checkpoint.every=10", "checkpoint.keep=0", name="straight")
        with h5py.File(straight / "checkpoint_00000010.h5", "r+") as file:
            del file["history/skipped"]  # as an older program wrote it
            file.attrs["format_version"] = 1  # which had no checksum
        again = self.lexikos("spike_guard.deviations=1", "spike_guard.window=6", "-r",
                             straight / "checkpoint_00000010.h5", name="again")
        skipped = column(again / "history.h5", "skipped")
        self.assertTrue(np.isnan(skipped[:10]).all())
        self.assertTrue(np.isfinite(skipped[10:]).all())


if __name__ == "__main__":
    unittest.main()
