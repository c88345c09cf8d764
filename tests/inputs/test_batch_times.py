"""inputs/batch/chain.sh: what the batch systems say of a job's time, and paths as users write them."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
CHAIN = f"set -euo pipefail; source {SOURCE}/inputs/batch/chain.sh; "
SECONDS = {"30": 30, "30:00": 1800, "1:30:00": 5400, "04:00:00": 14400, "08:09:10": 29350, "1-00": 86400, "1-12:30": 131400,
           "2-00:00:01": 172801, "1:02:03:04": 93784, "3599.8": 3599, " 2:00\n": 120, "10:00\n5:00": 300, "UNLIMITED\n5:00": 300}
ENDLESS = ("UNLIMITED", "unlimited", "infinity", "INFINITE\n")
NO_TIMES = ("NOT_SET", "INVALID", "Partition_Limit", "", "-5", "1-2-3", "1:", ":5", "1 2", "99999999999", "10:00\nslurm_load_jobs error",
            "1-00:00:00:00", "$(touch x)", "%s")


class Times(unittest.TestCase):
    def bash(self, command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", CHAIN + command, "job", *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment}, cwd=environment.get("PWD"))

    def test_seconds(self):
        for text, seconds in (*SECONDS.items(), *((text, "unlimited") for text in ENDLESS)):
            with self.subTest(text=text):
                done = self.bash('seconds_of "$1"', text)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{seconds}\n", ""))
        for text in NO_TIMES:
            with self.subTest(text=text):
                done = self.bash('seconds_of "$1"', text)
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "unknown\n", 1), done.stderr)
                self.assertIn("TIME_LIMIT=", done.stderr)

    def part(self, left: str, deck="deck.toml", **environment: str) -> tuple[subprocess.CompletedProcess, str]:
        """run_part with `echo` for the executable; its folder is the test's."""
        with tempfile.TemporaryDirectory() as folder:
            done = self.bash('status=0; run_part "$(time_left printf "%s" "$1")" env -- "$2" || status=$?; exit $status', left, deck,
                             **{"LEXIKOS": "echo", "PWD": folder, "HOME": f"{folder}/home", **environment})
            return done, " ".join(sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("job.log")))

    def test_what_a_job_does_with_it(self):
        for left, words in (("UNLIMITED", "-r latest\n"), ("1-00", "-r latest -t 23:55:00\n"), ("10:00", "-t 00:05:00\n")):
            done, _ = self.part(left)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.endswith(words), done.stdout)
        for left, words in (("NOT_SET", "which is no time"), ("", "which is no time"), ("0:30", "shorter than MARGIN")):
            done, logs = self.part(left)
            self.assertEqual((done.returncode, len(done.stderr.splitlines()), logs), (2, 1, ""), done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_limit_of_ones_own(self):
        done, _ = self.part("NOT_SET", TIME_LIMIT="1:00:00")
        self.assertRegex(done.stdout, r"-t 00:5[45]:\d\d\n")
        self.assertEqual(self.part("5:00", TIME_LIMIT="x")[0].returncode, 2)

    def test_a_command_that_fails(self):
        done = self.bash('run_part "$(time_left false)" env -- deck.toml', LEXIKOS="echo")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        done = self.bash("squeue() { return 1; }; time_left slurm_time_left", SLURM_JOB_ID="7",
                         SLURM_JOB_END_TIME=subprocess.check_output(["date", "-d", "+1000 seconds", "+%s"], text=True).strip())
        self.assertIn(int(done.stdout), range(900, 1001), done.stderr)
        for says, expected in (("Resource_List.walltime = 1:00:00", range(3500, 3601)), ("Resource_List.walltime = 1:00:00:00",
                                                                                    range(86300, 86401))):
            done = self.bash(f'qstat() {{ echo "    {says}"; }}; time_left pbs_time_left', PBS_JOBID="7")
            self.assertIn(int(done.stdout), expected, done.stderr)
        self.assertEqual(self.bash("qstat() { echo Job; }; time_left pbs_time_left", PBS_JOBID="7").stdout, "unlimited\n")
        self.assertEqual(self.bash("qstat() { return 9; }; time_left pbs_time_left", PBS_JOBID="7").stdout, "unknown\n")

    def test_paths(self):
        for deck, run, folder in (("a b.toml", None, "runs/a b"), ("a\nb.toml", None, "runs/a\nb"), ("~/d.toml", "~/my runs", "home/my runs"),
                                  ("-x.toml", None, "runs/-x"), ("d.toml", "-r", "-r"), ("$(x)*.toml", None, "runs/$(x)*")):
            with self.subTest(deck=deck, run=run):
                done, logs = self.part("UNLIMITED", deck, **({} if run is None else {"RUN": run}))
                self.assertEqual((done.returncode, done.stderr, logs), (0, "", f"{folder}/job.log"))
                self.assertNotIn("-i -", done.stdout)
                self.assertNotIn("~", done.stdout)

    def test_the_status_is_the_executable_s(self):
        for program, status in (("false", 1), ("true", 0)):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["bash", "-c", f"source {SOURCE}/inputs/batch/chain.sh; run_part unlimited env -- d.toml"],
                                      env={**os.environ, "LEXIKOS": program}, cwd=folder, check=False)
                self.assertEqual(done.returncode, status)


if __name__ == "__main__":
    unittest.main()
