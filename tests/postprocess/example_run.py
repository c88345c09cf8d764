"""Hand-made run folders in the layout that the executable writes, for the tests (and for looking at the figures)."""

from pathlib import Path

import h5py
import numpy as np

DECK = """job = "train"  # one of train, bench
seed = {seed}       # of initial values and data order

[comment]
problem = "First run: input interfaces on the King James Bible"

[data]
tokens = "{tokens}"

[batch]
tokens = 4096

[transformer]
layers = 4
width = {width}

[embedding]
interface = "{interface}"

[output]
directory = "runs/{member}"
"""

EDGES = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, float("inf"))  # of the bins of relative training frequency
IDS = (3, 7, 15, 20, 5)
TARGETS = (20, 300, 4_000, 20_000, 37_680)
OFFSETS = (6.0, 5.0, 3.0, 1.0, 0.0)  # nats above the last bin

UNITS = {"step": "1", "tokens": "tokens", "train_loss": "nats per token", "learning_rate": "1", "gradient_norm": "1",
         "seconds": "s", "tokens_per_second": "tokens/s", "loss": "nats per token", "perplexity": "1", "targets": "tokens",
         "lower": "1", "upper": "1", "ids": "1", "matrix": "1", "mu": "1", "sigma": "1", "epsilon": "1",
         "epsilon_centred": "1"}


def write_member(folder: Path, member: str, *, losses, width=16, vocabulary=50, steps=40, status="finished", seed=0,
                 speed=5000.0, tokens_file="runs/data/none.h5", interface=None, version=2, bins=None,
                 evaluated=None, geometry=None, **attributes) -> None:
    """history.h5 with validations `losses`, evenly spread over `steps`.

    `bins` [validations, B]: loss per frequency bin, by default such that they give `losses`; version 1 has none.
    `geometry`: rows (step, matrix 0 or 1, epsilon, epsilon_centred) of /geometry.
    `evaluated`: loss that an evaluation.h5 of the last step holds. `attributes` go to the root of both.
    """
    folder.mkdir(parents=True, exist_ok=True)
    deck = DECK.format(width=width, member=member, tokens=tokens_file, seed=seed, interface=interface or member)
    values = {"format": "lexikos-history", "format_version": np.int64(version), "code_version": "v0-test", "deck": deck,
              "member": member, "status": status, "parameters_trainable": np.int64(1_000_000),
              "parameters_fixed": np.int64(0), "parameters_shared": np.int64(vocabulary * width),
              "parameters_input_trainable": np.int64(0), "flops_per_token": np.int64(20_000_000), "ranks": np.int64(1),
              "threads": np.int64(2), "device": "OpenMP, 2 threads", "blas": "oneDNN 2.6.3", "precision": "fp32",
              "gemm_gflops": 200.0, "vocabulary_size": np.int64(vocabulary), "validation_unigram_nats": 6.0,
              "validation_bytes_per_token": 4.0, "validation_words_per_token": 0.8}
    values.update(attributes)
    step = np.arange(1, steps + 1)
    tokens = step * 4096
    noise = np.random.default_rng(seed).normal(size=steps)
    at = np.linspace(steps / len(losses), steps, len(losses)).astype(int) if len(losses) else np.empty(0, int)
    train = (np.interp(step, np.concatenate([[0], at]), np.concatenate([[np.log(vocabulary)], losses]))
             if len(losses) else np.full(steps, np.log(vocabulary)))
    with h5py.File(folder / "history.h5", "w") as file:
        for name, value in values.items():
            file.attrs[name] = value
        write_columns(file, "history", {
            "step": step, "tokens": tokens, "train_loss": train + 0.08 * noise, "learning_rate": 1e-3 * np.ones(steps),
            "gradient_norm": 1.0 + 0.1 * noise, "seconds": tokens / speed,
            "tokens_per_second": np.where(step == 1, 10.0, speed + 20.0 * noise)})
        write_columns(file, "validation", {
            "step": at, "tokens": at * 4096, "loss": np.asarray(losses, float), "perplexity": np.exp(losses),
            "targets": np.full(len(losses), sum(TARGETS))})
        if version > 1:
            write_frequency(file, at, bin_losses(losses) if bins is None else bins)
        if geometry is not None:
            step_of, side, epsilon, centred = (np.asarray(column) for column in zip(*geometry))
            write_columns(file, "geometry", {"step": step_of, "tokens": step_of * 4096, "matrix": side,
                                             "mu": 0.0 * epsilon, "sigma": epsilon / 2.0, "epsilon": epsilon,
                                             "epsilon_centred": centred})
    if evaluated is not None:
        write_evaluation(folder / "evaluation.h5", values, steps, evaluated)


def write_columns(file: h5py.File, group: str, columns: dict) -> None:
    """Extendable 1-D datasets with their unit and definition."""
    for name, values in columns.items():
        values = np.asarray(values)
        kind = np.int64 if values.dtype.kind in "iu" else np.float64
        data = file.create_dataset(f"{group}/{name}", data=values.astype(kind), maxshape=(None,), chunks=(1024,))
        data.attrs["unit"] = UNITS[name]
        data.attrs["definition"] = f"definition of {name}"


def bin_losses(losses, offsets=OFFSETS) -> np.ndarray:
    """[K, B]: losses that differ from bin to bin by `offsets` and have the means `losses` [K] over all targets."""
    offsets = np.asarray(offsets, float)
    return np.add.outer(np.asarray(losses, float), offsets - np.dot(offsets, TARGETS) / sum(TARGETS))


def write_frequency(file: h5py.File, steps: np.ndarray, bins: np.ndarray) -> None:
    """One row per (validation, bin) from losses `bins` [K, B]; a loss of NaN is a bin without targets."""
    number = len(EDGES) - 1
    loss = np.asarray(bins, float).reshape(-1)
    write_columns(file, "frequency", {
        "step": np.repeat(steps, number), "tokens": np.repeat(steps * 4096, number),
        "lower": np.tile(EDGES[:-1], len(steps)), "upper": np.tile(EDGES[1:], len(steps)),
        "ids": np.tile(IDS, len(steps)), "targets": np.where(np.isnan(loss), 0, np.tile(TARGETS, len(steps))),
        "loss": loss, "perplexity": np.exp(loss)})


def write_evaluation(path: Path, attributes: dict, step: int, loss: float) -> None:
    """What the job "evaluate" writes: one validation of a checkpoint."""
    with h5py.File(path, "w") as file:
        for name, value in {**attributes, "format": "lexikos-evaluation", "format_version": np.int64(1),
                            "checkpoint": f"checkpoint_{step:08d}.h5", "step": np.int64(step),
                            "tokens": np.int64(4096 * step), "definition": "all targets of the validation part"}.items():
            file.attrs[name] = value
        write_columns(file, "validation", {"step": [step], "tokens": [4096 * step], "loss": [loss],
                                           "perplexity": [np.exp(loss)], "targets": [sum(TARGETS)]})
        write_frequency(file, np.array([step]), bin_losses([loss]))
