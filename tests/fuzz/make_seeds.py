#!/usr/bin/env python3
"""Writes the seeds of the readers again: small inputs that each reader accepts, tests/fuzz/seeds/<reader>/<name>.

    tests/fuzz/make_seeds.py
"""

import json
import struct
from pathlib import Path

SEEDS = Path(__file__).resolve().parent / "seeds"


def put(reader: str, name: str, content: bytes | str) -> None:
    path = SEEDS / reader / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def json_seeds() -> None:
    put("json", "every_kind", '{"a": [1, -2.5e3, true, false, null], "b": {"c": "d\\u00e9\\ud83d\\ude00\\n"}, "e": []}')
    put("json", "number", "18446744073709551615")
    put("json", "nested", "[" * 60 + "]" * 60)
    put("json", "text", '"\\"\\\\\\/\\b\\f\\n\\r\\t\u00e9\u20ac\U0001f600"')


def arguments_seeds() -> None:
    put("arguments", "run", "-i\ndeck.toml\n-r\nlatest\n-d\nruns/a\n-t\n01:30:00\nembedding.interface=lev\ntrain.steps=3")
    put("arguments", "prints", "-k\n-c\n--version\n--help\n--kokkos-num-threads=2")
    put("arguments", "dry", "-n\n-i\ndeck.toml\na.b=[1, 2]\na.c='x'\na.d=1979-05-27")


def deck_seeds() -> None:
    put("deck", "run", '''job = "train"
seed = 7   # a remark
[transformer]
layers = 2
width = 64
rope_base = 1e4
norm_epsilon = 1.0e-6
tied = false
[embedding]
interface = "lev"
[embedding.lev]
knots = [4, 8]
names = ["a", "b"]
scale = 0.5
!embedding.interface=tied
!transformer.layers = 3
''')
    put("deck", "sweep", '''[sweep]
concurrent = 2
embedding.interface = ["tied", "lev"]
seed = [1, 2, 3]
optimizer.betas = [[0.9, 0.95], [0.9, 0.99]]
''')
    put("deck", "values", '''a = 0x1F
b = 0b11
c = 1_000
d = inf
e = nan
f = -0.0
g = 'literal'
h = """two
lines"""
i = 1979-05-27T07:32:00Z
j = { k = 1, l = [1, 2, { m = 3 }] }
"quoted key" = 1
[[n]]
o = 1
[[n]]
o = 2
''')


def safetensors(tensors: dict, metadata: dict | None = None) -> bytes:
    """A file of zeros; `tensors` is name -> (dtype, bytes of one value, shape)."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, width, shape) in tensors.items():
        size = width
        for extent in shape:
            size *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i % 60 for i in range(at))


def safetensors_seeds() -> None:
    put("safetensors", "two_tables", safetensors({"model.embed_tokens.weight": ("F32", 4, [4, 3]),
                                                  "lm_head.weight": ("BF16", 2, [4, 3]),
                                                  "model.norm.weight": ("F16", 2, [3])}, {"format": "pt"}))
    put("safetensors", "types", safetensors({"a": ("F64", 8, [2, 2]), "b": ("F8_E4M3", 1, [2, 2]), "c": ("I64", 8, [2]),
                                             "d": ("BOOL", 1, []), "e": ("F8_E5M2", 1, [0, 3])}))
    index = {"metadata": {"total_size": 48}, "weight_map": {"model.embed_tokens.weight": "a.safetensors",
                                                           "lm_head.weight": "b.safetensors"}}
    put("safetensors_index", "two_shards", json.dumps(index, indent=1))


def llama_seeds() -> None:
    llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 64, "hidden_size": 32,
             "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
             "head_dim": 8, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
             "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "initializer_range": 0.02,
             "tie_word_embeddings": True, "eos_token_id": 2, "rope_scaling": None}
    put("llama_config", "llama", json.dumps(llama, indent=1))
    mistral = llama | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 16}
    put("llama_config", "mistral", json.dumps(mistral, indent=1))
    qwen = llama | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "sliding_window": 16,
                    "use_sliding_window": True, "max_window_layers": 1,
                    "layer_types": ["full_attention", "sliding_attention"],
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    put("llama_config", "qwen3", json.dumps(qwen, indent=1))
    del qwen["layer_types"]
    put("llama_config", "qwen3_layers", json.dumps(qwen, indent=1))


def gguf_text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def gguf_seeds() -> None:
    values = [gguf_text("general.architecture") + struct.pack("<I", 8) + gguf_text("llama"),
              gguf_text("general.alignment") + struct.pack("<II", 4, 32),
              gguf_text("tokens") + struct.pack("<IIQ", 9, 8, 2) + gguf_text("a") + gguf_text("b"),
              gguf_text("scores") + struct.pack("<IIQff", 9, 6, 2, 1.0, 2.0),
              gguf_text("nested") + struct.pack("<IIQIQI", 9, 9, 1, 4, 1, 5)]
    tensors = [gguf_text("token_embd.weight") + struct.pack("<IQQIQ", 2, 32, 3, 8, 0),
               gguf_text("output.weight") + struct.pack("<IQQIQ", 2, 4, 3, 0, 128),
               gguf_text("output_norm.weight") + struct.pack("<IQIQ", 1, 4, 30, 192),
               gguf_text("other.weight") + struct.pack("<IQQIQ", 2, 256, 1, 12, 224)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values) + b"".join(tensors)
    put("gguf", "five_values", head + bytes(-len(head) % 32) + bytes(512))
    put("gguf", "no_tensors", b"GGUF" + struct.pack("<IQQ", 2, 0, 0))


def npy(header: str, data: int, version: int = 1) -> bytes:
    header += " " * (-(len(header) + 11) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + bytes(data)


def npy_seeds() -> None:
    put("npy", "float32", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", 48))
    put("npy", "float64_version_2", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", 32, 2))
    put("npy", "float16_vector", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", 10))


def token_seeds() -> None:
    put("plain_tokens", "llmc_uint16", struct.pack("<iii", 20240520, 1, 20) + bytes(4 * 253) + struct.pack("<20H", *range(20)))
    put("plain_tokens", "llmc_uint32", struct.pack("<iii", 20240801, 7, 9) + bytes(4 * 253) + struct.pack("<9I", *range(9)))
    put("plain_tokens", "nanogpt", struct.pack("<16H", *range(16)))
    for name, code, width in (("uint16", 8, 2), ("int32", 4, 4), ("uint8", 1, 1)):
        lengths, pointers, at = [7, 7, 0, 3], [], 0
        for length in lengths:
            pointers.append(at)
            at += length * width
        put("megatron", name, b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, 4, 4) + struct.pack("<4i", *lengths)
            + struct.pack("<4q", *pointers) + struct.pack("<4q", 0, 1, 3, 4))


def hdf5_seeds() -> None:
    """Lists of edits, tests/fuzz/hdf5_edits.hpp: of each kind some, on the first objects."""
    for reader, objects in (("tokens_file", 4), ("requests_file", 20), ("checkpoint", 18), ("embedding_file", 3)):
        put(reader, "as_it_is", b"")
        for kind in range(12):
            for way in range(2):
                edit = struct.pack("<BBHI", kind, 1 + (kind + 5 * way) % (objects - 1), 1 + 3 * way, 7 + 65537 * way)
                put(reader, f"kind_{kind:02}_{way}", edit)


def task_seeds() -> None:
    """A description and records, with a line of dashes between them."""
    choices = """name = "own"
shape = "multiple_choice"
context = "{passage}\\nQuestion: {question}?\\nAnswer:"
choices = ["no", "yes", "{other.word}"]
gold = "{answer}"
delimiter = " "
metrics = ["acc", "acc_norm"]
----
{"passage": "It is \u00e9.", "question": "is it", "answer": 1, "other": {"word": "perhaps"}}
{"passage": "It was.", "question": "was it", "answer": "0", "other": {"word": "never"}}
"""
    labelled = """name = "labelled"
shape = "multiple_choice"
context = "{question}"
choices = "{options}"
labels = ["A", "B"]
gold = "{key}"
----
{"question": "which", "options": ["this", "that"], "key": "B"}
{"question": "what", "options": ["these", "those"], "key": "A"}
"""
    words = """name = "words"
shape = "last_word"
text = "{text}"
----
{"text": "one two three"}
{"text": "four five"}
"""
    known = """----
{"activity_label": "A", "ctx_a": "b", "ctx_b": "c", "endings": ["d", "e"], "label": "1"}
{"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "A"}
{"goal": "g", "sol1": "a", "sol2": "b", "label": 0}
{"sentence": "the _ is", "option1": "a", "option2": "b", "answer": "2"}
{"page": " = Title = \\n text @-@ text \\n"}
"""
    for name, text in (("choices", choices), ("labelled", labelled), ("words", words), ("known", "x = 1\n" + known)):
        put("task_files", name, text)
    for number, line in enumerate(known.split("\n")[1:-1]):
        put("task_files", f"known_{number}", f"x = 1\n----\n{line}\n")


def main() -> None:
    for made in (json_seeds, arguments_seeds, deck_seeds, safetensors_seeds, llama_seeds, gguf_seeds, npy_seeds,
                 token_seeds, hdf5_seeds, task_seeds):
        made()


if __name__ == "__main__":
    main()
