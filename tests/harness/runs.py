"""Runs of the executable for tests: a small tokens file, small decks, and what came out.

Environment (set by lexikos_add_python_test): LEXIKOS_EXE, LEXIKOS_SOURCE_DIR, LEXIKOS_MPIRUN.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

EXECUTABLE = os.environ["LEXIKOS_EXE"]
SOURCE = Path(os.environ["LEXIKOS_SOURCE_DIR"])
MPIRUN = os.environ["LEXIKOS_MPIRUN"].split()

# With scripts/test.sh --all: also the combinations that rarely find something.
ALL = "LEXIKOS_TEST_ALL" in os.environ

# Every input interface, by its deck name.
INTERFACES = ("tied", "untied", "albert", "flat_mlp", "factored_mlp", "lev", "binary_code")

# Columns that hold times and therefore differ from run to run.
TIMES = {"seconds", "tokens_per_second", "data_seconds"}

DECK = """
[data]
tokens = "{tokens}"
[transformer]
layers = 2
width = 32
heads = 2
context = 16
[embedding.lev]
seed_width = 8
heads = 2
knots = 5
rank = 6
[embedding.factored_mlp]
seed_width = 8
[batch]
tokens = 80
[run]
steps = 20
gemm_rate = false
[optimizer]
learning_rate = 3e-3
warmup_steps = 5
[validation]
every = 7
tokens = 160
"""


def write_tokens(path, vocabulary=61, train=1500, validation=400, dtype="<u2", worst=None):
    """A tokens.h5 with a little structure: each id tends to follow from the one before."""
    rng = np.random.default_rng(3)
    ids = np.zeros(train + validation, dtype=dtype)
    for i in range(1, len(ids)):
        ids[i] = (3 * int(ids[i - 1]) + rng.integers(4)) % vocabulary
    if worst is not None:
        ids[train // 2] = worst
    with h5py.File(path, "w") as file:
        file.attrs.update(format="lexikos-tokens", format_version=1, vocabulary_size=vocabulary,
                          tokenizer="made-up", tokenizer_hash="", end_of_text=0,
                          source="a test", code_version="test")
        for name, part in (("train", ids[:train]), ("validation", ids[train:])):
            file.create_dataset(name, data=part)
            file[name].attrs.update(source_bytes=3 * len(part), source_words=len(part) // 2,
                                    documents=1, description=name)
        file["train_counts"] = np.bincount(ids[:train], minlength=vocabulary)[:vocabulary].astype("<u8")


def run(arguments, ranks=0, threads=1, timeout=240):
    """The executable with these arguments; ranks = 0 starts it without mpirun."""
    command = [EXECUTABLE, *map(str, arguments)]
    # Waiting threads sleep: tests share the machine, and spinning ones starve each other.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    if ranks > 0:
        command = [*MPIRUN, "-np", str(ranks), *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                          env=environment, stdin=subprocess.DEVNULL, check=False)


def datasets(path):
    """Every dataset of a file by name, those that hold times left out."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and name.split("/")[-1] not in TIMES:
            found[name] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


U = {4: 2.0 ** -24, 8: 2.0 ** -53}  # rounding units, by bytes of a number


def rounding_of_sums(terms, size, u=U[8]):
    """What two results may differ by that sum `terms` numbers in two orders; `size` is the sum of their absolute values.
    The worst case of both: tests/harness/support.hpp says more."""
    return 2 * (terms + 3) * u * size


def terms_to_logits(layers=2, width=32, head=16, context=16, hidden=128):
    """Terms on the longest way to the logits of DECK's model, as tests/harness/model_fixture.hpp counts them."""
    return layers * (3 * width + head + context + hidden) + width


def rounding_of_logits(largest, **model):
    """What fp32 logits up to `largest` (or the losses made of them) may differ by that were summed in two orders."""
    return rounding_of_sums(terms_to_logits(**model), np.max(np.abs(largest)), U[4])


def likely_rounding_of_logits(largest, **model):
    """The same at six standard deviations: independent roundings of a sum of n terms come to sqrt(n) u of its size. For
    comparisons where the worst case would hide a fault."""
    return 6 * terms_to_logits(**model) ** 0.5 * U[4] * np.max(np.abs(largest))


def rounding_of_losses(losses, steps=20, rate=3e-3, **model):
    """What fp32 losses may differ by over `steps` updates at `rate` (DECK's) where sums have two orders: their own rounding
    and that of gradients of norm 1. An update that is off by e / g, g its gradient's element and e that's error, moves
    the loss by g times the rate times that: e."""
    return likely_rounding_of_logits(np.max(np.abs(losses)) + steps * rate, **model)


def moments_of_cosines(matrix):
    """(mean, standard deviation) of the cosines of all pairs of rows, zero rows left out; and what either may be off by
    in fp64: sums of as many terms as rows and columns, and a variance's error over its root."""
    rows = matrix.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    unit = rows[norms > 0] / norms[norms > 0, None]
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    error = rounding_of_sums(sum(unit.shape), 1.0)
    return cosines.mean(), cosines.std(), error, error / cosines.std()


class RunTest(unittest.TestCase):
    """A test with a folder of its own that holds tokens.h5 and deck.toml."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lexikos_test_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tokens = self.folder / "tokens.h5"
        write_tokens(self.tokens)
        self.deck = self.folder / "deck.toml"
        self.deck.write_text(DECK.format(tokens=self.tokens))

    def lexikos(self, *arguments, ranks=0, threads=1, name="run"):
        """A run that must succeed; returns its folder."""
        out = self.folder / name
        result = run(["-i", self.deck, "-d", out, *arguments], ranks, threads)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return out

    def assert_same_bits(self, a, b):
        """Two files hold the same datasets, bit for bit, times aside."""
        first, second = datasets(a), datasets(b)
        self.assertEqual(sorted(first), sorted(second))
        self.assertTrue(first)
        for name, value in first.items():
            self.assertEqual(value.dtype, second[name].dtype, name)
            self.assertTrue(np.array_equal(value, second[name], equal_nan=value.dtype.kind == "f"),
                            f"{name} differs between {a} and {b}")
