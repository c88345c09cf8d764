"""Hand-made capacity.h5 and packing cells in the layout that the executable writes, for the tests."""

from pathlib import Path

import h5py
import numpy as np

LAW_DECK = """job = "capacity"

[capacity]
files = ["a.npy"]
tokens = "{tokens}"

[capacity.law]
jl_textbook = 8.0   # above 0
jl_random = 3.029
adjusted = {adjusted}
scale = 0.45809143
a = 1.0668005
b = 1.44738666
c = 0.97197234
"""


def write_capacity(path: Path, matrices: list[tuple[str, str, np.ndarray]], tokens="", adjusted=1.2934, **attributes) -> None:
    """`matrices`: (file, side, [V, D]); statistics by brute force over all pairs, capacities not written but as 1, 2,
    3, 4."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        root = {"format": "lexikos-capacity", "format_version": np.int64(2), "code_version": "v0-test",
                "deck": LAW_DECK.format(tokens=tokens, adjusted=adjusted)}
        for name, value in {**root, **attributes}.items():
            file.attrs[name] = value
        file.create_group("matrices")
        for number, (name, side, matrix) in enumerate(matrices):
            _write_matrix(file.create_group(f"matrices/{number}"), name, side, matrix)


def _write_matrix(group: h5py.Group, name: str, side: str, matrix: np.ndarray) -> None:
    zero = np.flatnonzero(~matrix.any(axis=1))
    group.attrs.update({"file": name, "side": side, "tensor": f"{name}:array", "element": "F32", "rows_padding": np.int64(2),
                        "vocabulary_size": np.int64(len(matrix)), "width": np.int64(matrix.shape[1])})
    group["rows_zero"], group["rows_untrained"] = zero, np.array([1, 2], np.int64)
    group["rows_outlier"] = np.array([0], np.int64)
    rows = np.delete(matrix, zero, axis=0).astype(float)
    _write_set(group.create_group("raw"), rows)
    _write_set(group.create_group("centred"), rows - rows.mean(axis=0))
    empty = group.create_group("raw_regular")  # as the executable leaves a set without pairs
    empty.attrs.update({"description": "none", "rows": np.int64(1), "rows_equal_to_mean": np.int64(0), "pairs": 0.0})


def _write_set(group: h5py.Group, rows: np.ndarray) -> None:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (units @ units.T)[np.triu_indices(len(rows), 1)]
    mean, deviation = cosines.mean(), cosines.std()
    epsilon = mean + 2.0 * deviation
    eigenvalues = np.linalg.eigvalsh(units.T @ units).clip(1e-300)
    share = np.sqrt(eigenvalues) / np.sqrt(eigenvalues).sum()
    group.attrs.update({
        "description": "", "rows": np.int64(len(rows)), "pairs": float(cosines.size), "mu": mean, "sigma": deviation,
        "epsilon": epsilon, "class": np.int64(np.select([epsilon > 0.2, epsilon < 0.1], [1, 2])),
        "skewness": 0.0, "smallest": cosines.min(), "largest": cosines.max(), "epsilon_sqrt_d_half": epsilon * rows.shape[1] ** 0.5 / 2.0,
        "log10_k_jl_textbook": 1.0, "log10_k_jl_random": 2.0, "log10_k_adjusted": 3.0, "log10_k_fitted": 400.0,
        "effective_rank": np.exp(-(share * np.log(share)).sum()),
        "participation_ratio": 1.0 / (share ** 2).sum()})
    group["histogram"] = np.histogram(cosines, bins=2000, range=(-1.0, 1.0))[0].astype(np.int64)
    group["eigenvalues"] = eigenvalues[::-1]


def write_cell(folder: Path, kind: str, d: int, k: int, epsilon: float, repeats=None, **attributes) -> Path:
    """One cell of a packing experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"cell_{kind}_d{d:05d}_k{k:07d}.h5"
    optimised = kind == "optimised"
    values = {"format": "lexikos-packing", "format_version": np.int64(1), "kind": kind, "dimension": np.int64(d),
              "count": np.int64(k), "repeats": np.int64(repeats or (5000 if optimised else 1000)), "seed": np.int64(1),
              "power": np.int64(11 if optimised else 0), "learning_rate": 0.005 if optimised else 0.0, "epsilon": epsilon,
              "seconds": 12.5}
    with h5py.File(path, "w") as file:
        for name, value in {**values, **attributes}.items():
            file.attrs[name] = value
        at = np.array([1, 2], np.int64)
        file["history/step" if optimised else "history/trial"], file["history/epsilon"] = at, np.array([0.9, epsilon])
    return path
