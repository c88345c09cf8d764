"""parallel.shard_optimizer: each rank keeps AdamW's moments of its slice, and nothing else changes."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import RunTest, run  # noqa: E402

SHARD = "parallel.shard_optimizer=true"
LAST = "checkpoint_00000020.h5"
HALF = "checkpoint_00000010.h5"
FILES = (LAST, "history.h5", "embedding.h5")
KEEP = ("checkpoint.every=10", "checkpoint.keep=0")


def memory_rows(text):
    """The last number and unit of each row of -n's memory tables."""
    return dict(re.findall(r"^  (\S.*?)  +(\S.*)$", text[text.index("Device memory"):], re.MULTILINE))


class Sharding(RunTest):
    def assert_same_files(self, a, b, names=FILES):
        for name in names:
            self.assert_same_bits(a / name, b / name)

    def test_the_same_bits_as_without(self):
        """Of losses, parameters and gathered moments; more ranks than a small slice divides into."""
        for ranks, interface in ((1, "tied"), (2, "tied"), (3, "tied"), (2, "lev"), (3, "untied")):
            with self.subTest(ranks=ranks, interface=interface):
                chosen = f"embedding.interface={interface}"
                name = f"{interface}{ranks}"
                self.assert_same_files(self.lexikos(chosen, ranks=ranks, name=name),
                                       self.lexikos(chosen, SHARD, ranks=ranks, name=name + "s"))

    def test_small_and_staged_messages(self):
        whole = self.lexikos("parallel.bucket_bytes=1024", ranks=3, name="whole")
        for path in ("on", "off"):
            shared = self.lexikos(SHARD, "parallel.bucket_bytes=1024",
                                  f"parallel.gpu_aware_mpi={path}", ranks=3, name="shared" + path)
            self.assert_same_files(whole, shared)

    def test_restart_with_and_without(self):
        """A checkpoint does not tell who held the moments: 10 steps and 10 more are 20."""
        straight = self.lexikos(*KEEP, ranks=3, name="straight")
        shared = self.lexikos(*KEEP, SHARD, ranks=3, name="shared")
        self.assert_same_bits(straight / HALF, shared / HALF)
        for start, shard in ((straight, True), (shared, True), (shared, False)):
            out = self.lexikos(*KEEP, *([SHARD] if shard else []), "-r", start / HALF, ranks=3,
                               name=f"{start.name}{shard}")
            self.assert_same_files(straight, out)

    def test_restart_on_other_rank_counts(self):
        """Two ranks go on from three ranks' checkpoint as they do from one written whole."""
        start = self.lexikos(*KEEP, SHARD, ranks=3, name="three") / HALF
        for ranks in (1, 2):
            whole = self.lexikos(*KEEP, "-r", start, ranks=ranks, name=f"whole{ranks}")
            shared = self.lexikos(*KEEP, SHARD, "-r", start, ranks=ranks, name=f"shared{ranks}")
            self.assert_same_files(whole, shared)

    def test_a_checkpoint_that_cannot_be_written_ends_every_rank(self):
        out = self.folder / "run"
        out.mkdir()
        (out / LAST).mkdir()  # nothing can be renamed to it
        result = run(["-i", self.deck, "-d", out, SHARD], ranks=3, timeout=60)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stderr.count("cannot write"), 1, result.stderr)

    def test_plan(self):
        ask = ["-n", "-i", self.deck, "embedding.interface=untied", "transformer.width=64"]
        whole = memory_rows(run([*ask, "parallel.plan_ranks=4"]).stdout)
        shared = memory_rows(run([*ask, "parallel.plan_ranks=4", SHARD]).stdout)
        # 2 blocks of 16 D^2 + 2 D and a norm of D, two tables of 61 D; every size is a multiple of 16.
        elements = 2 * (16 * 64 * 64 + 2 * 64) + 64 + 2 * 61 * 64
        self.assertEqual(whole["AdamW's two moments"], f"{8 * elements / 2**20:.2f} MiB")
        quarter = -(-elements // 64) * 16
        self.assertEqual(shared["AdamW's two moments"], f"{8 * quarter / 2**10:.2f} KiB")
        self.assertEqual(whole["parameters and gradients"], shared["parameters and gradients"])
        on_three = memory_rows(run([*ask, SHARD], ranks=3).stdout)
        self.assertEqual(on_three, memory_rows(run([*ask, SHARD, "parallel.plan_ranks=3"]).stdout))

    def test_plan_against_devices(self):
        """By hand: 1.2 G parameters take 16 bytes each, and each sequence's activations the rest."""
        ask = ["-n", "-i", self.deck, "data.vocabulary_size=200019", "transformer.width=2048",
               "transformer.layers=12", "transformer.heads=16", "transformer.context=2048",
               "batch.tokens=131072"]
        fits = {}
        for gigabytes in (64, 80):
            row = f"device of {gigabytes} GB (10^9 bytes, all of it)"
            found = memory_rows(run(ask).stdout)[row]
            fits[gigabytes] = int(re.fullmatch(r"fits, (\d+)", found).group(1))
        self.assertLess(fits[64], fits[80])
        for gigabytes, fit in fits.items():
            for micro, below in ((fit, True), (fit + 1, False)):
                peak = memory_rows(run([*ask, f"batch.micro_batch={micro}"]).stdout)["peak"]
                amount, unit = peak.split()
                self.assertEqual(unit, "GiB")
                self.assertEqual(float(amount) * 2**30 < gigabytes * 1e9, below, (micro, peak))
        tiny = run([*ask, "transformer.layers=200"]).stdout
        self.assertIn("does not fit", tiny)


if __name__ == "__main__":
    unittest.main()
