"""What -n, -c, -k and -h print, and the decks that ship with the project."""

import json
import re
import resource
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import llama  # noqa: E402
from harness.runs import SOURCE, RunTest, run  # noqa: E402


def printed(arguments, ranks=0):
    result = run(arguments, ranks)
    assert result.returncode == 0, result.stderr
    return result.stdout


class DryRun(RunTest):
    def row(self, text, name):
        match = re.search(rf"^  {re.escape(name)} +(.*)$", text, re.MULTILINE)
        self.assertIsNotNone(match, f"no row '{name}' in:\n{text}")
        return match.group(1).split()

    def test_tables_of_a_small_model(self):
        text = printed(["-n", "-i", self.deck, "embedding.interface=untied"])
        # 2 blocks of 16 D^2 and two norms, the last norm; V D twice. By hand.
        self.assertEqual(self.row(text, "transformer")[0], f"{2 * (16 * 32 * 32 + 64) + 32:,}")
        self.assertEqual(self.row(text, "head")[0], f"{61 * 32:,}")
        self.assertEqual(self.row(text, "embedding.untied")[0], f"{61 * 32:,}")
        self.assertFalse((self.folder / "run").exists())

    def test_lev_count(self):
        text = printed(["-n", "-i", self.deck, "embedding.interface=lev"])
        k, b, d, h, kappa, r = 3, 4, 8, 2, 5, 6
        count = k * b * d + h * (d * d + 2 * d) + h * d * kappa * r + h * r * 32
        self.assertEqual(self.row(text, "embedding.lev")[0], f"{count:,}")

    def test_flops_do_not_depend_on_tying(self):
        rows = [self.row(printed(["-n", "-i", self.deck, f"embedding.interface={name}"]),
                         "head, per token") for name in ("tied", "untied")]
        self.assertEqual(rows[0], rows[1])

    def test_needs_no_data_with_a_vocabulary(self):
        self.tokens.unlink()
        text = printed(["-n", "-i", self.deck, "data.vocabulary_size=200019",
                        "transformer.width=2048", "transformer.layers=12",
                        "transformer.heads=16", "transformer.context=512", "batch.tokens=512"])
        # 12 blocks of 16 D^2 and two norms, the last norm, and V D once.
        self.assertEqual(self.row(text, "all")[0], "1,214,996,480")

    def test_resolved_deck_reads_back(self):
        first = printed(["-n", "-i", self.deck])
        deck = first[first.index("\n") + 1 : first.index("Parameters\n")]
        again = self.folder / "again.toml"
        again.write_text(deck)
        self.assertEqual(printed(["-n", "-i", again]), first)

    def test_printed_once_on_three_ranks(self):
        text = printed(["-n", "-i", self.deck], ranks=3)
        self.assertEqual(text.count("# resolved deck"), 1)

    def test_width_of_what_is_printed(self):
        for arguments in (["-h"], ["-c"]):
            for line in printed(arguments).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_configuration_names_libraries(self):
        text = printed(["-c"])
        for word in ("Kokkos", "GEMM fp32", "MPI", "HDF5", "device"):
            self.assertIn(word, text)

    def test_every_number_has_two_ends(self):
        """Nothing that is made of a key's value may hang or overflow later."""
        rows = [line.split(" | ") for line in printed(["-k"]).splitlines() if line.startswith("| `")]
        numbers = [row for row in rows if re.search("integer|real", row[1])]
        self.assertGreater(len(numbers), 80)
        for key, _, _, permitted, *_ in numbers:
            with self.subTest(key=key):
                self.assertRegex(permitted, "between .* and |(above|at least) .* and (below|at most) ")

    def test_the_largest_sizes_are_planned_at_once(self):
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        text = printed(["-n", "-i", self.deck, "transformer.layers=4096", "transformer.width=1048576",
                        "transformer.heads=16"])
        # Exact beyond what a double holds: 4096 blocks of 16 D^2 and two norms, the last norm.
        D = 1 << 20
        self.assertEqual(self.row(text, "transformer")[0], f"{4096 * (16 * D * D + 2 * D) + D:,}")
        self.assertNotIn("-", "".join(self.row(text, "peak")))
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began, 10)

    def test_what_would_overflow_is_said(self):
        for size, words in (("batch.tokens=4294967296", "2^63"), ("run.steps=1000000000000", "times batch.tokens")):
            result = run(["-n", "-i", self.deck, "transformer.layers=4096", "transformer.width=1048576",
                          "transformer.heads=16", "batch.tokens=4294967296", size])
            self.assertIn(result.returncode, (2, 5), result.stdout)
            (line,) = result.stderr.splitlines()
            self.assertIn(words, line)


class Decks(unittest.TestCase):
    def test_every_deck_is_valid(self):
        decks = sorted((SOURCE / "inputs").rglob("*.toml"))
        self.assertGreaterEqual(len(decks), 3)
        llama_folder = tempfile.TemporaryDirectory(prefix="lexikos_test_")
        self.addCleanup(llama_folder.cleanup)
        (Path(llama_folder.name) / "config.json").write_text(json.dumps(llama.random_model()[0]))
        for deck in decks:
            with self.subTest(deck=deck.name):
                lines = deck.read_text().splitlines()
                trains, imports = "[transformer]" in lines, "[import]" in lines
                result = run(["-n", "-i", deck] + ["data.vocabulary_size=8192"] * trains
                             + [f"import.folder={llama_folder.name}"] * imports)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_key_reference_is_current(self):
        text = (SOURCE / "inputs" / "README.md").read_text()
        self.assertTrue(printed(["-k"]).strip() in text,
                        "write the output of `lexikos -k` into inputs/README.md")


if __name__ == "__main__":
    unittest.main()
