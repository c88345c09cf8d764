"""Bad inputs: one clear line, the documented status, on every rank count, and nothing lost."""

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import ALL, RunTest, run, write_tokens  # noqa: E402

RANKS = (0, 1, 2, 3)
DECK, FILE, NUMERICAL = 2, 3, 4


class BadInputs(RunTest):
    def check(self, arguments, status, *words, on=RANKS if ALL else (0, 3)):
        """On these rank counts: `status`, and exactly one line, which holds all the words."""
        for ranks in on:
            with self.subTest(ranks=ranks):
                result = run(arguments, ranks, timeout=60)
                self.assertEqual(result.returncode, status, result.stderr + result.stdout)
                lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
                self.assertEqual(len(lines), 1, result.stderr)
                for word in words:
                    self.assertIn(word, lines[0])
                for trace in ("terminate called", "what():", "Aborted", "Segmentation"):
                    self.assertNotIn(trace, result.stderr)
                if ranks == 0:
                    self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def check_override(self, override, status, *words):
        out = self.folder / "out"
        self.check(["-i", self.deck, "-d", out, override], status, *words)
        self.assertFalse(out.exists(), "nothing may be written before the deck is good")

    def test_missing_deck(self):
        self.check(["-i", self.folder / "none.toml"], DECK, "none.toml", on=RANKS)

    def test_no_deck(self):
        self.check([], DECK, "-i")

    def test_unknown_argument(self):
        self.check(["-i", self.deck, "-x"], DECK, "-x")

    def test_broken_toml(self):
        self.deck.write_text("[run\nsteps = 3\n")
        self.check(["-i", self.deck], DECK, "deck.toml:")

    def test_unknown_key(self):
        self.check_override("optimizer.learning_rat=1e-3", DECK, "optimizer.learning_rat",
                            "optimizer.learning_rate")

    def test_unknown_key_names_file_and_line(self):
        text = self.deck.read_text() + "[checkpoint]\nevry = 3\n"
        self.deck.write_text(text)
        line = text.splitlines().index("evry = 3") + 1
        self.check(["-i", self.deck], DECK, f"deck.toml:{line}", "checkpoint.evry",
                   "checkpoint.every")

    def test_wrong_type(self):
        self.check_override('run.steps="many"', DECK, "run.steps", "integer")

    def test_out_of_range(self):
        self.check_override("transformer.layers=0", DECK, "transformer.layers", "at least 1")

    def test_wrong_choice(self):
        self.check_override("embedding.interface=levv", DECK, "embedding.interface", "lev")

    def test_width_not_divisible_by_heads(self):
        self.check_override("transformer.heads=3", DECK, "transformer.heads", "32")

    def test_batch_not_a_multiple_of_context(self):
        self.check_override("batch.tokens=81", DECK, "batch.tokens", "16")

    def test_lev_base_too_small(self):
        self.check(["-i", self.deck, "embedding.interface=lev", "embedding.lev.base=3"], DECK,
                   "embedding.lev.base", "61")

    def test_lev_sizes_out_of_range(self):
        self.check_override("embedding.lev.knots=1", DECK, "embedding.lev.knots", "at least 2")
        self.check_override("embedding.lev.rank=0", DECK, "embedding.lev.rank", "at least 1")

    def test_match_that_cannot_be(self):
        # 64 numbers a token are more than the test's LEV has in all; of albert one column is.
        for interface, key, *more in (
                ("flat_mlp", "embedding.flat_mlp.hidden", "embedding.flat_mlp.code_width=64"),
                ("albert", "embedding.albert.rank", "data.vocabulary_size=9000")):
            self.check(["-n", "-i", self.deck, f"embedding.interface={interface}", *more], DECK, key,
                       "cannot match lev's")

    def test_tokens_file_missing(self):
        self.tokens.unlink()
        self.check(["-i", self.deck, "-d", self.folder / "out"], FILE, "tokens.h5", on=RANKS)

    def test_tokens_file_truncated(self):
        whole = self.tokens.read_bytes()
        self.tokens.write_bytes(whole[: len(whole) // 2])
        self.check(["-i", self.deck, "-d", self.folder / "out"], FILE, "tokens.h5")

    def test_tokens_file_is_no_hdf5(self):
        self.tokens.write_text("In the beginning")
        self.check(["-i", self.deck, "-d", self.folder / "out"], FILE, "tokens.h5")

    def test_id_past_the_vocabulary(self):
        write_tokens(self.tokens, worst=61)
        self.check(["-i", self.deck, "-d", self.folder / "out"], FILE, "tokens.h5", "750", "61")

    def test_too_few_tokens(self):
        write_tokens(self.tokens, train=12)
        self.check(["-i", self.deck, "-d", self.folder / "out"], FILE, "tokens.h5")

    def test_output_folder_cannot_be_made(self):
        (self.folder / "file").write_text("in the way")
        self.check(["-i", self.deck, "-d", self.folder / "file" / "out"], FILE, "file/out")

    def check_full(self, out, ranks):
        """The first checkpoint does not fit: one line, no half a file."""
        result = run(["-i", self.deck, "-d", out], ranks)
        self.assertEqual(result.returncode, FILE, result.stderr)
        lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("checkpoint", lines[0])
        self.assertEqual([p.name for p in out.iterdir() if "checkpoint" in p.name], [])

    def test_disk_full(self):
        if shutil.which("mount") is None:
            self.skipTest("no mount to make a small disk with")
        disk = self.folder / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk],
                               capture_output=True, text=True, check=False)
        if mount.returncode != 0:
            self.skipTest("a small disk needs root: " + mount.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                out = disk / "out"
                shutil.rmtree(out, ignore_errors=True)
                self.check_full(out, ranks)

    def test_restart_from_no_checkpoint(self):
        self.check(["-i", self.deck, "-d", self.folder / "out", "-r", self.tokens], FILE,
                   "tokens.h5", "checkpoint")

    def test_restart_from_text(self):
        self.check(["-i", self.deck, "-d", self.folder / "out", "-r", self.deck], FILE,
                   "deck.toml")

    def test_restart_with_another_model(self):
        out = self.lexikos("run.steps=2")
        self.check(["-i", self.deck, "-d", self.folder / "b", "-r",
                    out / "checkpoint_00000002.h5", "transformer.width=64"], FILE,
                   "checkpoint_00000002.h5", "shape")

    def test_fresh_start_over_an_old_run(self):
        out = self.lexikos("run.steps=2")
        self.check(["-i", self.deck, "-d", out, "run.steps=2"], FILE, "-r latest")
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(file.attrs["status"], "finished")

    def test_more_groups_than_ranks(self):
        result = run(["-i", self.deck, "-d", self.folder / "out", "sweep.concurrent=3",
                      "sweep.seed=[1, 2, 3]"], ranks=2)
        self.assertEqual(result.returncode, DECK, result.stderr)

    def test_loss_that_is_not_finite(self):
        out = self.folder / "out"
        for ranks in RANKS:
            shutil.rmtree(out, ignore_errors=True)
            result = run(["-i", self.deck, "-d", out, "optimizer.learning_rate=1e30",
                          "optimizer.warmup_steps=0", "checkpoint.every=1"], ranks)
            self.assertEqual(result.returncode, NUMERICAL, result.stderr)
            self.assertIn("not finite", result.stderr)
            self.assertTrue(list(out.glob("checkpoint_*.h5")), "the last good one must be there")
            with h5py.File(out / "history.h5") as file:
                self.assertEqual(file.attrs["status"], "stopped")


if __name__ == "__main__":
    unittest.main()
