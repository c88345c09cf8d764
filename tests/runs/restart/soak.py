"""Kills a short run at random moments, hundreds of times, and wants the straight run's bits.

    python3 tests/runs/restart/soak.py build/openmp/lexikos [--kills 500] [--seconds 600] [--seed 1]

Not part of the suite. A run is started with -r latest again and again; each start is killed at a
random moment of its life, four times in five by SIGKILL, else by SIGTERM. Once it has got through,
history, last checkpoint and embedding file are compared with those of a run that nobody disturbed,
and the next run begins.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

STEPS, EVERY = 120, 5
FILES = (f"checkpoint_{STEPS:08d}.h5", "history.h5", "embedding.h5")
DECK = (f"run.steps={STEPS}", "run.log_every=1000", f"checkpoint.every={EVERY}", "validation.every=7",
        "geometry.every=11", "checkpoint.keep=3", "transformer.layers=1", "spike_guard.deviations=2",
        "spike_guard.window=20", "spike_guard.most_in_a_row=1000")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("executable", type=Path)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=600, help="no further run after these")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Soak:
    def __init__(self, asked, folder, runs):
        self.asked, self.folder, self.runs = asked, folder, runs
        self.random = random.Random(asked.seed)
        self.counts = dict.fromkeys(("SIGKILL", "SIGTERM", "came too late", "left half a file"), 0)
        self.starts = self.finished = self.updates_left_out = 0
        self.began = time.monotonic()
        self.life = 1.0  # seconds of a start that nobody kills, as last seen

    def kills(self):
        return self.counts["SIGKILL"] + self.counts["SIGTERM"]

    def start(self, out):
        self.starts += 1
        command = [self.asked.executable.resolve(), "-i", self.folder / "deck.toml", "-d", out, *DECK,
                   "-r", "latest"]
        # No pipes: what MPI started beside a killed run would hold them open.
        with (self.folder / "stderr").open("w") as errors:
            return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=errors,
                                    stdin=subprocess.DEVNULL,
                                    env={**os.environ, "OMP_NUM_THREADS": "1"})

    def end(self, process, allowed):
        status = process.wait()
        if status not in allowed:
            error = (self.folder / "stderr").read_text()
            sys.exit(f"start {self.starts} ended with status {status}: {error}")
        return status

    def whole(self, out):
        began = time.monotonic()
        self.end(self.start(out), (0,))
        self.life = time.monotonic() - began

    def killed(self, out):
        """One start; true where it reached the end before its signal."""
        process = self.start(out)
        which = signal.SIGKILL if self.random.random() < 0.8 else signal.SIGTERM
        began = time.monotonic()
        try:
            process.wait(self.random.uniform(0, self.life))
        except subprocess.TimeoutExpired:
            process.send_signal(which)
            # SIGTERM ends a run with status 0; one that has not begun to listen it just ends.
            self.end(process, (-which, 0))
            self.counts[which.name] += 1
            self.counts["left half a file"] += any(".tmp." in p.name for p in out.glob("*"))
            return (out / FILES[0]).exists() and (out / FILES[2]).exists()
        self.end(process, (0,))
        self.life = 0.5 * self.life + 0.5 * (time.monotonic() - began)
        self.counts["came too late"] += 1
        return True

    def same(self, out):
        for name in FILES:
            first = self.runs.datasets(self.folder / "straight" / name)
            second = self.runs.datasets(out / name)
            if sorted(first) != sorted(second):
                sys.exit(f"{out / name} has other datasets")
            for dataset, value in first.items():
                if value.tobytes() != second[dataset].tobytes():
                    sys.exit(f"{dataset} of {out / name} differs from the straight run's")
        self.updates_left_out = int(np.nansum(first_column(self.folder / "straight", self.runs)))

    def go(self):
        self.whole(self.folder / "straight")
        out = self.folder / "killed"
        while self.kills() < self.asked.kills and time.monotonic() - self.began < self.asked.seconds:
            if not self.killed(out):
                continue
            self.whole(out)  # finishes what a late signal left open; else does nothing
            self.same(out)
            shutil.rmtree(out)
            self.finished += 1
        self.whole(out)
        self.same(out)
        self.finished += 1

    def report(self):
        print(f"soak: {self.kills()} kills ({self.counts['SIGKILL']} SIGKILL, {self.counts['SIGTERM']} "
              f"SIGTERM) in {self.starts} starts, {time.monotonic() - self.began:.0f} s")
        print(f"      {self.counts['came too late']} signals came too late, "
              f"{self.counts['left half a file']} kills left a half-written temporary file")
        print(f"      {self.finished} runs of {STEPS} steps got through; history, checkpoint and "
              "embedding of each have the bits of the straight run")
        print(f"      (the spike guard left {self.updates_left_out} updates out in each)")


def first_column(folder, runs):
    return runs.datasets(folder / "history.h5")["history/skipped"]


def main():
    asked = arguments()
    tests = Path(__file__).resolve().parents[2]
    os.environ.setdefault("LEXIKOS_EXE", str(asked.executable))
    os.environ.setdefault("LEXIKOS_SOURCE_DIR", str(tests.parent))
    os.environ.setdefault("LEXIKOS_MPIRUN", "mpirun")
    sys.path.insert(0, str(tests))
    from harness import runs

    with tempfile.TemporaryDirectory(prefix="lexikos_soak_") as name:
        folder = Path(name)
        runs.write_tokens(folder / "tokens.h5", train=12 * 16 + 1, validation=200)
        (folder / "deck.toml").write_text(runs.DECK.format(tokens=folder / "tokens.h5"))
        soak = Soak(asked, folder, runs)
        soak.go()
        soak.report()


if __name__ == "__main__":
    main()
