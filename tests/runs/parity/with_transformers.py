"""What Hugging Face's transformers makes of a folder; run by the interpreter that has it.

    with_transformers.py logits FOLDER IDS.npy OUT.npy     ids [B T] -> logits [B T V], fp32
    with_transformers.py make FOLDER key=value ...         a LlamaForCausalLM with random weights
"""

import json
import sys

import numpy as np
import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

transformers.logging.set_verbosity_error()


def load(folder):
    model, report = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                     output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[kind]:
            sys.exit(f"{folder}: {kind}: {sorted(map(str, report[kind]))}")
    return model.eval()


def logits(folder, ids, out):
    model = load(folder)
    with torch.no_grad():
        result = model(torch.from_numpy(np.load(ids).astype("int64"))).logits
    np.save(out, result.float().numpy())
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: "
          f"{sum(p.numel() for p in model.parameters())} parameters")


def make(folder, *settings):
    values = {key: json.loads(value) for key, value in (s.split("=", 1) for s in settings)}
    shard = values.pop("max_shard_size", "5GB")
    torch.manual_seed(7)
    model = LlamaForCausalLM(LlamaConfig(bos_token_id=None, eos_token_id=0, **values))
    with torch.no_grad():  # norms that are not all one
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder, max_shard_size=shard)


if __name__ == "__main__":
    {"logits": logits, "make": make}[sys.argv[1]](*sys.argv[2:])
