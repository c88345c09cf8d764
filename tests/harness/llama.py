"""A LlamaForCausalLM, a MistralForCausalLM with its sliding window, or a Qwen3ForCausalLM with its QK-norm, in NumPy,
fp64, and its folder: written from the published formats, with nothing of the code under test. Weights are rounded to
what the file holds, never more."""

import json
import struct
from pathlib import Path

import numpy as np

DTYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}


def widen(raw, dtype):
    """Values of stored numbers as float64."""
    if dtype == "BF16":
        return (raw.astype("<u4") << 16).view("<f4").astype("f8")
    return raw.astype("f8")


def read_file(path):
    """name -> (dtype, values) of one safetensors file."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = np.frombuffer(data[8 + length + begin:8 + length + end], DTYPES[entry["dtype"]])
        found[name] = (entry["dtype"], widen(raw, entry["dtype"]).reshape(entry["shape"]))
    return found


def read_folder(folder):
    """config.json, and name -> (dtype, values) over all shards."""
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return config, read_file(folder / "model.safetensors")
    tensors = {}
    weight_map = json.loads(index.read_text())["weight_map"]
    for shard in sorted(set(weight_map.values())):
        for name, value in read_file(folder / shard).items():
            assert weight_map[name] == shard, name
            tensors[name] = value
    assert sorted(tensors) == sorted(weight_map)
    return config, tensors


def stored(values, dtype):
    """Bytes of values as a file holds them; bfloat16 by rounding to nearest, ties to even."""
    if dtype != "BF16":
        return np.asarray(values, DTYPES[dtype]).tobytes()
    bits = np.asarray(values, "<f4").view("<u4").astype("u8")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


def write_file(path, tensors, dtype):
    header, blob = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        data = stored(values, dtype)
        header[name] = {"dtype": dtype, "shape": list(np.shape(values)),
                        "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + blob)


def write_folder(folder, config, tensors, dtype="F32", shards=1):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if shards == 1:
        write_file(folder / "model.safetensors", tensors, dtype)
        return
    names, weight_map = list(tensors), {}
    for i in range(shards):
        shard = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {n: tensors[n] for n in names[i::shards]}
        weight_map.update(dict.fromkeys(part, shard))
        write_file(folder / shard, part, dtype)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map}))


def random_model(seed=1, tied=False, heads=4, kv_heads=2, **more):
    """A small config.json and its weights, of order 1 over the root of the inputs."""
    rng = np.random.default_rng(seed)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 61,
              "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2,
              "num_attention_heads": heads, "num_key_value_heads": kv_heads, "hidden_act": "silu",
              "max_position_embeddings": 16, "rms_norm_eps": 1e-6, "rope_theta": 500.0,
              "tie_word_embeddings": tied, **more}
    v, c, f = config["vocab_size"], config["hidden_size"], config["intermediate_size"]
    kv = c // heads * kv_heads

    def matrix(rows, columns):
        return rng.normal(0, columns ** -0.5, (rows, columns)).astype("f4")

    def gains():
        return rng.normal(1, 0.2, c).astype("f4")

    tensors = {"model.embed_tokens.weight": matrix(v, c) * np.float32(c ** 0.5)}
    for i in range(config["num_hidden_layers"]):
        name = f"model.layers.{i}."
        tensors[name + "input_layernorm.weight"] = gains()
        tensors[name + "self_attn.q_proj.weight"] = matrix(c, c)
        tensors[name + "self_attn.k_proj.weight"] = matrix(kv, c)
        tensors[name + "self_attn.v_proj.weight"] = matrix(kv, c)
        if config["model_type"] == "qwen3":
            for part in "qk":
                tensors[name + f"self_attn.{part}_norm.weight"] = rng.normal(1, 0.2, c // heads).astype("f4")
        tensors[name + "self_attn.o_proj.weight"] = matrix(c, c)
        tensors[name + "post_attention_layernorm.weight"] = gains()
        tensors[name + "mlp.gate_proj.weight"] = matrix(f, c)
        tensors[name + "mlp.up_proj.weight"] = matrix(f, c)
        tensors[name + "mlp.down_proj.weight"] = matrix(c, f)
    tensors["model.norm.weight"] = gains()
    if not tied:
        tensors["lm_head.weight"] = matrix(v, c)
    return config, tensors


def norm(x, weight, eps):
    return weight * (x / np.sqrt((x * x).mean(-1, keepdims=True) + eps))


def turn(x, theta):
    """x [H T E]: element i with i + E/2, by t theta^(-2 i / E)."""
    t, e = x.shape[1:]
    angle = np.arange(t)[:, None] * theta ** (-2.0 * np.arange(e // 2) / e)
    low, high = x[..., :e // 2], x[..., e // 2:]
    return np.concatenate([low * np.cos(angle) - high * np.sin(angle),
                           high * np.cos(angle) + low * np.sin(angle)], -1)


def behind(config, layer, t):
    """-inf where a key lies before the layer's window."""
    types = config.get("layer_types")
    windowed = config.get("use_sliding_window", config["model_type"] == "mistral") and (
        types is None or types[layer] == "sliding_attention")
    return np.tril(np.full((t, t), -np.inf), -((windowed and config.get("sliding_window")) or t))


def logits(config, tensors, ids):
    """Logits [T V] of one text."""
    w = {name: np.asarray(value, "f8") for name, value in tensors.items()}
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    c, t, eps = config["hidden_size"], len(ids), config["rms_norm_eps"]
    e = c // heads
    x = w["model.embed_tokens.weight"][ids]
    future = np.triu(np.full((t, t), -np.inf), 1)
    for i in range(config["num_hidden_layers"]):
        name = f"model.layers.{i}."

        def linear(y, part, name=name):
            return y @ w[name + part + ".weight"].T

        y = norm(x, w[name + "input_layernorm.weight"], eps)
        q, k, v = (linear(y, f"self_attn.{p}_proj").reshape(t, -1, e).swapaxes(0, 1) for p in "qkv")
        if config["model_type"] == "qwen3":
            q, k = (norm(a, w[name + f"self_attn.{p}_norm.weight"], eps) for a, p in ((q, "q"), (k, "k")))
        q, k = turn(q, config["rope_theta"]), turn(k, config["rope_theta"])
        k, v = (np.repeat(a, heads // kv_heads, axis=0) for a in (k, v))
        s = q @ k.swapaxes(1, 2) / e ** 0.5 + future + behind(config, i, t)
        p = np.exp(s - s.max(-1, keepdims=True))
        o = (p / p.sum(-1, keepdims=True)) @ v
        x = x + linear(o.swapaxes(0, 1).reshape(t, c), "self_attn.o_proj")
        y = norm(x, w[name + "post_attention_layernorm.weight"], eps)
        gate = linear(y, "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, "mlp.up_proj"), "mlp.down_proj")
    x = norm(x, w["model.norm.weight"], eps)
    head = "model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
    return x @ w[head].T
