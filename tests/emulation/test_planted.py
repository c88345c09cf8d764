"""Mistakes planted in small programs: the emulated device finds each of them, every time, and says
where it is; the same done right passes."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

PROGRAMS = Path(os.environ["LEXIKOS_EXE"]).parent / "tests" / "emulation"


def run(name, lanes):
    environment = dict(os.environ, LEXIKOS_EMULATED_LANES=lanes)
    return subprocess.run([PROGRAMS / f"planted_{name}"], env=environment, capture_output=True, text=True, timeout=60)


class Planted(unittest.TestCase):
    def check(self, name, status, *words, lanes=("threads", "turns")):
        for kind in lanes:
            with self.subTest(name=name, lanes=kind):
                done = run(name, kind)
                self.assertEqual(done.returncode, status, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_nothing_planted(self):
        self.check("none", 0)

    def test_host_access_ends_with_the_array_and_the_caller(self):
        self.check("host_access", -signal.SIGSEGV, "device array 'x', byte 12,", "planted_host_access(_Z7planted")

    def test_a_missing_copy_gives_another_number(self):
        self.check("missing_copy", 1, "where 14 is right")

    def test_unset_memory_is_not_a_number(self):
        self.check("unset_memory", 1, "nan where 0 is right")

    def test_a_missing_barrier_gives_a_wrong_number_each_time(self):
        for _ in range(3):
            self.check("missing_barrier", 1, "is right", lanes=("turns",))

    def test_a_barrier_that_one_lane_misses(self):
        self.check("lost_lane", -signal.SIGABRT, "a barrier that not every lane reaches, in 'planted'", lanes=("turns",))

    def test_an_unknown_kind_of_lanes(self):
        self.check("none", -signal.SIGABRT, "is threads or turns, not 'fibres'", lanes=("fibres",))


if __name__ == "__main__":
    unittest.main()
