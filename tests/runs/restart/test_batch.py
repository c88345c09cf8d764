"""The job scripts of inputs/batch/ against stand-ins for the schedulers' commands.

A chain of jobs ends once all steps are done, at a failing status, at a job without progress and at
a file STOP; until then each job submits the same again.
"""

import os
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import EXECUTABLE, SOURCE, RunTest  # noqa: E402

BATCH = SOURCE / "inputs/batch"
SLURM = ("slurm.sh", "slurm_one_node.sh")
DONE, DECK, NUMERICAL, RESOURCE = 0, 2, 4, 5

# Writes its arguments, one a line, then "end".
SUBMIT = """#!/bin/bash
printf '%s\\n' "$@" end >>"$STATE/submitted"
"""

COMMANDS = {
    "sbatch": SUBMIT,
    "squeue": '#!/bin/bash\ncat "$STATE/left"\n',
    "srun": '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n',
    "qsub": SUBMIT,
    "qstat": '#!/bin/bash\necho "    Resource_List.walltime = $(cat "$STATE/left")"\n',
    "mpiexec": '#!/bin/bash\nshift 2\nexec "$@"\n',
    "flux": """#!/bin/bash
case "$1 $2" in
  "job timeleft") echo 600.5 ;;
  "--parent batch") shift 2; printf '%s\\n' "$@" end >>"$STATE/submitted" ;;
  run*) shift; while [[ $1 == --* ]]; do shift; done; exec "$@" ;;
  *) exit 9 ;;
esac
""",
}

# Does what the next line of the plan says.
LEXIKOS = """#!/bin/bash
printf '%s\\n' "$@" end >>"$STATE/arguments"
while [[ $1 != -d ]]; do shift; done
number=$(grep -c '^end$' "$STATE/arguments")
case $(sed -n "${number}p" "$STATE/plan") in
  go) touch "$2/checkpoint_0000000$number.h5"
      echo "(one)      3.7712       43.43       34,880      98676  to be continued" ;;
  stuck) echo "(one)         nan         nan            0          0  to be continued" ;;
  done) echo "(one)      3.7712       43.43       34,880      98676  finished" ;;
  fail) echo "lexikos: error: the loss is not finite" >&2; exit 4 ;;
esac
"""


class Batch(RunTest):
    def setUp(self):
        super().setUp()
        self.state, self.run_folder = self.folder / "state", self.folder / "run"
        self.state.mkdir()
        (self.state / "left").write_text("00:10:00\n")
        commands = self.folder / "bin"
        commands.mkdir()
        for name, text in {**COMMANDS, "lexikos": LEXIKOS}.items():
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        (self.folder / "nodes").write_text("a\nb\n")
        self.environment = {
            **os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "STATE": str(self.state),
            "RUN": str(self.run_folder), "LEXIKOS": str(commands / "lexikos"),
            "DECK": str(self.deck), "SLURM_SUBMIT_DIR": str(SOURCE), "SLURM_JOB_ID": "7",
            "PBS_O_WORKDIR": str(SOURCE), "PBS_JOBID": "7", "PBS_NODEFILE": str(self.folder / "nodes")}

    def job(self, script, *arguments):
        return subprocess.run(["bash", f"inputs/batch/{script}", *map(str, arguments)], cwd=SOURCE,
                              capture_output=True, text=True, env=self.environment, check=False)

    def written(self, name):
        """The calls in a file of the state, each a list of arguments."""
        path = self.state / name
        text = path.read_text() if path.exists() else ""
        return [call.splitlines() for call in text.split("end\n")[:-1]]

    def chain(self, script, plan, arguments=()):
        """Runs jobs until none is submitted; the status of the last, and how many there were."""
        (self.state / "plan").write_text("\n".join(plan) + "\n")
        own = () if script == "pbs.sh" else (self.deck, *arguments)
        jobs, result = 0, None
        while jobs <= len(self.written("submitted")) and jobs < 9:
            result = self.job(script, *own)
            jobs += 1
        return result, jobs

    def scripts(self):
        return (*SLURM, "flux.sh", "pbs.sh")

    def each(self, check, scripts=None):
        """check(script), from an empty state."""
        for script in scripts or self.scripts():
            for name in ("submitted", "arguments"):
                (self.state / name).unlink(missing_ok=True)
            for path in self.run_folder.glob("*"):
                path.unlink()
            with self.subTest(script=script):
                check(script)

    def test_syntax(self):
        for script in (*self.scripts(), "chain.sh"):
            result = subprocess.run(["bash", "-n", BATCH / script], capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""), script)

    def test_until_done(self):
        def check(script):
            result, jobs = self.chain(script, ["go", "go", "done", "go"])
            self.assertEqual((result.returncode, jobs), (DONE, 3), result.stderr)
            self.assertEqual(len(self.written("submitted")), 2)

        self.each(check)

    def test_successors_get_the_same_command(self):
        def check(script):
            more = ("run.steps=70", 'output.directory="a b"')
            self.chain(script, ["go", "done"], more)
            again = [f"inputs/batch/{script}", str(self.deck), *more]
            self.assertEqual(self.written("submitted"), [again])
            # Ten minutes less the margin of five.
            command = ["-i", str(self.deck), "-d", str(self.run_folder), "-r", "latest", "-t",
                       "00:05:00", *more]
            self.assertEqual(self.written("arguments"), [command, command])

        self.each(check, SLURM)

    def test_a_failure_ends_the_chain(self):
        def check(script):
            result, jobs = self.chain(script, ["go", "fail", "go"])
            self.assertEqual((result.returncode, jobs), (NUMERICAL, 2), result.stdout)
            self.assertIn("not finite", result.stdout)

        self.each(check)

    def test_no_progress_ends_the_chain(self):
        def check(script):
            result, jobs = self.chain(script, ["go", "stuck", "go"])
            self.assertEqual((result.returncode, jobs), (RESOURCE, 2), result.stdout)
            self.assertIn("no checkpoint in this job's time", result.stdout + result.stderr)

        self.each(check)

    def test_stop_ends_the_chain(self):
        def check(script):
            self.run_folder.mkdir(exist_ok=True)
            (self.run_folder / "STOP").touch()
            result, jobs = self.chain(script, ["go", "go"])
            self.assertEqual((result.returncode, jobs), (DONE, 1), result.stdout)

        self.each(check)

    def test_too_little_time(self):
        (self.state / "left").write_text("5:30\n")
        result, jobs = self.chain("slurm.sh", ["go"])
        self.assertEqual((result.returncode, jobs), (DECK, 1))
        self.assertEqual(self.written("arguments"), [])

    def test_no_deck(self):
        result = self.job("slurm.sh", self.folder / "none.toml")
        self.assertEqual(result.returncode, DECK)
        self.assertIn("usage", result.stderr)

    def test_with_the_executable(self):
        """What the scripts look for in the output is what lexikos prints."""
        wrapper = self.folder / "bin" / "short"
        wrapper.write_text(f'#!/bin/bash\nexec {shlex.quote(EXECUTABLE)} "${{@:1:6}}" $LIMIT "${{@:9}}"\n')
        wrapper.chmod(0o755)
        self.environment.update(LEXIKOS=str(wrapper), LIMIT="-t 00:00:01", OMP_NUM_THREADS="1")
        result = self.job("slurm.sh", self.deck, "run.steps=1000000", "run.log_every=100000",
                          "validation.every=0")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertIn("terminated on wall-time limit", result.stdout)
        self.assertEqual(len(self.written("submitted")), 1)
        self.environment.update(LIMIT="", RUN=str(self.folder / "whole"))
        result = self.job("slurm.sh", self.deck, "run.steps=3")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(len(self.written("submitted")), 1)


if __name__ == "__main__":
    unittest.main()
