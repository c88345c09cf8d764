"""The papers' decks: the sizes that `-n` prints, without data, are the published ones."""

import re
import sys
import unittest
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, SOURCE, RunTest, run  # noqa: E402

PAPERS = SOURCE / "inputs" / "papers"
# Those that train models.
DECKS = sorted(deck for deck in PAPERS.rglob("*.toml") if deck.parent.name != "capacity")
H100_FLOPS = 989e12  # per second, dense bf16
SHARE = 0.4  # of it, as the decks' headers assume
UNIT = {"M": 1e6, "G": 1e9}


@lru_cache(maxsize=None)
def printed(deck, *arguments):
    result = run(["-n", "-i", deck, *arguments])
    assert result.returncode == 0, result.stderr
    return result.stdout


def comparison(text):
    """The last table: member -> (trainable, matrices, difference, in short, in %) as printed."""
    rows, name = {}, None
    for line in text[text.index("Parameters of the members\n"):].splitlines()[2:]:
        fields = re.fullmatch(r"  (\S*) +([\d,]+) +([\d.]+ [MGT]) +([-+]?[\d,]+) +([-+][\d.]+ M) +"
                              r"([-+][\d.]+)", line)
        if fields:
            rows[fields[1] or name] = fields.groups()[1:]
        name = line.strip()
    return rows


def count(text):
    return int(text.replace(",", ""))


def table_of(deck, *arguments):
    return comparison(printed(PAPERS / deck, *arguments))


class Leviathan(unittest.TestCase):
    """The paper counts only matrices."""

    def test_400m(self):
        table = table_of("leviathan/400m.toml")
        self.assertEqual(table["untied"][1], "611.0 M")
        self.assertEqual(table["tied"][1], "406.1 M")
        self.assertEqual(table["lev"][3], "+1.73 M")

    def test_200m(self):
        self.assertEqual(table_of("leviathan/200m.toml")["tied"][1], "206.7 M")

    def test_1200m(self):
        table = table_of("leviathan/1200m.toml")
        self.assertEqual(table["tied"][1], "1214.9 M")
        self.assertEqual(table["lev"][3:], ("+2.25 M", "+0.19"))

    def test_exact_counts_by_hand(self):
        for deck, v, d in (("200m", 200019, 640), ("400m", 200019, 1024), ("1200m", 200019, 2048),
                           ("vocabulary_50257", 50257, 640), ("vocabulary_100277", 100277, 640)):
            with self.subTest(deck=deck):
                table = table_of(f"leviathan/{deck}.toml")
                tied = 12 * 16 * d * d + v * d + 25 * d  # blocks, table, gains of 25 norms
                self.assertEqual(count(table["tied"][0]), tied)
                base = next(b for b in range(1, v) if b**3 >= v)
                lev = 3 * base * 128 + 8 * (128**2 + 2 * 128) + 8 * 128 * 16 * 64 + 8 * 64 * d
                self.assertEqual(count(table["lev"][2]), lev)
                if "untied" in table:
                    self.assertEqual(count(table["untied"][2]), v * d)

    def test_members(self):
        for size in ("200m", "400m", "1200m"):
            table = table_of(f"leviathan/{size}.toml")
            self.assertEqual(set(table), set(INTERFACES) - {"binary_code"})
            # Matched to LEV as near as whole columns or hidden units come.
            lev = count(table["lev"][2])
            for member in ("albert", "flat_mlp", "factored_mlp"):
                self.assertLess(abs(count(table[member][2]) / lev - 1), 0.06, (size, member))
            for member in ("flat_mlp", "factored_mlp"):
                self.assertLess(abs(count(table[member][2]) / lev - 1), 0.001, (size, member))


class BinaryCodes(unittest.TestCase):
    def test_1700m(self):
        table = table_of("binary_codes/1700m.toml")
        self.assertEqual(table["binary_code"][0], "1,711,376,384")
        self.assertEqual(table["untied"][2], "+100,663,296")

    def test_predecessor(self):
        table = table_of("binary_codes/predecessor.toml")
        for seed in (1, 2, 3):
            fixed, learned = table[f"binary_code-seed{seed}"], table[f"untied-seed{seed}"]
            self.assertEqual(count(learned[0]) - count(fixed[0]), 67108864)
            self.assertEqual(learned[2], "+67,108,864")

    def test_affine_is_the_third_member_of_the_same_run(self):
        """But for interface, recoding and its own comments the two decks of a study say the same."""
        for name in ("1700m", "predecessor"):
            def resolved(deck):
                text = printed(PAPERS / "binary_codes" / deck)
                first = text[text.index("\n") + 1 : text.index("\nParameters\n")]
                return {line.split("#")[0].strip() for line in first.splitlines()}

            both, affine = resolved(f"{name}.toml"), resolved(f"{name}_affine.toml")
            changed = {line.split(" ")[0] for line in both ^ affine}
            self.assertEqual(changed, {"recoding"})
            self.assertIn('recoding = "affine"', affine)


class Decks(unittest.TestCase):
    def test_headers_state_what_is_printed(self):
        """Tokens, FLOP and hours in a deck's header follow from its keys and from -n."""
        self.assertEqual(len(DECKS), 9)
        for deck in DECKS:
            with self.subTest(deck=deck.name):
                text, output = deck.read_text(), printed(deck)
                per_token = 0.0
                for part in ("transformer", "head"):
                    found = re.search(rf"^  {part}, per token +([\d.]+) ([MG])FLOP$", output,
                                      re.MULTILINE)
                    self.assertIn(f"{found[1]} {found[2]}FLOP ({part})", text)
                    per_token += float(found[1]) * UNIT[found[2]]
                keys = {key: int(re.search(rf"^{key} = (\d+)", text, re.MULTILINE)[1])
                        for key in ("steps", "tokens")}
                tokens = keys["steps"] * keys["tokens"]
                self.assertIn(f"trains on {tokens / 1e9:.2f} B tokens", text)
                flop = tokens * per_token
                stated = re.search(r"^# ([\d.]+e\d+) FLOP, ([\d.,]+) GPU-hours", text, re.MULTILINE)
                self.assertAlmostEqual(float(stated[1]) / flop, 1, delta=0.01)
                hours = flop / (SHARE * H100_FLOPS) / 3600
                stated_hours = float(stated[2].replace(",", ""))
                self.assertAlmostEqual(stated_hours, hours, delta=0.05 if hours < 100 else 0.5)
                members = output.count("# resolved deck")
                together = re.search(r"; all (\d+) members ([\d.,]+)\.$", text, re.MULTILINE)
                self.assertEqual(members > 1, together is not None)
                if together:
                    self.assertEqual(int(together[1]), members)
                    self.assertAlmostEqual(float(together[2].replace(",", "")) / (members * hours),
                                           1, delta=0.03)
                self.assertIn(f"# lexikos -i {deck.relative_to(SOURCE).as_posix()} ", text)

    def test_about_20_tokens_a_parameter(self):
        for deck in DECKS:
            if deck.parent.name == "leviathan":
                tokens = int(re.search(r"^steps = (\d+)", deck.read_text(), re.MULTILINE)[1]) * 262144
                tied = count(comparison(printed(deck))["tied"][0])
                self.assertAlmostEqual(tokens / tied, 20, delta=0.3, msg=deck.name)


class Comparison(RunTest):
    """The table after the last member of a sweep."""

    def table(self, *arguments):
        return comparison(printed(self.deck, *arguments))

    def test_differences_are_to_tied_wherever_it_stands(self):
        table = self.table("sweep.embedding.interface=['lev', 'tied', 'untied']")
        self.assertEqual(list(table), ["lev", "tied", "untied"])
        for member, row in table.items():
            difference = count(row[0]) - count(table["tied"][0])
            self.assertEqual(count(row[2]), difference, member)
            self.assertEqual(row[3], f"{difference / 1e6:+.2f} M")
            self.assertEqual(row[4], f"{100 * difference / count(table['tied'][0]):+.2f}")
        self.assertEqual(count(table["untied"][2]), 61 * 32)

    def test_differences_without_tied_are_to_the_first(self):
        table = self.table("sweep.embedding.interface=['untied', 'binary_code']")
        self.assertEqual(count(table["untied"][2]), 0)
        self.assertEqual(count(table["binary_code"][2]), -61 * 32)

    def test_matrices_alone_leave_the_gains_out(self):
        # At this width the 10.1 k gains of 63 layers weigh a tenth of a million and more.
        wide = ["transformer.width=2048", "transformer.layers=63", "transformer.mlp_width=1"]
        text = printed(self.deck, *wide)
        matrices = 63 * (4 * 2048 * 2048 + 3 * 2048) + 61 * 2048
        self.assertNotEqual(f"{matrices / 1e6:.1f}", f"{(matrices + 127 * 2048) / 1e6:.1f}")
        self.assertRegex(text, rf"matrices alone, in short +{matrices / 1e6:.1f} M\n")

    def test_table_fits_the_console(self):
        long = "sweep.embedding.interface=['factored_mlp', 'binary_code']"
        sizes = "sweep.embedding.binary_code.recoding=['canonical', 'affine']"
        text = printed(self.deck, long, sizes)
        self.assertIn("factored_mlp-canonical", comparison(text))
        for source in [text] + [printed(deck) for deck in DECKS]:
            for line in source[source.index("\nParameters\n"):].splitlines():
                if re.match(r"  |Parameters", line):
                    self.assertLessEqual(len(line), 80, line)

    def test_one_member_is_compared_with_nothing(self):
        self.assertNotIn("Parameters of the members", printed(self.deck))

    def test_printed_once_on_two_ranks(self):
        result = run(["-n", "-i", self.deck, "sweep.seed=[1, 2]"], ranks=2)
        self.assertEqual(result.stdout.count("Parameters of the members"), 1)


if __name__ == "__main__":
    unittest.main()
