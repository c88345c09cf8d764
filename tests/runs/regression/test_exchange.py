"""The jobs `export` and `import`: folders that transformers reads and writes.

What the folder means is computed by tests/harness/llama.py, which knows nothing of the code. The same
against transformers itself is tests/parity."""

import json
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness import llama  # noqa: E402
from harness.runs import INTERFACES, RunTest, likely_rounding_of_logits, rounding_of_logits, run  # noqa: E402

IDS = [5, 0, 60, 17, 17, 3, 42, 8, 31, 59, 1, 2, 44, 20, 9, 33]  # T = 16
# So large a rate and initial deviation that every part of the model counts in the logits.
TRAIN = ("run.steps=4", "transformer.init_deviation=0.3", "optimizer.learning_rate=1e-2",
         "optimizer.warmup_steps=0", "validation.every=0")


MISTRAL = dict(architectures=["MistralForCausalLM"], model_type="mistral")
QWEN3 = dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", head_dim=8)


class ExchangeTest(RunTest):
    def job(self, deck, name, *arguments):
        result = run(["-i", deck, f"job={name}", *arguments])
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return result.stdout

    def logits(self, deck, folder, *arguments):
        """Ours, of every place of IDS."""
        self.job(deck, "sample", "-d", folder, f"sample.prompt_ids={IDS}", "sample.tokens=0",
                 "sample.logits=true", *arguments)
        with h5py.File(folder / "logits.h5") as file:
            self.assertEqual(file["ids"][()].tolist(), IDS)
            return file["logits"][()]

    def assert_same_logits(self, ours, theirs):
        """Ours are summed in fp32, theirs in fp64; no model here has longer sums than DECK's."""
        self.assertLess(np.abs(ours - theirs).max(), likely_rounding_of_logits(theirs))

    def parameters(self, folder):
        (path,) = sorted(folder.glob("checkpoint_*.h5"))[-1:]
        with h5py.File(path) as file:
            return {name: value[()] for name, value in file["parameters"].items()}


class Export(ExchangeTest):
    def test_every_interface(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                chosen = f"embedding.interface={interface}"
                out = self.lexikos(chosen, *TRAIN, name=interface)
                self.job(self.deck, "export", "-d", out, chosen, TRAIN[1])
                config, tensors = llama.read_folder(out / "exported")
                self.assertEqual(config["tie_word_embeddings"], interface == "tied")
                self.assertEqual("lm_head.weight" in tensors, interface != "tied")
                self.assertEqual({dtype for dtype, _ in tensors.values()}, {"F32"})
                values = {name: value for name, (_, value) in tensors.items()}
                ours = self.logits(self.deck, out, chosen, TRAIN[1])
                theirs = llama.logits(config, values, IDS)
                self.assertGreater(np.abs(theirs).max(), 0.5)
                self.assert_same_logits(ours, theirs)
                # The table is the one that analysis reads.
                with h5py.File(out / "embedding.h5") as file:
                    read = file["input"][()]
                np.testing.assert_allclose(values["model.embed_tokens.weight"], read, rtol=0,
                                           atol=likely_rounding_of_logits(read))

    def test_config(self):
        more = ("transformer.rope_base=700.0", "transformer.norm_epsilon=3e-6",
                "transformer.kv_heads=1", "data.vocabulary_size=64")
        out = self.lexikos("embedding.interface=untied", *TRAIN, *more)
        self.job(self.deck, "export", "-d", out, "embedding.interface=untied", *TRAIN, *more)
        config = json.loads((out / "exported/config.json").read_text())
        for key, value in dict(
                architectures=["LlamaForCausalLM"], model_type="llama", vocab_size=64,
                hidden_size=32, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
                num_key_value_heads=1, head_dim=16, hidden_act="silu", attention_bias=False,
                mlp_bias=False, max_position_embeddings=16, rms_norm_eps=3e-6, rope_theta=700.0,
                rope_parameters={"rope_type": "default", "rope_theta": 700.0}, torch_dtype="float32",
                eos_token_id=0, bos_token_id=0).items():
            self.assertEqual(config[key], value, key)
        generation = json.loads((out / "exported/generation_config.json").read_text())
        self.assertEqual(generation, {"bos_token_id": 0, "eos_token_id": 0})
        _, tensors = llama.read_folder(out / "exported")
        self.assertEqual(tensors["model.layers.1.self_attn.k_proj.weight"][1].shape, (16, 32))
        ours = self.logits(self.deck, out, "embedding.interface=untied", *TRAIN, *more)
        theirs = llama.logits(config, {n: v for n, (_, v) in tensors.items()}, IDS)
        self.assert_same_logits(ours, theirs)

    def test_window(self):
        """All layers with a window are a Mistral; some only are nothing that transformers has."""
        more = ("transformer.window=3", "embedding.interface=untied")
        out = self.lexikos(*TRAIN, *more)
        self.job(self.deck, "export", "-d", out, *TRAIN, *more)
        config, tensors = llama.read_folder(out / "exported")
        self.assertEqual((config["architectures"], config["model_type"], config["sliding_window"]),
                         (["MistralForCausalLM"], "mistral", 3))
        values = {n: v for n, (_, v) in tensors.items()}
        ours = self.logits(self.deck, out, *TRAIN, *more)
        self.assert_same_logits(ours, llama.logits(config, values, IDS))
        everything = llama.logits({**config, "sliding_window": None}, values, IDS)
        self.assertGreater(np.abs(ours - everything).max(), 100 * likely_rounding_of_logits(everything))
        some = ("run.steps=1", "transformer.window=3", "transformer.window_pattern=[1, 0]")
        out = self.lexikos(*some, name="some")
        result = run(["-i", self.deck, "-d", out, "job=export", *some])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("transformer.window in some layers only", result.stderr)
        self.assertFalse((out / "exported").exists())

    def test_qk_norm(self):
        """Another architecture, with windows in some layers as it may have them."""
        more = ("transformer.qk_norm=true", "transformer.window=3", "transformer.window_pattern=[0, 1]",
                "embedding.interface=lev")
        out = self.lexikos(*TRAIN, *more)
        self.job(self.deck, "export", "-d", out, *TRAIN, *more)
        config, tensors = llama.read_folder(out / "exported")
        self.assertEqual((config["architectures"], config["model_type"], config["layer_types"]),
                         (["Qwen3ForCausalLM"], "qwen3", ["full_attention", "sliding_attention"]))
        values = {n: v for n, (_, v) in tensors.items()}
        self.assertEqual(values["model.layers.1.self_attn.k_norm.weight"].shape, (config["head_dim"],))
        ours = self.logits(self.deck, out, *TRAIN, *more)
        self.assert_same_logits(ours, llama.logits(config, values, IDS))

    def test_bf16_and_shards(self):
        out = self.lexikos(*TRAIN)
        self.job(self.deck, "export", "-d", out, TRAIN[1])
        _, whole = llama.read_folder(out / "exported")
        (out / "exported").rename(out / "whole")
        self.job(self.deck, "export", "-d", out, TRAIN[1], "export.precision=bf16",
                 "export.shard_bytes=9000")
        files = sorted(x.name for x in (out / "exported").glob("*.safetensors"))
        self.assertGreater(len(files), 3)
        self.assertEqual(files[0], f"model-00001-of-{len(files):05d}.safetensors")
        index = json.loads((out / "exported/model.safetensors.index.json").read_text())
        config, narrow = llama.read_folder(out / "exported")
        self.assertEqual(config["torch_dtype"], "bfloat16")
        self.assertEqual(index["metadata"]["total_size"],
                         sum(2 * v.size for _, v in narrow.values()))
        self.assertEqual(list(whole), list(narrow))
        for name, (dtype, value) in narrow.items():
            self.assertEqual(dtype, "BF16")
            rounded = np.frombuffer(llama.stored(whole[name][1], "BF16"), "<u2")
            np.testing.assert_array_equal(value, llama.widen(rounded, "BF16").reshape(value.shape))

    def test_tokenizer_files(self):
        place = self.folder / "tokenizer"
        place.mkdir()
        for name in ("tokenizer.json", "tokenizer_config.json", "notes.txt"):
            (place / name).write_text(name)
        out = self.lexikos("run.steps=1")
        self.job(self.deck, "export", "-d", out, f"export.tokenizer={place}")
        names = {x.name for x in (out / "exported").iterdir()}
        self.assertEqual(names, {"config.json", "generation_config.json", "model.safetensors",
                                 "tokenizer.json", "tokenizer_config.json"})
        (out / "exported").rename(out / "first")
        single = self.folder / "bible.model"
        single.write_text("sp")
        self.job(self.deck, "export", "-d", out, f"export.tokenizer={single}")
        self.assertEqual((out / "exported/tokenizer.model").read_text(), "sp")


class Import(ExchangeTest):
    def deck_for(self, folder, *lines):
        deck = self.folder / "import.toml"
        deck.write_text("\n".join([f'[import]\nfolder = "{folder}"', "[run]", "steps = 3",
                                   "gemm_rate = false", "[data]", f'tokens = "{self.tokens}"',
                                   *lines]))
        return deck

    def imported(self, name, config, tensors, *arguments, **how):
        """The folder written, imported; returns ours and the deck beside it."""
        llama.write_folder(self.folder / name, config, tensors, **how)
        out = self.folder / (name + "_run")
        self.job(self.deck_for(self.folder / name), "import", "-d", out, *arguments)
        return out, out / "deck.toml"

    def test_logits(self):
        models = {
            "grouped": dict(), "one": dict(kv_heads=1), "plain": dict(kv_heads=4),
            "tied": dict(tied=True),
            "nested": dict(rope_theta=None,
                           rope_parameters={"rope_type": "default", "rope_theta": 300.0}),
            "scaling": dict(rope_scaling={"type": "default"}, head_dim=8, sliding_window=None),
            "window": dict(**MISTRAL, sliding_window=3),
            "no_window": dict(**MISTRAL, sliding_window=None),
            "qk_norm": dict(**QWEN3, sliding_window=4),  # which is not used
            "qk_norm_full": dict(**QWEN3, use_sliding_window=True, sliding_window=2),  # from layer 28 on
            "qk_norm_from_one": dict(**QWEN3, use_sliding_window=True, sliding_window=2,
                                     max_window_layers=1),
            "qk_norm_windows": dict(**QWEN3, use_sliding_window=True, sliding_window=2,
                                    layer_types=["full_attention", "sliding_attention"])}
        for i, (name, more) in enumerate(models.items()):
            with self.subTest(name):
                config, tensors = llama.random_model(seed=i, **more)
                out, deck = self.imported(name, config, tensors)
                if "use_sliding_window" in config and "layer_types" not in config:
                    first = config.get("max_window_layers", 28)
                    config["layer_types"] = ["sliding_attention" if i >= first else "full_attention"
                                             for i in range(config["num_hidden_layers"])]
                if name == "nested":
                    config["rope_theta"] = 300.0
                ours = self.logits(deck, out)
                theirs = llama.logits(config, tensors, IDS)
                self.assertGreater(np.abs(theirs).max(), 1)
                self.assert_same_logits(ours, theirs)

    def test_stored_types_and_shards(self):
        config, tensors = llama.random_model(seed=7)
        for dtype, shards in (("F16", 1), ("BF16", 3), ("F32", 4)):
            with self.subTest(dtype):
                out, _ = self.imported(f"{dtype}", config, tensors, dtype=dtype, shards=shards)
                ours = self.parameters(out)
                raw = np.frombuffer(llama.stored(tensors["lm_head.weight"], dtype),
                                    llama.DTYPES[dtype])
                np.testing.assert_array_equal(ours["head.weight"].ravel(), llama.widen(raw, dtype))

    def test_older_files(self):
        """Rotary frequencies, and a tied head that was written twice."""
        config, tensors = llama.random_model(tied=True)
        tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(4, "f4")
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
        out, _ = self.imported("older", config, tensors)
        self.assertNotIn("embedding.untied.table", self.parameters(out))

    def test_there_and_back(self):
        """Export, import: the same parameters and logits, bit for bit."""
        for interface, more in (("tied", ("transformer.window=3",)),
                                ("untied", ("transformer.kv_heads=1", "transformer.qk_norm=true",
                                            "transformer.window=2",
                                            "transformer.window_pattern=[0, 1]")), ("lev", ())):
            with self.subTest(interface):
                chosen = (f"embedding.interface={interface}", TRAIN[1], *more)
                first = self.lexikos(*TRAIN, *chosen, name=interface)
                self.job(self.deck, "export", "-d", first, *chosen)
                second = self.folder / (interface + "_back")
                self.job(self.deck_for(first / "exported"), "import", "-d", second)
                deck = second / "deck.toml"
                before = self.logits(self.deck, first, *chosen)
                after = self.logits(deck, second)
                if interface == "lev":  # computed in other blocks than the table was
                    np.testing.assert_allclose(after, before, rtol=0, atol=rounding_of_logits(before))
                else:
                    np.testing.assert_array_equal(after, before)
                    ours = self.parameters(first)
                    for name, value in self.parameters(second).items():
                        np.testing.assert_array_equal(value, ours[name], name)
                # And a second export is the first.
                self.job(deck, "export")
                self.assertEqual((first / "exported/model.safetensors").read_bytes(),
                                 (second / "exported/model.safetensors").read_bytes())

    def test_goes_on(self):
        """Evaluated, trained on with fresh moments, and its embedding analysed."""
        config, tensors = llama.random_model()
        out, deck = self.imported("more", config, tensors)
        self.assertIn("perplexity", self.job(deck, "evaluate"))
        with h5py.File(out / "checkpoint_00000000.h5") as file:
            for group in ("moment1", "moment2"):
                for value in file[group].values():
                    self.assertFalse(value[()].any())
            self.assertEqual(sorted(file["moment1"]), sorted(file["parameters"]))
        result = run(["-i", deck, "-r", "latest"])
        self.assertEqual(result.returncode, 0, result.stderr)
        with h5py.File(out / "history.h5") as file:
            self.assertEqual(file["history/step"][()].tolist(), [1, 2, 3])
        capacity = self.folder / "capacity.toml"
        capacity.write_text(f'job = "capacity"\n[capacity]\nfiles = ["{out}/checkpoint_00000000.h5"]\n')
        result = run(["-i", capacity, "-d", self.folder / "capacity"])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_shorter_context(self):
        config, tensors = llama.random_model()
        out, deck = self.imported("short", config, tensors, "transformer.context=8")
        self.assertIn("context = 8", deck.read_text())
        dry = run(["-n", "-i", self.deck_for(self.folder / "short"), "job=import"])
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertIn("kv_heads = 2", dry.stdout)


class TwoSources(ExchangeTest):
    """What a folder says twice: as transformers decides, or one line that names both."""

    def folder_with(self, **how):
        config, tensors = llama.random_model()
        self.theirs = self.folder / "theirs"
        llama.write_folder(self.theirs, config, tensors, **how)
        self.deck.write_text(f'[import]\nfolder = "{self.theirs}"\n[run]\nsteps = 1\n')
        return config, tensors

    def imports(self):
        return run(["-i", self.deck, "job=import", "-d", self.folder / "run"])

    def refused(self, *words):
        result = self.imports()
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("capacity.", result.stderr)
        self.assertFalse((self.folder / "run").exists())

    def test_one_file_beside_an_older_index(self):
        _, tensors = self.folder_with()
        stale = {name: value + 1 for name, value in tensors.items()}
        llama.write_file(self.theirs / "model-00001-of-00001.safetensors", stale, "F32")
        (self.theirs / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": dict.fromkeys(stale, "model-00001-of-00001.safetensors")}))
        for other in ("pytorch_model.bin", "embedding.h5", "consolidated.safetensors"):
            (self.theirs / other).write_bytes(b"PK")
        result = self.imports()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("model.safetensors.index.json beside it is not read", result.stdout)
        np.testing.assert_array_equal(self.parameters(self.folder / "run")["head.weight"], tensors["lm_head.weight"])

    def test_shards(self):
        self.folder_with(shards=3)
        first, second, _ = sorted(self.theirs.glob("*.safetensors"))
        moved = self.theirs / "elsewhere"
        second.rename(moved)
        self.refused(second.name, "No such file", "check import.folder")
        moved.rename(second)
        tensors = {name: value for name, (_, value) in llama.read_file(second).items()}
        name = next(iter(llama.read_file(first)))
        llama.write_file(second, {**tensors, name: llama.read_file(first)[name][1]}, "F32")
        self.refused(f"both '{first.name}' and '{second.name}' have tensor '{name}'")
        (self.theirs / "model.safetensors.index.json").unlink()
        self.refused(first.name, "neither model.safetensors nor model.safetensors.index.json", "check import.folder")

    def test_weights_that_are_not_read(self):
        self.folder_with()
        (self.theirs / "model.safetensors").rename(self.theirs / "pytorch_model.bin")
        self.refused("'pytorch_model.bin', a pickle", "check import.folder")
        (self.theirs / "config.json").unlink()
        self.refused("config.json", "check import.folder")

    def test_an_adapter_beside_the_weights(self):
        self.folder_with()
        (self.theirs / "adapter_config.json").write_text("{}")
        self.refused("adapter_config.json", "merge")

    def test_a_tied_head_stored_in_another_type(self):
        config, tensors = llama.random_model(tied=True)
        self.theirs = self.folder / "theirs"
        exact = np.round(tensors["model.embed_tokens.weight"] * 8) / 8
        tensors["model.embed_tokens.weight"] = exact
        llama.write_folder(self.theirs, config, tensors, shards=2)
        llama.write_file(self.theirs / "head", {"lm_head.weight": exact}, "F16")
        index = json.loads((self.theirs / "model.safetensors.index.json").read_text())
        index["weight_map"]["lm_head.weight"] = "head"
        (self.theirs / "model.safetensors.index.json").write_text(json.dumps(index))
        self.deck.write_text(f'[import]\nfolder = "{self.theirs}"\n[run]\nsteps = 1\n')
        result = self.imports()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_config_of_no_such_file(self):
        """Sizes past what the file holds: said before there is memory for them."""
        config, tensors = self.folder_with()
        llama.write_folder(self.theirs, {**config, "vocab_size": 2 ** 31}, tensors)
        self.refused("[61 x 32]", "[2147483648 x 32]")
        llama.write_folder(self.theirs, {**config, "num_hidden_layers": 4000}, tensors)
        self.refused("no tensor 'model.layers.2.")
        llama.write_folder(self.theirs, {**config, "num_hidden_layers": 60000}, tensors)
        result = self.imports()
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("config.json: transformer.layers = 60000 is out of range", result.stderr)


class Refusals(ExchangeTest):
    def refused(self, status, deck, *words, arguments=()):
        for ranks in (0, 2):
            result = run(["-i", deck, "-d", self.folder / "run", *arguments], ranks)
            self.assertEqual(result.returncode, status, result.stderr + result.stdout)
            lines = [x for x in result.stderr.splitlines() if "lexikos: error:" in x]
            self.assertEqual(len(lines), 1, result.stderr)
            for word in words:
                self.assertIn(word, lines[0])
            self.assertFalse(list((self.folder / "run").glob("*.tmp.*")))

    def test_export(self):
        self.refused(3, self.deck, "no checkpoint in", arguments=["job=export"])
        out = self.lexikos("run.steps=1")
        self.refused(3, self.deck, "export.tokenizer", "nowhere",
                     arguments=["job=export", "export.tokenizer=nowhere"])
        (out / "exported").mkdir()
        self.refused(3, self.deck, "exported' is there already", arguments=["job=export"])
        self.refused(2, self.deck, 'mlp = "gelu"', "LlamaForCausalLM",
                     arguments=["job=export", "transformer.mlp=gelu"])
        self.refused(2, self.deck, "kv_heads = 2", "heads = 3",
                     arguments=["transformer.width=48", "transformer.heads=3",
                                "transformer.kv_heads=2"])

    def import_refused(self, status, config, tensors, *words, arguments=(), dtype="F32"):
        llama.write_folder(self.folder / "theirs", config, tensors, dtype=dtype)
        self.refused(status, self.deck, *words,
                     arguments=["job=import", f"import.folder={self.folder / 'theirs'}",
                                "transformer.context=8", *arguments])

    def setUp(self):
        super().setUp()
        self.deck.write_text("[run]\nsteps = 3\ngemm_rate = false\n[data]\n"
                             f'tokens = "{self.tokens}"\n' if self._testMethodName != "test_export"
                             else self.deck.read_text())

    def test_config(self):
        config, tensors = llama.random_model()
        for change, *words in (
                (dict(model_type="qwen2"), "model_type", "qwen2"),
                (dict(architectures=["MistralForCausalLM"]), "MistralForCausalLM"),
                (dict(hidden_act="gelu"), "hidden_act", "gelu"),
                (dict(attention_bias=True), "attention_bias"),
                (dict(mlp_bias=True), "mlp_bias"),
                (dict(head_dim=16), "head_dim = 16", "hidden_size / num_attention_heads = 8"),
                (dict(num_key_value_heads=3), "num_key_value_heads = 3", "num_attention_heads = 4"),
                (dict(rope_scaling={"rope_type": "llama3", "factor": 8.0}), "rope_scaling.rope_type",
                 "llama3"),
                (dict(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4}), "rope_parameters",
                 "yarn"),
                (dict(rope_scaling={"type": "default", "factor": 2.0}), "rope_scaling.factor"),
                (dict(partial_rotary_factor=0.5), "partial_rotary_factor"),
                (dict(quantization_config={"bits": 4}), "quantization_config"),
                (dict(hidden_size=None), "hidden_size"),
                (dict(vocab_size=-3), "vocab_size"),
                (dict(rms_norm_eps="small"), "rms_norm_eps")):
            with self.subTest(change=change):
                self.import_refused(3, {**config, **change}, tensors, "config.json", *words)

    def test_tensors(self):
        config, tensors = llama.random_model()
        without = dict(tensors)
        del without["model.layers.1.mlp.up_proj.weight"]
        self.import_refused(3, config, without, "no tensor 'model.layers.1.mlp.up_proj.weight'",
                            "near names")
        bias = {**tensors, "model.layers.0.self_attn.q_proj.bias": np.zeros(32, "f4")}
        self.import_refused(3, config, bias, "model.layers.0.self_attn.q_proj.bias", "not part of")
        short = {**tensors, "lm_head.weight": tensors["lm_head.weight"][:60]}
        self.import_refused(3, config, short, "lm_head.weight", "[60 x 32]", "[61 x 32]")
        flat = {**tensors, "model.norm.weight": tensors["model.norm.weight"][None]}
        self.import_refused(3, config, flat, "model.norm.weight", "[1 x 32]", "[32]")
        tied, values = llama.random_model(tied=True)
        values["lm_head.weight"] = values["model.embed_tokens.weight"] + 1
        self.import_refused(3, tied, values, "lm_head.weight", "tie_word_embeddings")

    def test_decks(self):
        config, tensors = llama.random_model()
        self.import_refused(2, config, tensors, "transformer.width is 64", "32", "config.json",
                            arguments=["transformer.width=64"])
        self.import_refused(2, config, tensors, "transformer.context", "17", "16",
                            arguments=["transformer.context=17"])
        self.refused(3, self.deck, "config.json", arguments=["job=import", "import.folder=nowhere"])
        self.refused(2, self.deck, "'folder' is required in [import]", arguments=["job=import"])
        (self.folder / "run").mkdir()
        (self.folder / "run" / "deck.toml").write_text("")
        self.import_refused(3, config, tensors, "holds another model already")


if __name__ == "__main__":
    unittest.main()
