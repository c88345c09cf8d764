#!/usr/bin/env python3
"""Times Lexikos and PyTorch in turn, pair by pair, and prints medians and ratios.

    compare.py train --deck inputs/bench/host_small.toml   one training step
    compare.py packing                                     one step of d 256, k 4,000, p 8

Not part of the suite: times are of this machine and this hour. Both sides have the same
threads; each pair is one process of either, so that what else the machine does weighs on
both. The ratio is that of the pair; its median over the pairs counts.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib

FOLDER = os.path.dirname(os.path.abspath(__file__))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "packing"])
    parser.add_argument("--deck", default=os.path.join(FOLDER, "../../inputs/bench/host_small.toml"),
                        help="of job bench (train)")
    parser.add_argument("--lexikos", default=os.environ.get("LEXIKOS_EXE", "lexikos"))
    parser.add_argument("--peer-python", default=sys.executable,
                        help="an interpreter that has torch")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--bf16", action="store_true", help="both sides compute in bf16")
    parser.add_argument("--compile", action="store_true", help="the peer uses torch.compile")
    return parser.parse_args()


def run(command, threads, **keywords):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    # Set on some machines for older builds of OpenBLAS; they would hold the peer back.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(name, None)
    done = subprocess.run(command, env=environment, text=True, capture_output=True, **keywords)
    if done.returncode != 0:
        sys.exit(f"compare.py: {' '.join(command)} ended with {done.returncode}:\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def peer(arguments, script, job):
    text = run([arguments.peer_python, os.path.join(FOLDER, script)], arguments.threads,
               input=json.dumps(dict(job, threads=arguments.threads)))
    answer = json.loads(text.splitlines()[-1])
    return statistics.median(answer["seconds"]), answer


def model_of(deck, arguments):
    """What model_torch.py needs, from a bench deck; None stands for the key's default."""
    t = deck["transformer"]
    if deck["embedding"]["interface"] != "tied":
        sys.exit("compare.py: the peer has a tied table; take a deck with interface = \"tied\"")
    return {"vocabulary": deck["data"]["vocabulary_size"], "width": t["width"],
            "layers": t["layers"], "heads": t["heads"], "context": t["context"],
            "mlp_width": t.get("mlp_width", 4 * t["width"]),
            "sequences": deck["batch"]["tokens"] // t["context"], "steps": deck["run"]["steps"],
            "bf16": arguments.bf16, "compile": arguments.compile}


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"compare.py: no '{pattern}' in the output of lexikos:\n{text}")
    return float(found.group(1).replace(",", ""))


def train_pair(arguments):
    with open(arguments.deck, "rb") as file:
        deck = tomllib.load(file)
    command = [arguments.lexikos, "-i", arguments.deck]
    if arguments.bf16:
        command.append("run.compute=bf16")
    text = run(command, arguments.threads)
    ours = deck["batch"]["tokens"] / number(r"([\d,]+) tokens/s", text)
    theirs, answer = peer(arguments, "model_torch.py", model_of(deck, arguments))
    share = number(r"share +([\d.]+) %", text)
    return ours, theirs, answer["version"], f"{share:.1f} % of our GEMM rate"


PACKING = """job = "packing"
seed = 1
[packing]
kind = "optimised"
dimensions = [256]
counts = [4000]
steps = {steps}
numerator = 45              # p = 8
[output]
directory = "{folder}"
"""


def packing_pair(arguments, steps=60):
    with tempfile.TemporaryDirectory() as folder:
        deck = os.path.join(folder, "deck.toml")
        with open(deck, "w") as file:
            file.write(PACKING.format(steps=steps, folder=os.path.join(folder, "out")))
        text = run([arguments.lexikos, "-i", deck], arguments.threads)
    rate = number(r"rate=([\d.]+) GFLOP/s", text)
    ours = 3.0 * 256 * 4000**2 / (rate * 1e9)
    theirs, answer = peer(arguments, "packing_torch.py",
                          {"dimension": 256, "count": 4000, "power": 8, "learning_rate": 0.005,
                           "steps": 12})
    return ours, theirs, answer["version"], f"{rate:.0f} GFLOP/s"


def main():
    arguments = parse_arguments()
    pairs = []
    for i in range(arguments.pairs):
        pair = (train_pair if arguments.what == "train" else packing_pair)(arguments)
        pairs.append(pair)
        print(f"pair {i + 1}: lexikos {1e3 * pair[0]:.1f} ms, peer {1e3 * pair[1]:.1f} ms a step, "
              f"ratio {pair[1] / pair[0]:.2f}; {pair[3]}", flush=True)
    median = [statistics.median(column) for column in
              ([p[0] for p in pairs], [p[1] for p in pairs], [p[1] / p[0] for p in pairs])]
    version = run([arguments.lexikos, "--version"], arguments.threads).strip()
    mode = (", bf16" if arguments.bf16 else ", fp32") + (", compiled" if arguments.compile else "")
    print(f"median of {len(pairs)}: lexikos {1e3 * median[0]:.1f} ms, peer {1e3 * median[1]:.1f} ms, "
          f"ratio {median[2]:.2f}")
    print(f"{version}; {pairs[0][2]}{mode}; {arguments.threads} threads")


if __name__ == "__main__":
    main()
