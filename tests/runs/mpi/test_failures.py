"""A rank that fails ends the whole job within seconds, with its own line and the documented status."""

import os
import re
import shlex
import subprocess
import sys
import time
import unittest
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, MPIRUN, RunTest, write_tokens  # noqa: E402

FILE, NUMERICAL, RESOURCE = 3, 4, 5
SECONDS = 30  # the job itself needs six; the machine may be busy
PROGRAM = []  # failing_rank, from the command line


def mpirun(parts):
    """Ranks with command lines of their own: [(ranks, command), ...]. Each rank picks its own: the
    mpirun of Open MPI 5.0.7 crashes where it is given several."""
    each = [shlex.join(map(str, part)) for ranks, part in parts for _ in range(ranks)]
    cases = "\n".join(f"{rank}) exec {line} ;;" for rank, line in enumerate(each))
    pick = f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in\n{cases}\n*) exit 99 ;;\nesac'
    command = [*MPIRUN, "-np", str(len(each)), "sh", "-c", pick]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    environment.pop("OMPI_MCA_odls_base_sigkill_timeout", None)  # as it is for a user
    began = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment,
                            stdin=subprocess.DEVNULL, check=False)
    return result, time.monotonic() - began


class Failures(RunTest):
    def check(self, parts, status, *words):
        result, seconds = mpirun(parts)
        self.assertEqual(result.returncode, status, result.stderr)
        lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
        self.assertEqual(len(lines), 1, result.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotRegex(result.stderr, re.compile("terminate called|Segmentation|Signal:"))
        self.assertLess(seconds, SECONDS)

    def lexikos_on(self, bad, ranks, tokens):
        """The training job of which only rank `bad` has another tokens file."""
        deck = [EXECUTABLE, "-i", self.deck, "-d", self.folder / f"out{bad}{ranks}", "run.steps=50",
                "validation.every=0"]
        parts = [(bad, deck), (1, [*deck, f"data.tokens={tokens}"]), (ranks - bad - 1, deck)]
        return [part for part in parts if part[0] > 0]

    def each(self):
        return [(bad, ranks) for ranks in (2, 3) for bad in range(ranks)]

    def test_tokens_missing_on_one_rank(self):
        for bad, ranks in self.each():
            with self.subTest(bad=bad, ranks=ranks):
                self.check(self.lexikos_on(bad, ranks, self.folder / "none.h5"), FILE, "none.h5")

    def test_tokens_damaged_on_one_rank(self):
        whole = self.tokens.read_bytes()
        damaged = self.folder / "damaged.h5"
        damaged.write_bytes(whole[: len(whole) // 2])
        for bad, ranks in self.each():
            with self.subTest(bad=bad, ranks=ranks):
                self.check(self.lexikos_on(bad, ranks, damaged), FILE, "damaged.h5")

    def test_ids_past_the_vocabulary_on_one_rank(self):
        damaged = self.folder / "ids.h5"
        write_tokens(damaged)
        with h5py.File(damaged, "r+") as file:
            file["train"][::32] = 61  # past the vocabulary
        for bad, ranks in self.each():
            with self.subTest(bad=bad, ranks=ranks):
                self.check(self.lexikos_on(bad, ranks, damaged), FILE, "ids.h5", "61")

    def test_error_in_mid_step(self):
        for bad, ranks, status in ((0, 2, NUMERICAL), (1, 2, RESOURCE), (2, 3, FILE)):
            with self.subTest(bad=bad, ranks=ranks):
                self.check([(ranks, [*PROGRAM, bad, status])], status,
                           f"rank {bad}: a device error in mid-step")

    def test_a_job_without_errors_ends_well(self):
        result, _ = mpirun([(3, [*PROGRAM, -1, RESOURCE])])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("error", result.stderr)


if __name__ == "__main__":
    PROGRAM.append(sys.argv.pop())
    unittest.main()
