"""A checkpoint of a `tied` model as a LlamaForCausalLM folder, for the tools that the results are compared with."""

import json
from pathlib import Path

import h5py
import numpy as np


def write(folder: Path, checkpoint: Path, *, heads: int, context: int, vocabulary: int, tokenizer_json: Path,
          end_of_text: str) -> None:
    """config.json, model.safetensors in fp32 and the tokenizer's files."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    with h5py.File(checkpoint) as file:
        values = {name: np.array(item) for name, item in _datasets(file["parameters"])}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in _llama_names(values)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    layers = sum(name.endswith(".qkv") for name in values)
    width = values["head.weight"].shape[1]
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
              "intermediate_size": values["transformer.0.down"].shape[1], "num_hidden_layers": layers,
              "num_attention_heads": heads, "num_key_value_heads": heads, "max_position_embeddings": context,
              "vocab_size": vocabulary, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": True, "torch_dtype": "float32", "attention_bias": False, "mlp_bias": False,
              "bos_token_id": 0, "eos_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_bytes(tokenizer_json.read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end_of_text, "model_max_length": context}))


def _datasets(group: h5py.Group):
    found = []
    group.visititems(lambda name, item: found.append((name, item[()])) if isinstance(item, h5py.Dataset) else None)
    return found


def _llama_names(values: dict[str, np.ndarray]):
    """qkv is q, k and v below one another, up is gate and up; rotary pairs are i and i + E / 2 in both."""
    yield "model.embed_tokens.weight", values["head.weight"]
    yield "model.norm.weight", values["transformer.norm"]
    for layer in range(sum(name.endswith(".qkv") for name in values)):
        ours, theirs = f"transformer.{layer}.", f"model.layers.{layer}."
        for name, part in zip("qkv", np.split(values[ours + "qkv"], 3)):
            yield f"{theirs}self_attn.{name}_proj.weight", part
        for name, part in zip(("gate", "up"), np.split(values[ours + "up"], 2)):
            yield f"{theirs}mlp.{name}_proj.weight", part
        yield theirs + "self_attn.o_proj.weight", values[ours + "out"]
        yield theirs + "mlp.down_proj.weight", values[ours + "down"]
        yield theirs + "input_layernorm.weight", values[ours + "attention_norm"]
        yield theirs + "post_attention_layernorm.weight", values[ours + "mlp_norm"]
