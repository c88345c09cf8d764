"""The size of a team is Kokkos's to choose: one that is written down compiles everywhere, and on a
device whose limit is lower the kernel does not start. A host cannot run into that, so the sources are
read: every policy with teams must leave the size to Kokkos::AUTO or ask for the largest there is."""

import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ["LEXIKOS_SOURCE_DIR"])
PLANTED = SOURCE / "tests" / "portability" / "planted" / "team_size"


def arguments(text, begin):
    """What stands between the parenthesis at `begin` and its partner, split at outer commas."""
    depth, parts, start = 0, [], begin + 1
    for i in range(begin, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[i] == ","):
            parts.append(text[start:i].strip())
            start = i + 1
        if depth == 0:
            return parts
    return parts


def fixed_teams(path):
    """file:line of each TeamPolicy whose team size is a number of the code's own."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    found = []
    for match in re.finditer(r"TeamPolicy\s*<[^;{}()]*>\s*(?:\w+\s*)?([({])", text):
        given = arguments(text, match.end() - 1)
        sizes = [a for a in given[1:] if re.search(r"Kokkos::AUTO|\bteam_size\(\)|team_size_(max|recommended)", a)]
        if not sizes:
            found.append(f"{path}:{text[:match.start()].count(chr(10)) + 1}")
    return found


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp"))


class TeamSizes(unittest.TestCase):
    def test_no_team_has_a_size_of_its_own(self):
        for folder in ("src", "physics-style"):
            for path in sources(SOURCE / folder):
                self.assertEqual(fixed_teams(path), [], "leave the team's size to Kokkos::AUTO")

    def test_there_are_teams(self):
        teams = [p for folder in ("src", "physics-style") for p in sources(SOURCE / folder)
                 if re.search(r"TeamPolicy\s*<[^;{}()]*>\s*\(", p.read_text())]
        self.assertGreater(len(teams), 0)

    def test_planted_mistakes_are_found(self):
        planted = sources(PLANTED)
        self.assertGreater(len(planted), 0)
        for path in planted:
            self.assertEqual(len(fixed_teams(path)), 1, path)


if __name__ == "__main__":
    unittest.main()
