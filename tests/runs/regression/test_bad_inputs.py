"""Bad inputs: one clear line, the documented status, on every rank count, and nothing lost."""

import os
import resource
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import ALL, EXECUTABLE, RunTest, run, write_tokens  # noqa: E402

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
        self.check_override("transformer.layers=0", DECK, "transformer.layers", "between 1 and")

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
        self.check_override("embedding.lev.knots=1", DECK, "embedding.lev.knots", "between 2 and")
        self.check_override("embedding.lev.rank=0", DECK, "embedding.lev.rank", "between 1 and")

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

    def test_a_checkpoint_for_a_sweep(self):
        """Which members could go on from it is known before the first one trains."""
        out = self.lexikos("run.steps=2")
        self.check(["-i", self.deck, "-d", self.folder / "b", "-r", out / "checkpoint_00000002.h5", "run.steps=3",
                    "sweep.seed=[1, 2]"], DECK, "seed is 2 and was 1")
        self.check(["-i", self.deck, "-d", self.folder / "b", "-r", out / "checkpoint_00000002.h5", "run.steps=3",
                    'sweep.embedding.interface=["tied", "untied"]'], DECK, "embedding.interface")
        self.assertFalse((self.folder / "b").exists())
        self.lexikos("-r", out / "checkpoint_00000002.h5", "run.steps=3", "sweep.optimizer.learning_rate=[1e-3, 2e-3]",
                     name="branches")

    def test_arguments_that_kokkos_does_not_know(self):
        for word in ("--kokkos-num-threds=1", "--kokkos-tread=1", "--kokkos-"):
            self.check(["-i", self.deck, "-n", word], DECK, f"does not know '{word}'", on=(0, 2))
        self.check(["-i", self.deck, "-n", "--kokkos-threads=abc"], DECK, "Kokkos", "--kokkos-threads", on=(0,))

    def test_joined_flag(self):
        self.check([f"-i={self.deck}"], DECK, f"write -i {self.deck};", on=(0,))

    def test_huge_sizes(self):
        for key in ("transformer.layers", "transformer.width", "transformer.context", "batch.tokens", "run.steps",
                    "embedding.lev.knots", "head.chunk"):
            self.check(["-i", self.deck, "-n", f"{key}=1000000000000000000"], DECK, key, "between", on=(0,))

    def test_reals_that_are_no_numbers(self):
        for key in ("transformer.norm_epsilon", "transformer.rope_base", "optimizer.epsilon", "optimizer.clip_norm",
                    "optimizer.learning_rate", "optimizer.weight_decay", "transformer.init_deviation",
                    "spike_guard.deviations", "sample.temperature", "capacity.outlier_z"):
            for value in ("inf", "-inf", "nan", "1e300"):
                self.check(["-i", self.deck, "-n", f"{key}={value}"], DECK, key, "out of range", on=(0,))

    def test_nesting(self):
        deep = self.folder / "deep.toml"
        for text in ("x = " + 20000 * "[", "x = " + 20000 * "{a=", "a" + 20000 * ".a" + " = 1"):
            deep.write_text("# a deck\n" + text + "\n")
            self.check(["-n", "-i", deep], DECK, "deep.toml:2", "32 deep", on=(0,))
        for override in ("seed=" + 20000 * "[", "a" + 20000 * ".a" + "=1"):
            self.check(["-n", "-i", self.deck, override], DECK, "command line", "32 deep", on=(0,))

    def test_what_took_seconds(self):
        text = self.deck.read_text()
        self.deck.write_text(text + "[zzz]\n" + "".join(f"key{i} = 1\n" for i in range(20000)))
        self.check_in_time(["-n", "-i", self.deck], "unknown table 'zzz'")
        self.deck.write_text("".join(f"key{i} = 1\n" for i in range(20000)) + text)
        self.check_in_time(["-n", "-i", self.deck], "unknown key 'key0'", "19999 more")
        values = ", ".join(map(str, range(100000)))
        self.deck.write_text(text + f"[sweep]\nseed = [{values}]\n")
        self.check_in_time(["-n", "-i", self.deck], "more than 10,000 members")

    def check_in_time(self, arguments, *words):
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.check(arguments, DECK, *words, on=(0,))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began, 3)  # of a processor

    def test_pipes_and_devices(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.check(["-n", "-i", pipe], DECK, "from which nothing comes", on=(0,))
        self.check(["-i", "/dev/zero"], DECK, "/dev/zero", "more than 1.00 MiB", on=(0,))
        for name in ("data.tokens", "data.validation", "sample.prompt_file", "export.tokenizer", "output.directory"):
            self.check(["-i", self.deck, f"{name}={pipe}"], FILE, name, "is a pipe", on=(0,))
        for flag in ("-d", "-r"):
            self.check(["-i", self.deck, flag, pipe], FILE, f"{flag} '{pipe}' is a pipe", on=(0,))

    def test_a_deck_from_a_pipe(self):
        with self.deck.open("rb") as deck:
            cat = subprocess.Popen(["cat"], stdin=deck, stdout=subprocess.PIPE)
        result = subprocess.run([EXECUTABLE, "-n", "-i", "/dev/stdin"], stdin=cat.stdout, capture_output=True,
                                text=True, timeout=60, check=False)
        cat.stdout.close()
        cat.wait()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_paths_that_a_shell_would_have_replaced(self):
        home = {**os.environ, "HOME": str(self.folder / "home"), "OMP_NUM_THREADS": "1"}
        for arguments in (["-d", "~/x"], ["output.directory=~/y"]):
            result = subprocess.run([EXECUTABLE, "-i", self.deck, "run.steps=1", "validation.every=0", *arguments],
                                    env=home, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue((self.folder / "home" / arguments[-1][-1] / "history.h5").exists())
        for arguments, word in ((["-d", "$SCRATCH/x"], "variable"), (["output.directory=${SCRATCH}/x"], "variable"),
                                (["-d", "~nobody_here/x"], "not known"), (["-d", " x"], "blank"),
                                (["output.directory=''"], "names no folder"), (["-d", "x" * 300], "too long"),
                                (["data.tokens=$HOME/t.h5"], "variable")):
            self.check(["-i", self.deck, *arguments], DECK, word, on=(0,))

    def test_folders_that_refuse(self):
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        self.check(["-i", self.deck, "-d", loop / "out"], FILE, "loop", on=(0,))
        self.check(["-i", self.deck, "-r", loop, "-d", self.folder / "out"], FILE, "loop", on=(0,))
        self.check(["-i", loop], DECK, "loop", on=(0,))
        self.check(["-i", self.folder], DECK, "is a directory", on=(0,))
        self.check(["-i", self.deck, f"data.tokens={self.folder}"], FILE, str(self.folder), on=(0,))

    def test_capacity_on_the_deck_of_a_training_run(self):
        out = self.lexikos("run.steps=2")
        self.lexikos("job=capacity", f'capacity.files=["{out}/embedding.h5"]', "capacity.gemm_rate=false")
        self.check(["-i", self.deck, "job=capacity"], DECK, "'files' is required", on=(0,))
        self.check(["-i", self.deck, "job=capacity", "capacity.files=['x']", "run.stepps=3"], DECK, "run.stepps",
                   on=(0,))

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
