"""Hand-made run folders in the layout that the executable writes, for the tests (and for looking at the figures)."""

from pathlib import Path

import h5py
import numpy as np

DECK = """[comment]
problem = "First run: input interfaces on the King James Bible"

[data]
tokens = "{tokens}"

[batch]
tokens = 4096

[transformer]
layers = 4
width = {width}

[embedding]
interface = "{member}"
"""

UNITS = {"step": "1", "tokens": "tokens", "train_loss": "nats per token", "learning_rate": "1", "gradient_norm": "1",
         "seconds": "s", "tokens_per_second": "tokens/s", "loss": "nats per token", "perplexity": "1", "targets": "tokens"}


def write_member(folder: Path, member: str, *, losses, width=16, vocabulary=50, steps=40, status="finished", seed=0,
                 speed=5000.0, matrix=None, tokens_file="runs/data/none.h5", **attributes) -> None:
    """history.h5 (and embedding.h5 if `matrix` is given) with validations `losses`, evenly spread over `steps`."""
    folder.mkdir(parents=True, exist_ok=True)
    deck = DECK.format(width=width, member=member, tokens=tokens_file)
    values = {"format": "lexikos-history", "format_version": np.int64(1), "code_version": "v0-test", "deck": deck,
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
            "targets": np.full(len(losses), 62_000)})
    if matrix is not None:
        write_embedding(folder / "embedding.h5", matrix)


def write_columns(file: h5py.File, group: str, columns: dict) -> None:
    """Extendable 1-D datasets with their unit and definition."""
    for name, values in columns.items():
        values = np.asarray(values)
        kind = np.int64 if values.dtype.kind in "iu" else np.float64
        data = file.create_dataset(f"{group}/{name}", data=values.astype(kind), maxshape=(None,), chunks=(1024,))
        data.attrs["unit"] = UNITS[name]
        data.attrs["definition"] = f"definition of {name}"


def write_embedding(path: Path, matrix: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "lexikos-embedding"
        file.attrs["format_version"] = np.int64(1)
        file.attrs["deck"] = ""
        file.attrs["code_version"] = "v0-test"
        file["input"] = matrix.astype(np.float32)
        file["output"] = matrix.astype(np.float32)


def write_tokens_counts(path: Path, counts: np.ndarray) -> None:
    """The part of a tokens file that postprocess reads."""
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "lexikos-tokens"
        file.attrs["format_version"] = np.int64(1)
        file["train_counts"] = counts.astype(np.uint64)
