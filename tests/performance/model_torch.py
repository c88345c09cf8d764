"""The peer: one training step of the model of a bench deck, written plainly in PyTorch.

Reads the model from a JSON object on standard input and prints a JSON object: the
seconds of each step, the first left out. compare.py runs it.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def rotary(context, width, base=10000.0):
    angles = torch.outer(torch.arange(context).float(),
                         base ** (-torch.arange(0, width, 2).float() / width))
    return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def turn(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.gain, 1e-5)


class Block(nn.Module):
    def __init__(self, width, heads, mlp_width):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * mlp_width, bias=False)
        self.down = nn.Linear(mlp_width, width, bias=False)

    def forward(self, x, cosine, sine):
        b, t, d = x.shape
        q, k, v = (self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads)
                   .permute(2, 0, 3, 1, 4))
        y = F.scaled_dot_product_attention(turn(q, cosine, sine), turn(k, cosine, sine), v,
                                           is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    """Decoder with a tied table."""

    def __init__(self, m):
        super().__init__()
        self.table = nn.Embedding(m["vocabulary"], m["width"])
        self.blocks = nn.ModuleList(Block(m["width"], m["heads"], m["mlp_width"])
                                    for _ in range(m["layers"]))
        self.norm = Norm(m["width"])
        cosine, sine = rotary(m["context"], m["width"] // m["heads"])
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)
        for matrix in self.parameters():
            if matrix.dim() == 2:
                nn.init.normal_(matrix, 0.0, 0.02)

    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x, self.cosine.to(x.dtype), self.sine.to(x.dtype))
        return F.linear(self.norm(x), self.table.weight)


def main():
    m = json.load(sys.stdin)
    torch.set_num_threads(m["threads"])
    torch.manual_seed(1)
    model = Model(m)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95),
                                  weight_decay=0.1, fused=True)
    network = torch.compile(model) if m["compile"] else model
    # Ids spread like those of a text, as in the bench decks: id r about as often as 1 / (r + 1).
    weights = 1.0 / (torch.arange(m["vocabulary"]).double() + 1)
    seconds = []
    for _ in range(m["steps"]):
        ids = torch.multinomial(weights, m["sequences"] * (m["context"] + 1),
                                replacement=True).view(m["sequences"], -1)
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=m["bf16"]):
            logits = network(ids[:, :-1])
        loss = F.cross_entropy(logits.float().view(-1, m["vocabulary"]), ids[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds[1:], "version": "PyTorch " + torch.__version__,
                      "parameters": sum(p.numel() for p in model.parameters()),
                      "loss": loss.item()}))


if __name__ == "__main__":
    main()
