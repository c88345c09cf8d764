#!/usr/bin/env python3
"""How the cost of a step grows: L, D, T, V and the batch doubled one at a time.

    grow.py --lexikos build/openmp/lexikos [--compute fp32 bf16] [--figure growth.png]

For each size: milliseconds of a step, and of the same step if every region ran at its bound
(products at the GEMM rate, all else at the rate of a memory copy; both measured in the same
process). If the code grows as its FLOP and bytes do, the two columns keep their ratio.
"""
import argparse
import os
import re
import subprocess
import tempfile

BASE = {"layers": 4, "width": 256, "heads": 4, "context": 256, "vocabulary": 8192,
        "tokens": 2048}
STEPS = [("base", {}), ("L x 2", {"layers": 8}), ("D x 2", {"width": 512, "heads": 8}),
         ("T x 2", {"context": 512}), ("V x 2", {"vocabulary": 16384}),
         ("batch x 2", {"tokens": 4096})]
DECK = """job = "bench"
[run]
steps = {steps}
compute = "{compute}"
[data]
source = "synthetic"
vocabulary_size = {vocabulary}
[transformer]
layers = {layers}
width = {width}
heads = {heads}
context = {context}
[embedding]
interface = "tied"
[batch]
tokens = {tokens}
"""


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise SystemExit(f"grow.py: no '{pattern}' in the output of lexikos:\n{text}")
    return float(found.group(1).replace(",", ""))


def measure(arguments, compute, change):
    with tempfile.TemporaryDirectory() as folder:
        deck = os.path.join(folder, "deck.toml")
        with open(deck, "w") as file:
            file.write(DECK.format(steps=arguments.steps,
                                   compute=compute, **{**BASE, **change}))
        environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads))
        text = subprocess.run([arguments.lexikos, "-i", deck], env=environment, text=True,
                              capture_output=True, check=True).stdout
    step = 1e3 * {**BASE, **change}["tokens"] / number(r"^step .* ([\d,]+) tokens/s", text)
    return step, step * number(r"^bound .* ([\d.]+) % of the mean step", text) / 100


def table(arguments, compute):
    """Measures and prints every size; (name, step, model) of each, in ms."""
    rows = []
    print(f"| {compute} | step, ms | x base | model, ms | x base | model / step |")
    print("|---|---|---|---|---|---|")
    for name, change in STEPS:
        step, bound = measure(arguments, compute, change)
        rows.append((name, step, bound))
        print(f"| {name} | {step:.0f} | {step / rows[0][1]:.2f} | {bound:.0f} | "
              f"{bound / rows[0][2]:.2f} | {100 * bound / step:.0f} % |", flush=True)
    return rows


def draw(plt, tables, path):
    figure, panels = plt.subplots(1, len(tables), figsize=(1 + 4.2 * len(tables), 3.4),
                                  layout="constrained", squeeze=False)
    for axes, (compute, rows) in zip(panels[0], tables.items()):
        places = range(len(rows))
        axes.bar([p - 0.2 for p in places], [r[1] for r in rows], 0.4, label="step",
                 color="#33658a")
        axes.bar([p + 0.2 for p in places], [r[2] for r in rows], 0.4,
                 label="FLOP and byte model", color="#c9c9c9")
        axes.set_xticks(list(places), [r[0] for r in rows], fontsize=8)
        axes.set_title(compute, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("ms a step")
    panels[0][-1].legend(frameon=False)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lexikos", default=os.environ.get("LEXIKOS_EXE", "lexikos"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=8, help="of each size; the first is not counted")
    parser.add_argument("--compute", nargs="+", default=["fp32"], choices=["fp32", "bf16"])
    parser.add_argument("--figure", help="where a bar chart goes (needs matplotlib)")
    arguments = parser.parse_args()
    if arguments.figure:
        import matplotlib  # now, not after minutes of measuring
        matplotlib.use("Agg")
        from matplotlib import pyplot
    tables = {compute: table(arguments, compute) for compute in arguments.compute}
    if arguments.figure:
        draw(pyplot, tables, arguments.figure)


if __name__ == "__main__":
    main()
