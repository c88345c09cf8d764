"""Job capacity on every weight format, written here byte by byte, and everything that must be refused."""

import json
import struct
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import SOURCE, RunTest, moments_of_cosines, rounding_of_sums, run  # noqa: E402

sys.path.insert(0, str(SOURCE))
from postprocess import deck  # noqa: E402
from postprocess.analysis import law  # noqa: E402

FILE = 3
V, D = 70, 32
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": None, "F8_E4M3": None, "F8_E5M2": None}


def matrix(seed=0, rows=V, width=D):
    return np.random.default_rng(seed).standard_normal((rows, width)) + 0.2


def bf16(values):
    """Bytes of bf16 numbers (cut, not rounded) and the numbers they stand for."""
    bits = values.astype("<f4").view("<u4") >> 16
    return bits.astype("<u2").tobytes(), (bits << 16).astype("<u4").view("<f4").astype("f8")


def f8(values, e5m2):
    """Bytes of 8-bit numbers: the nearest of all 256, by brute force."""
    codes = np.arange(256)
    sign = np.where(codes & 128, -1.0, 1.0)
    if e5m2:
        table = codes.astype("<u2").__lshift__(8).view("<f2").astype("f8")
    else:
        exponent, mantissa = codes >> 3 & 15, codes & 7
        table = sign * np.where(exponent > 0, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
        table[codes & 127 == 127] = np.nan
    table = np.where(np.isfinite(table), table, 1e9)
    nearest = np.abs(values[..., None] - table).argmin(-1)
    return nearest.astype("u1").tobytes(), table[nearest]


def stored(values, dtype):
    """Bytes of a safetensors tensor, and its numbers in double."""
    if dtype == "BF16":
        return bf16(values)
    if dtype.startswith("F8"):
        return f8(values, dtype == "F8_E5M2")
    array = values.astype(TYPES[dtype])
    return array.tobytes(), array.astype("f8")


def safetensors(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one_tensor(values, dtype="F32", name="model.embed_tokens.weight"):
    data, numbers = stored(values, dtype)
    entry = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [0, len(data)]}
    return safetensors({"__metadata__": {"format": "pt"}, name: entry}, data), numbers


def gguf(tensors, version=3, alignment=32):
    """tensors: name -> (ggml type, shape with rows first, bytes)."""
    text = lambda s: struct.pack("<Q", len(s)) + s.encode()
    pairs = [text("general.architecture") + struct.pack("<I", 8) + text("llama"),
             text("general.alignment") + struct.pack("<II", 4, alignment),
             text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
             text("scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<2f", 0, 1)]
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs)
    table, data = b"", b""
    for name, (kind, shape, values) in tensors.items():
        data += b"\0" * (-len(data) % alignment)
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], kind, len(data))
        data += values
    head += table
    return head + b"\0" * (-len(head) % alignment) + data


def q8_0(values):
    blocks = values.reshape(-1, 32)
    scale = (np.abs(blocks).max(1) / 127).astype("<f2")
    whole = np.rint(blocks / scale.astype("f8")[:, None]).clip(-127, 127).astype("i1")
    data = b"".join(s.tobytes() + w.tobytes() for s, w in zip(scale, whole))
    return data, (scale.astype("f8")[:, None] * whole).reshape(values.shape)


class CapacityTest(RunTest):
    def setUp(self):
        super().setUp()
        self.deck.write_text('job = "capacity"\n[capacity]\ngemm_rate = false\n')

    def analyse(self, file, *arguments, ranks=0, name="out"):
        """A run that must succeed: its console text and the folder of its file."""
        out = self.folder / name
        result = run(["-i", self.deck, "-d", out, f'capacity.files=["{file}"]', *arguments], ranks)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        for line in result.stdout.splitlines():
            if str(self.folder) not in line:
                self.assertLessEqual(len(line), 80, line)
        return result.stdout, out / "capacity.h5"

    def check(self, file, values, *arguments, index="0"):
        _, path = self.analyse(file, *arguments)
        with h5py.File(path) as result:
            group = result["matrices"][index]
            self.assertEqual([group.attrs["vocabulary_size"], group.attrs["width"]], list(values.shape))
            for name, rows in (("raw", values), ("centred", values - values.mean(0))):
                mu, sigma, mu_error, sigma_error = moments_of_cosines(rows)
                self.assertLess(abs(group[name].attrs["mu"] - mu), mu_error)
                self.assertLess(abs(group[name].attrs["sigma"] - sigma), sigma_error)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


class Formats(CapacityTest):
    def test_safetensors_of_every_type(self):
        for dtype in TYPES:
            with self.subTest(dtype=dtype):
                data, numbers = one_tensor(matrix(), dtype)
                self.check(self.write("model.safetensors", data), numbers)

    def test_safetensors_at_any_alignment(self):
        values = matrix().astype("<f4")
        header = {"odd": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
                  "wte.weight": {"dtype": "F32", "shape": [V, D], "data_offsets": [3, 3 + values.nbytes]}}
        path = self.write("x.bin", safetensors(header, b"abc" + values.tobytes()))
        self.check(path, values.astype("f8"))

    def test_shards_by_folder_and_by_index(self):
        both = {"model.embed_tokens.weight": matrix(1), "lm_head.weight": matrix(2)}
        for k, (name, values) in enumerate(both.items()):
            self.write(f"shard{k}.safetensors", one_tensor(values, "F32", name)[0])
        index = {"metadata": {"total_size": 1},
                 "weight_map": {name: f"shard{k}.safetensors" for k, name in enumerate(both)}}
        self.write("model.safetensors.index.json", json.dumps(index).encode())
        for place in (self.folder, self.folder / "model.safetensors.index.json"):
            self.check(place, both["model.embed_tokens.weight"].astype("f4").astype("f8"))
            self.check(place, both["lm_head.weight"].astype("f4").astype("f8"), index="1")

    def test_gguf(self):
        values = matrix()
        brain, brain_numbers = bf16(values)
        quantised, quantised_numbers = q8_0(values)
        kinds = {0: (values.astype("<f4").tobytes(), values.astype("f4").astype("f8")),
                 1: (values.astype("<f2").tobytes(), values.astype("f2").astype("f8")),
                 30: (brain, brain_numbers), 8: (quantised, quantised_numbers)}
        for kind, (data, numbers) in kinds.items():
            with self.subTest(kind=kind):
                content = gguf({"blk.0.norm": (0, [5], b"\0" * 20), "token_embd.weight": (kind, [V, D], data)})
                self.check(self.write("model.gguf", content), numbers)

    def test_gguf_output(self):
        values = [matrix(k).astype("<f4") for k in (1, 2)]
        content = gguf({"token_embd.weight": (0, [V, D], values[0].tobytes()),
                        "output.weight": (0, [V, D], values[1].tobytes())}, alignment=64)
        path = self.write("model.gguf", content)
        self.check(path, values[1].astype("f8"), index="1")
        with h5py.File(self.folder / "out" / "capacity.h5") as result:
            cosines = result["matrices/1/token_cosines"]
            a, b = (v.astype("f8") for v in values)
            expected = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
            error = rounding_of_sums(V + D, 1.0)
            self.assertAlmostEqual(cosines.attrs["mean"], expected.mean(), delta=error)
            self.assertAlmostEqual(cosines.attrs["deviation"], expected.std(), delta=error / expected.std())
            self.assertEqual(cosines[()].sum(), V)

    def test_npy(self):
        for dtype in ("<f8", "<f4", "<f2"):
            np.save(self.folder / "x.npy", matrix().astype(dtype))
            self.check(self.folder / "x.npy", matrix().astype(dtype).astype("f8"))

    def test_hdf5_datasets_of_every_layout(self):
        path = self.folder / "x.h5"
        for dtype, options in (("<f4", {}), ("<f8", {}), (">f4", {}), ("<f2", {}),
                               ("<f4", {"compression": "gzip"}), ("<f8", {"chunks": (7, 5)})):
            with self.subTest(dtype=dtype, options=options):
                values = matrix().astype(dtype)
                with h5py.File(path, "w") as file:
                    file.create_dataset("group/weights", data=values, **options)
                self.check(f"{path}:/group/weights", values.astype("f8"))

    def test_an_output_matrix_that_is_not_read(self):
        """Nobody asked for it: the input is analysed, and a line says why the output is not."""
        values = matrix().astype("<f4")
        path = self.write("model.gguf", gguf({"token_embd.weight": (0, [V, D], values.tobytes()),
                                              "output.weight": (14, [V, D], bytes(64))}))
        self.check(path, values.astype("f8"))
        text, _ = self.analyse(path)
        self.assertIn("GGUF type 14, Q6_K", text)
        for said in ("capacity.matrix=both", "capacity.matrix=output", "capacity.output_tensor=output.weight"):
            result = run(["-i", self.deck, "-d", self.folder / "out", f'capacity.files=["{path}"]', said])
            self.assertEqual(result.returncode, FILE)
            self.assertIn("Q6_K", result.stderr)

    def test_tensor_named_in_the_deck(self):
        data, numbers = one_tensor(matrix(), "F32", "my.own.table")
        self.check(self.write("x.safetensors", data), numbers, "capacity.input_tensor=my.own.table")


class OwnFiles(CapacityTest):
    """What a training run of this program leaves behind."""

    def train(self, interface):
        deck = self.folder / "train.toml"
        deck.write_text(f'[data]\ntokens = "{self.tokens}"\n[transformer]\nlayers = 1\nwidth = 32\nheads = 2\n'
                        'context = 16\n[batch]\ntokens = 80\n[run]\nsteps = 3\ngemm_rate = false\n')
        out = self.folder / interface
        result = run(["-i", deck, "-d", out, f"embedding.interface={interface}"])
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def test_embedding_file_and_checkpoint(self):
        out = self.train("untied")
        with h5py.File(out / "embedding.h5") as file:
            tables = [file[name][()].astype("f8") for name in ("input", "output")]
        for place in (out / "embedding.h5", out, out / "checkpoint_00000003.h5"):
            for k in (0, 1):
                self.check(place, tables[k], index=str(k))

    def test_tied_is_analysed_once(self):
        out = self.train("tied")
        for place in (out / "embedding.h5", out / "checkpoint_00000003.h5"):
            text, path = self.analyse(place)
            self.assertIn("tied", text)
            with h5py.File(path) as result:
                self.assertEqual(list(result["matrices"]), ["0"])

    def test_computed_input_of_a_checkpoint(self):
        out = self.train("binary_code")
        result = run(["-i", self.deck, "-d", self.folder / "x",
                      f'capacity.files=["{out / "checkpoint_00000003.h5"}"]'])
        self.assertEqual(result.returncode, FILE)
        self.assertIn("binary_code", result.stderr)
        self.assertIn("embedding.h5", result.stderr)
        self.analyse(out / "embedding.h5")

    def test_tokens_tell_what_was_trained(self):
        with h5py.File(self.tokens, "r+") as file:
            counts = file["train_counts"][()]
            moved, into = counts[7], counts.argmax()
            counts[into] += moved
            counts[7] = 0
            file["train_counts"][...] = counts
            file["pieces"] = np.array([f"<{i}>" for i in range(61)], dtype=h5py.string_dtype())
        values = matrix(3, 66)
        np.save(self.folder / "x.npy", values)
        text, path = self.analyse(self.folder / "x.npy", f"capacity.tokens={self.tokens}",
                                  "capacity.vocabulary_size=61")
        self.assertIn("<", text)
        with h5py.File(path) as result:
            group = result["matrices/0"]
            self.assertEqual(list(group["rows_untrained"]), [7])
            self.assertEqual(group.attrs["rows_padding"], 5)
            kept = np.delete(values[:61], [7, *group["rows_outlier"]], axis=0)
            mu, _, mu_error, _ = moments_of_cosines(kept)
            self.assertAlmostEqual(group["raw_regular"].attrs["mu"], mu, delta=mu_error)
            self.assertEqual(group["raw"].attrs["rows"], 61)


class Results(CapacityTest):
    def test_file_on_every_rank_count(self):
        values = matrix(5, 1300, 40)
        values[3] = 0
        values[9] *= 1e5
        np.save(self.folder / "x.npy", values.astype("<f4"))
        files = [self.analyse(self.folder / "x.npy", ranks=ranks, name=f"r{ranks}")[1] for ranks in (0, 2, 3)]
        for path in files:
            with h5py.File(path) as a, h5py.File(files[0]) as b:
                self.assertEqual(a.attrs["format"], "lexikos-capacity")
                self.assertEqual(a.attrs["format_version"], 2)
                self.assertIn("files", a.attrs["deck"])
                for name in ("raw", "centred", "raw_regular", "centred_regular"):
                    one, two = (f["matrices/0"][name] for f in (a, b))
                    n = one.attrs["rows"]
                    self.assertEqual(one["histogram"][()].sum(), n * (n - 1) // 2)
                    self.assertTrue((one["histogram"][()] == two["histogram"][()]).all(), name)
                    self.assertTrue((one["most_positive_ids"][()] == two["most_positive_ids"][()]).all())
                    # Cosines are of sums of 40, over n rows; moments are over sigma up to its cube, and the others
                    # vary no faster.
                    error = rounding_of_sums(n + 40, 1.0)
                    for key in ("mu", "sigma", "skewness", "effective_rank", "log10_k_fitted"):
                        if key in two.attrs:
                            self.assertAlmostEqual(one.attrs[key], two.attrs[key], delta=error / two.attrs["sigma"] ** 3)
                eigenvalues = a["matrices/0/raw/eigenvalues"][()]
                rows = np.delete(values.astype("f4").astype("f8"), 3, axis=0)
                unit = rows / np.linalg.norm(rows, axis=1)[:, None]
                exact = np.linalg.eigvalsh(unit.T @ unit)[::-1]
                error = rounding_of_sums(sum(unit.shape), exact.max())
                self.assertLess(np.abs(eigenvalues - exact).max(), error)
                share = np.sqrt(exact) / np.sqrt(exact).sum()
                # The rank of 40 values, each to a relative error of at most that of the smallest.
                rank = np.exp(-(share * np.log(share)).sum())
                self.assertAlmostEqual(a["matrices/0/raw"].attrs["effective_rank"], rank,
                                       delta=rank * error / exact.min())
                self.assertEqual(list(a["matrices/0/rows_zero"]), [3])
                self.assertEqual(list(a["matrices/0/rows_outlier"]), [9])
                self.assertEqual(a["matrices/0/norm_counts"][()].sum(), 1299)

    def test_laws_are_the_inverses_of_those_that_packings_are_fitted_to(self):
        np.save(self.folder / "x.npy", matrix())
        with h5py.File(self.analyse(self.folder / "x.npy")[1]) as file:
            constants = law.from_deck(deck.parsed(file.attrs["deck"]))
            width = float(file["matrices/0"].attrs["width"])
            for found in (file["matrices/0"][name].attrs for name in ("raw", "centred")):
                for epsilon, key in ((law.jl_epsilon, "jl_textbook"), (law.jl_epsilon, "jl_random"),
                                     (law.adjusted_epsilon, "adjusted")):
                    k = 10.0 ** found[f"log10_k_{key}"]
                    self.assertAlmostEqual(float(epsilon(width, k, getattr(constants, key))), found["epsilon"], 10)
                k = 10.0 ** found["log10_k_fitted"]
                fitted = law.fitted_epsilon(width, k, constants.scale, constants.a, constants.b, constants.c)
                self.assertAlmostEqual(float(fitted), found["epsilon"], 10)

    def test_dry_run_reads_nothing_and_names_what_is_missing(self):
        np.save(self.folder / "x.npy", matrix())
        result = run(["-n", "-i", self.deck, f'capacity.files=["{self.folder}/x.npy", "none.gguf"]'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("V 70, D 32", result.stdout)
        self.assertIn("not ready", result.stdout)

    def test_deck_errors(self):
        for override, word in (("capacity.bins=0", "bins"), ("capacity.matrx=input", "capacity.matrix"),
                               ("run.stepps=3", "run"), ("capacity.files=[]", "names no file")):
            with self.subTest(override=override):
                result = run(["-i", self.deck, 'capacity.files=["x"]', override])
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(word, result.stderr)


def degenerate():
    """Matrices whose norms, spectra or moments are at the edge of what numbers are."""
    rng = np.random.default_rng(11)
    some, row = rng.standard_normal((40, 12)), rng.standard_normal(12)
    base = rng.standard_normal((2, 64))
    signs = np.where(rng.random((30, 1)) < 0.5, -1.0, 1.0)
    tiny = np.zeros((6, 3))
    tiny[:, 0] = [1e300, -1e300, 0, 0, 0, 0]
    tiny[:, 1] = [0, 0, 1e-20, -1e-20, 5e-320, -5e-320]
    zeros = some.copy()
    zeros[[0, 7, 39]] = 0
    return {
        "ones": np.ones((240, 64), "f4"), "constant_f8": np.full((300, 37), 0.1),
        "one_direction": rng.random((50, 1)) * row + 0.0, "two_directions": signs * row,
        "nearly_ones": 1 + 1e-15 * rng.standard_normal((200, 40)), "nearly_one": 1 + 1e-8 * rng.standard_normal((99, 40)),
        "rank_two": rng.standard_normal((400, 2)) @ base, "rank_two_f4": (rng.standard_normal((400, 2)) @ base).astype("f4"),
        "two_rows": some[:2], "two_equal": np.stack([row, row]), "two_opposite": np.stack([row, -3 * row]),
        "two_numbers": np.array([[2.0], [-5.0]]), "numbers": some[:, :1], "equal_numbers": np.full((9, 1), 3.0),
        "wide": rng.standard_normal((3, 50)), "identity": np.eye(33), "zero_rows": zeros,
        "denormal_f4": (some * 1e-42).astype("f4"), "denormal": some * 3e-322, "least": np.full((5, 4), 5e-324),
        "huge_f4": (some / np.abs(some).max() * 3.4e38).astype("f4"), "huge": some / np.abs(some).max() * 1.7e308,
        "every_size": some * 10.0 ** np.linspace(-305, 305, 40)[:, None], "one_huge": np.vstack([some * 1e-300, some[:1] * 1e300]),
        "shifted": some + 1e6, "tiny_beside_huge": tiny, "one_hot_huge": np.vstack([np.eye(5) * 1e308, np.eye(5) * 1e-308])}


def exact(values):
    """mu, sigma, effective rank and participation of rows that are not zero, in 80-bit numbers; None without a pair."""
    rows = values.astype(np.longdouble)
    rows = rows[np.abs(rows).max(1) > 0]
    if len(rows) < 2:
        return None
    unit = rows / np.sqrt((rows ** 2).sum(1))[:, None]
    cosines = (unit @ unit.T)[np.triu_indices(len(rows), 1)]
    singular = np.linalg.svd(unit.astype("f8"), compute_uv=False)
    kept = singular[singular > 1e-6 * singular[0]]
    share = kept / kept.sum()
    square = singular ** 2
    return [float(x) for x in (cosines.mean(), cosines.std(), np.exp(-(share * np.log(share)).sum()),
                               square.sum() ** 2 / (square ** 2).sum())]


def without_mean(values):
    rows = values.astype(np.longdouble)
    rows = rows[np.abs(rows).max(1) > 0]
    mean = rows.mean(0)
    rows = rows - mean
    length = np.sqrt((rows ** 2).sum(1))
    floor = np.longdouble(2) ** (np.floor(np.log2(np.abs(values.astype(np.longdouble)).max())) - 900)
    return rows[length > max(1e-6 * np.sqrt((mean ** 2).sum()), floor)]


class Degenerate(CapacityTest):
    """Against NumPy in 80 bits: the right limit, or "-"; nothing stored or printed that is not finite."""

    def assert_finite(self, path):
        def look(name, item):
            for key, value in item.attrs.items():
                if isinstance(value, (float, np.floating)):
                    self.assertTrue(np.isfinite(value), f"{name}.{key} = {value}")
            if isinstance(item, h5py.Dataset) and item.dtype.kind == "f":
                self.assertTrue(np.isfinite(item[()]).all(), name)

        with h5py.File(path) as file:
            file.visititems(look)

    def test_limits(self):
        matrices = degenerate()
        for name, values in matrices.items():
            np.save(self.folder / f"{name}.npy", values)
        files = ", ".join(f'"{self.folder}/{name}.npy"' for name in matrices)
        for work in ("", "capacity.gram_width=0"):
            out = self.folder / ("out" + work)
            result = run(["-i", self.deck, "-d", out, f"capacity.files=[{files}]", *([work] if work else [])])
            self.assertEqual(result.returncode, 0, result.stderr)
            for word in ("nan", "inf "):
                self.assertNotIn(word, result.stdout.replace("-nan", "nan"))
            self.assert_finite(out / "capacity.h5")
            with h5py.File(out / "capacity.h5") as file:
                for k, (name, values) in enumerate(matrices.items()):
                    for part, rows in (("raw", values), ("centred", without_mean(values))):
                        with self.subTest(name, part=part, work=work):
                            self.compare(file[f"matrices/{k}/{part}"].attrs, exact(rows), values.shape, part == "centred")

    def compare(self, found, wanted, shape, centred):
        if wanted is None:
            self.assertNotIn("mu", found)
            self.assertEqual(found["pairs"], 0)
            return
        # Sums over rows and columns. Centred rows keep the digits that the mean leaves them, whose size theirs is a
        # millionth of or more. A root is off by its square's error over itself, or by the root of that.
        error = rounding_of_sums(sum(shape), 1e6 if centred else 1.0)
        root = error ** 0.5
        sigma_error = min(root, error / max(wanted[1], root))
        self.assertAlmostEqual(found["mu"], wanted[0], delta=error)
        self.assertAlmostEqual(found["sigma"], wanted[1], delta=sigma_error)
        self.assertAlmostEqual(found["epsilon"], wanted[0] + 2 * wanted[1], delta=error + 2 * sigma_error)
        if "effective_rank" in found:
            # Each of min(N, D) shares, which are roots, may be one of zero: root log(1 / root) of entropy.
            entropy_error = min(shape) * root * np.log(1 / root)
            self.assertAlmostEqual(found["effective_rank"], wanted[2], delta=entropy_error * wanted[2])
            self.assertAlmostEqual(found["participation_ratio"], wanted[3], delta=4 * error * wanted[3])
        if wanted[1] < 1e-15:
            self.assertNotIn("skewness", found)

    def test_one_row_of_many(self):
        """A token cosine where every row of one side is zero."""
        values = np.stack([matrix(), np.zeros((V, D))]).astype("<f4")
        tensors = {name: {"dtype": "F32", "shape": [V, D], "data_offsets": [k * V * D * 4, (k + 1) * V * D * 4]}
                   for k, name in enumerate(("wte.weight", "lm_head.weight"))}
        path = self.write("x.safetensors", safetensors(tensors, values.tobytes()))
        result = run(["-i", self.deck, "-d", self.folder / "out", f'capacity.files=["{path}"]'])
        self.assertEqual(result.returncode, FILE)
        self.assertIn("lm_head.weight': 0 of its 70 rows", result.stderr)


class Refused(CapacityTest):
    def refused(self, name, data, *words, arguments=(), ranks=(0,), named=True):
        path = self.write(name, data) if data is not None else name
        for rank_count in ranks:
            out = self.folder / "refused"
            result = run(["-i", self.deck, "-d", out, f'capacity.files=["{path}"]', *arguments], rank_count)
            with self.subTest(name=name, words=words):
                self.assertEqual(result.returncode, FILE, result.stderr + result.stdout)
                lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
                self.assertEqual(len(lines), 1, result.stderr)
                if rank_count == 0:
                    self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                for word in (*([name] if named else []), *words):
                    self.assertIn(word, lines[0])
                self.assertFalse((out / "capacity.h5").exists())

    def test_headers_of_safetensors(self):
        name = "bad.safetensors"
        data = b"\0" * (4 * 6)
        entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
        good = safetensors({"wte.weight": entry}, data)

        def changed(**kwargs):
            return safetensors({"wte.weight": {**entry, **kwargs}}, data)

        self.refused(name, b"\x02\0\0", "too short")
        self.refused(name, struct.pack("<Q", 100_000_001) + b"{}" + data, "100000001")
        self.refused(name, struct.pack("<Q", 500) + good[8:], "past the end")
        self.refused(name, safetensors(b'{"a": nope}', b""), "bad JSON", "byte 6")
        self.refused(name, safetensors(b'{"a": 1', b""), "bad JSON")
        self.refused(name, safetensors(b'{"a": 1} x', b""), "bad JSON")
        self.refused(name, safetensors(b'{"a\xff": 1}', b""), "UTF-8")
        self.refused(name, safetensors(b'{"\xc0\xaf": 1}', b""), "UTF-8")
        self.refused(name, safetensors(b'{"a": 1, "a": 2}', b""), "twice")
        self.refused(name, safetensors(b'{"a": 01}', b""), "bad JSON")
        self.refused(name, safetensors(b'{"a":' + b"[" * 100, b""), "nested")
        self.refused(name, changed(dtype="F31"), "F31")
        self.refused(name, changed(shape=[2, 4]), "shape")
        self.refused(name, changed(shape=[2, -3]), "no sensible number")
        self.refused(name, changed(shape=[2, 1.5]), "no sensible number")
        self.refused(name, changed(shape=[2**61, 2**61]), "overflow")
        self.refused(name, changed(data_offsets=[24, 0]), "occupies")
        self.refused(name, changed(data_offsets=[0]), "data_offsets")
        self.refused(name, safetensors({"wte.weight": {"dtype": "F32"}}, data), "shape")
        self.refused(name, changed(shape=[2, 6], data_offsets=[0, 48]), "truncated")
        self.refused(name, good + b"\0", "trail")
        self.refused(name, good[:-1], "truncated")
        hole = {"wte.weight": {**entry, "data_offsets": [4, 28]}}
        self.refused(name, safetensors(hole, data + b"\0" * 4), "hole")
        overlap = {"wte.weight": entry, "b": {**entry, "data_offsets": [12, 36]}}
        self.refused(name, safetensors(overlap, data + b"\0" * 12), "overlap")

    def test_not_what_its_name_says(self):
        self.refused("page.safetensors", b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "web page")
        self.refused("page.gguf", b"\n <html lang=en>", "web page")
        self.refused("pointer.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
                     "Git LFS")
        self.refused("model.bin", b"PK\x03\x04archive of pickles", "safetensors")
        self.refused("noise.safetensors", bytes(range(200, 256)), "format is not known")
        self.refused("empty.npy", b"", "empty")
        self.refused("none.safetensors", None, "No such file")
        (self.folder / "folder").mkdir()
        self.refused(str(self.folder / "folder"), None, "model.safetensors")

    def test_missing_tensors_list_near_names(self):
        data, _ = one_tensor(matrix(), "F32", "model.embed_tokens.weigth")
        self.refused("x.safetensors", data, "model.embed_tokens.weigth", "capacity.input_tensor")
        self.refused("x.safetensors", data, "'model.embed_tokens.weight'", "model.embed_tokens.weigth",
                     arguments=["capacity.input_tensor=model.embed_tokens.weight"])
        data, _ = one_tensor(matrix())
        self.refused("y.safetensors", data, "output matrix", arguments=["capacity.matrix=output"])
        values = matrix().astype("<f4")
        twice = {name: {"dtype": "F32", "shape": [V, D], "data_offsets": [k * values.nbytes, (k + 1) * values.nbytes]}
                 for k, name in enumerate(("wte.weight", "tok_embeddings.weight"))}
        self.refused("z.safetensors", safetensors(twice, 2 * values.tobytes()), "both 'wte.weight'")

    def test_tensors_that_are_no_matrix(self):
        flat = {"wte.weight": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}
        self.refused("x.safetensors", safetensors(flat, b"\0" * 24), "1 dimensions")
        whole = {"wte.weight": {"dtype": "I32", "shape": [2, 3], "data_offsets": [0, 24]}}
        self.refused("x.safetensors", safetensors(whole, b"\0" * 24), "I32")

    def test_shards(self):
        self.write("a.safetensors", one_tensor(matrix())[0])
        index = "model.safetensors.index.json"
        place = {"weight_map": {"lm_head.weight": "a.safetensors"}}
        self.refused(index, json.dumps(place).encode(), "lm_head.weight", "a.safetensors",
                     arguments=["capacity.matrix=both"])
        self.refused(index, b'{"weights": {}}', "weight_map")
        missing = {"weight_map": {"wte.weight": "b.safetensors"}}
        self.refused(index, json.dumps(missing).encode(), "b.safetensors", "No such file", named=False)

    def test_gguf(self):
        values = matrix().astype("<f4").tobytes()
        good = gguf({"token_embd.weight": (0, [V, D], values)})
        self.refused("x.gguf", good[:-5], "truncated")
        self.refused("x.gguf", good[:60], "past the end")
        self.refused("x.gguf", gguf({"token_embd.weight": (0, [V, D], values)}, version=4), "version is 4")
        self.refused("x.gguf", gguf({"token_embd.weight": (12, [V, D], values)}), "GGUF type 12")
        self.refused("x.gguf", gguf({"token_embd.weight": (8, [V, 30], values)}), "multiple of 32")
        self.refused("x.gguf", gguf({"other": (0, [V, D], values)}), "its matrices are: other")

    def test_npy(self):
        path = self.folder / "x.npy"

        def saved(array):
            np.save(path, array)
            return path.read_bytes()

        self.refused("x.npy", saved(matrix())[:-8], "bytes")
        self.refused("x.npy", saved(np.asfortranarray(matrix())), "column by column")
        self.refused("x.npy", saved(matrix().astype(">f4")), ">f4")
        self.refused("x.npy", saved(np.arange(6).reshape(2, 3)), "i8")
        self.refused("x.npy", saved(matrix()[0]), "1 dimensions")

    def test_hdf5(self):
        path = self.folder / "x.h5"
        with h5py.File(path, "w") as file:
            file["weights"] = matrix()
            file["whole"] = np.arange(6).reshape(2, 3)
        self.refused(f"{path}:/none", None, "x.h5", "no dataset '/none'", named=False)
        self.refused(f"{path}:/whole", None, "where real numbers")
        self.refused(str(path), None, "/weights")
        with h5py.File(path, "w") as file:
            file.attrs.update(format="lexikos-embedding", format_version=99)
        self.refused(str(path), None, "99")

    def test_values(self):
        values = matrix()
        values[41, 3] = np.nan
        values[50, 0] = np.inf
        np.save(self.folder / "nan.npy", values)
        self.refused(str(self.folder / "nan.npy"), None, "row 41, column 3 is nan", ranks=(0, 2, 3))
        for rows in (0, 1):
            np.save(self.folder / "few.npy", matrix(0, 5)[:rows])
            self.refused(str(self.folder / "few.npy"), None, "two are needed", ranks=(0, 3))
        np.save(self.folder / "zero.npy", np.zeros((4, 4)))
        self.refused(str(self.folder / "zero.npy"), None, "0 of its 4 rows")


if __name__ == "__main__":
    unittest.main()
