#!/usr/bin/env python3
"""Ten training steps in PyTorch, fp64, and their losses as golden_torch.hpp.

Independent of the C++ code: initial values (Philox), model, gradients (autograd), clipping, AdamW
and schedule are written again here from the papers and from the documented conventions. Needs numpy
and torch; the test that reads golden_torch.hpp needs neither.

    python3 make_golden_torch.py > golden_torch.hpp
"""
import math

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

# --- what is run; test_golden.cpp has the same numbers in its deck ----------------------------------

VOCABULARY, WIDTH, LAYERS, CONTEXT, MLP_WIDTH = 29, 16, 2, 8, 24
SEQUENCES, STEPS, SEED = 6, 10, 1234
INIT_DEVIATION, NORM_EPSILON, ROPE_BASE = 0.02, 1e-5, 10000.0
PEAK, WARMUP, FINAL_FRACTION = 2e-2, 3, 0.1
BETA1, BETA2, EPSILON, WEIGHT_DECAY, CLIP_NORM = 0.9, 0.95, 1e-8, 0.1, 0.8
LEV = dict(k=3, d=6, h=2, kappa=5, r=3)
AFFINE_SEED = 5

# Interface, hidden layer, heads, heads of keys and values, window (0: none), QK-norm. The window is
# that of the first layer; the second sees everything (transformer.window_pattern = [1, 0]).
RUNS = [("tied", "swiglu", 2, 2, 0, False), ("untied", "swiglu", 2, 2, 0, False),
        ("lev", "swiglu", 2, 2, 0, False), ("binary_code", "swiglu", 2, 2, 0, False),
        ("binary_code_affine", "swiglu", 2, 2, 0, False), ("tied", "gelu", 2, 2, 0, False),
        ("untied", "swiglu", 8, 2, 0, False), ("tied", "swiglu", 4, 1, 0, False),
        ("untied", "swiglu", 4, 2, 3, True)]


def tokens():
    """The text: a linear congruential generator whose low values are the more frequent ones."""
    x, ids = 12345, []
    for _ in range(STEPS * SEQUENCES * CONTEXT + 1):
        x = (1103515245 * x + 12345) % 2**31
        ids.append((x >> 16) % VOCABULARY * ((x >> 8) % 7) // 6)
    return ids


# --- Philox-4x32-10 (Salmon et al., 2011), keyed by name, one normal value an index ------------------


def philox(counter, key):
    """counter: four arrays of 32-bit words held as uint64; key: two integers."""
    mask = np.uint64(0xFFFFFFFF)
    c = [np.asarray(word, dtype=np.uint64) for word in counter]
    k0, k1 = key
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        hi0, lo0 = p0 >> np.uint64(32), p0 & mask
        hi1, lo1 = p1 >> np.uint64(32), p1 & mask
        c = [hi1 ^ c[1] ^ np.uint64(k0), lo1, hi0 ^ c[3] ^ np.uint64(k1), lo0]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c


def stream_of(name):
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def words(seed, stream, index):
    index = np.asarray(index, dtype=np.uint64)
    low, high = index & np.uint64(0xFFFFFFFF), index >> np.uint64(32)
    one = np.ones_like(index)
    return philox([low, high, one * np.uint64(seed % 2**32), one * np.uint64(seed >> 32)],
                  (stream % 2**32, stream >> 32))


def normal(seed, name, count):
    w = words(seed, stream_of(name), np.arange(count))

    def unit(high, low):
        bits = ((high << np.uint64(32)) | low) >> np.uint64(11)
        return (bits.astype(np.float64) + 1.0) * 2.0**-53

    return np.sqrt(-2.0 * np.log(unit(w[0], w[1]))) * np.cos(2 * math.pi * unit(w[2], w[3]))


# --- parameters ----------------------------------------------------------------------------------------


class Parameters(dict):
    """name -> tensor; `target` is what decay pulls a parameter to (None: no decay)."""

    def __init__(self):
        super().__init__()
        self.target = {}

    def add(self, name, shape, mean, deviation, target):
        count = int(np.prod(shape))
        value = np.full(count, float(mean))
        if deviation > 0:
            value = mean + deviation * normal(SEED, name, count)
        self[name] = torch.tensor(value.reshape(shape), requires_grad=True)
        self.target[name] = target


def lev_base():
    base = 1
    while base ** LEV["k"] < VOCABULARY:
        base += 1
    return base


def declare(interface, mlp, heads, kv_heads, qk_norm):
    p = Parameters()
    p.add("head.weight", (VOCABULARY, WIDTH), 0, INIT_DEVIATION, 0.0)
    if interface == "untied":
        p.add("embedding.untied.table", (VOCABULARY, WIDTH), 0, INIT_DEVIATION, 0.0)
    if interface == "lev":
        k, d, h, kappa, r = (LEV[x] for x in ("k", "d", "h", "kappa", "r"))
        name = "embedding.lev."
        p.add(name + "codebooks", (k * lev_base(), d), 0, 0.02, 0.0)
        p.add(name + "mix", (h * d, d), 0, 0.02, 0.0)
        p.add(name + "gain", (h * d,), 1, 0, None)
        p.add(name + "bias", (h * d,), 0, 0, None)
        p.add(name + "spline", (h * d, kappa, r), 1, 0.1, 1.0)
        p.add(name + "out", (h * r, WIDTH), 0, 0.02 / math.sqrt(h), 0.0)
    residual = INIT_DEVIATION / math.sqrt(2 * LAYERS)
    inputs = 2 if mlp == "swiglu" else 1
    for l in range(LAYERS):
        name = f"transformer.{l}."
        p.add(name + "attention_norm", (WIDTH,), 1, 0, None)
        p.add(name + "qkv", (WIDTH + 2 * kv_heads * (WIDTH // heads), WIDTH), 0, INIT_DEVIATION, 0.0)
        if qk_norm:
            p.add(name + "q_norm", (WIDTH // heads,), 1, 0, None)
            p.add(name + "k_norm", (WIDTH // heads,), 1, 0, None)
        p.add(name + "out", (WIDTH, WIDTH), 0, residual, 0.0)
        p.add(name + "mlp_norm", (WIDTH,), 1, 0, None)
        p.add(name + "up", (inputs * MLP_WIDTH, WIDTH), 0, INIT_DEVIATION, 0.0)
        p.add(name + "down", (WIDTH, MLP_WIDTH), 0, residual, 0.0)
    p.add("transformer.norm", (WIDTH,), 1, 0, None)
    return p


# --- input interfaces: the whole V x D matrix, then rows of it -------------------------------------------


def lev_matrix(p):
    k, d, h, kappa, r = (LEV[x] for x in ("k", "d", "h", "kappa", "r"))
    b = lev_base()
    token = torch.arange(VOCABULARY)
    seed = 0
    for j in range(k):  # most significant digit first
        digit = token // b ** (k - 1 - j) % b
        seed = seed + p["embedding.lev.codebooks"][j * b + digit]
    out = 0
    for l in range(h):
        rows = slice(l * d, (l + 1) * d)
        y = seed @ p["embedding.lev.mix"][rows].T
        y = torch.nn.functional.layer_norm(y, (d,), p["embedding.lev.gain"][rows],
                                           p["embedding.lev.bias"][rows], 1e-5)
        z = torch.sigmoid(0.5 * y)
        knots = torch.arange(kappa) / (kappa - 1)
        t = (z[:, :, None] - knots).abs() * (kappa - 1)
        weight = torch.where(t < 0.5, 0.75 - t**2,
                             torch.where(t < 1.5, 0.5 * (1.5 - t) ** 2, torch.zeros_like(t)))
        weight = weight / weight.sum(-1, keepdim=True).clamp_min(1e-12)
        phi = torch.einsum("vdm,dmq->vdq", weight, p["embedding.lev.spline"][rows])
        out = out + phi.prod(1) @ p["embedding.lev.out"][l * r : (l + 1) * r]
    return out


def affine_map(bits, seed):
    """Rows drawn until they have full rank over GF(2), then the shift."""
    stream, index = stream_of("embedding.binary_code.recoding"), 0

    def draw():
        nonlocal index
        index += 1
        return int(words(seed, stream, index - 1)[0]) & ((1 << bits) - 1)

    while True:
        rows = [draw() for _ in range(bits)]
        left, rank = list(rows), 0
        for bit in range(bits):
            pivot = next((r for r in left if r >> bit & 1), None)
            if pivot is None:
                break
            left.remove(pivot)
            left = [r ^ pivot if r >> bit & 1 else r for r in left]
            rank += 1
        if rank == bits:
            return rows, draw()


def code_matrix(affine):
    bits = (VOCABULARY - 1).bit_length()
    table = torch.zeros(VOCABULARY, WIDTH)
    rows, shift = affine_map(bits, AFFINE_SEED) if affine else (None, 0)
    for token in range(VOCABULARY):
        code = token
        if affine:
            code = 0
            for row in rows:  # the first row gives the most significant bit
                code = code << 1 | bin(row & token).count("1") % 2
            code ^= shift
        for c in range(WIDTH):
            table[token, c] = code >> (bits - 1 - c % bits) & 1
    return table


def input_matrix(interface, p):
    if interface == "tied":
        return p["head.weight"]
    if interface == "untied":
        return p["embedding.untied.table"]
    if interface == "lev":
        return lev_matrix(p)
    return code_matrix(interface == "binary_code_affine")


# --- the transformer -----------------------------------------------------------------------------------


def rms_norm(x, weight):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + NORM_EPSILON) * weight


def rope(x):
    """x [B H T E]; element i is turned together with i + E/2."""
    t_count, width = x.shape[-2:]
    half = width // 2
    frequency = ROPE_BASE ** (-torch.arange(half) * 2.0 / width)
    angle = torch.arange(t_count)[:, None] * frequency
    cos, sin = torch.cos(angle), torch.sin(angle)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def mean_loss(interface, mlp, heads, kv_heads, window, qk_norm, p, ids, targets):
    head_width = WIDTH // heads
    kv_width = kv_heads * head_width
    x = input_matrix(interface, p)[ids]
    b_count, t_count = ids.shape
    for l in range(LAYERS):
        w = {part: p[f"transformer.{l}.{part}"]
             for part in ("attention_norm", "qkv", "out", "mlp_norm", "up", "down")}
        qkv = rms_norm(x, w["attention_norm"]) @ w["qkv"].T
        q, k, v = (part.reshape(b_count, t_count, -1, head_width).transpose(1, 2)
                   for part in qkv.split([WIDTH, kv_width, kv_width], -1))
        if qk_norm:
            q = rms_norm(q, p[f"transformer.{l}.q_norm"])
            k = rms_norm(k, p[f"transformer.{l}.k_norm"])
        # Query head h reads key and value head h // (heads / kv_heads).
        mine = torch.arange(heads) // (heads // kv_heads)
        k, v = k[:, mine], v[:, mine]
        logits = rope(q) @ rope(k).transpose(-1, -2) / math.sqrt(head_width)
        back = torch.arange(t_count)[:, None] - torch.arange(t_count)  # from query to key
        unseen = back < 0
        if window > 0 and l % 2 == 0:
            unseen = unseen | (back >= window)
        o = torch.softmax(logits.masked_fill(unseen, -math.inf), -1) @ v
        x = x + o.transpose(1, 2).reshape(b_count, t_count, WIDTH) @ w["out"].T
        up = rms_norm(x, w["mlp_norm"]) @ w["up"].T
        if mlp == "swiglu":
            gate, up = up.split(MLP_WIDTH, -1)
            hidden = gate * torch.sigmoid(gate) * up
        else:
            inner = math.sqrt(2 / math.pi) * (up + 0.044715 * up**3)
            hidden = 0.5 * up * (1 + torch.tanh(inner))
        x = x + hidden @ w["down"].T
    logits = rms_norm(x, p["transformer.norm"]) @ p["head.weight"].T
    return torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))


# --- training --------------------------------------------------------------------------------------------


def learning_rate(step):
    if step < WARMUP:
        return PEAK * step / WARMUP
    last = PEAK * FINAL_FRACTION
    done = (step - WARMUP) / (STEPS - WARMUP)
    return last + 0.5 * (PEAK - last) * (1 + math.cos(math.pi * done))


def run(interface, mlp, heads, kv_heads, window, qk_norm):
    p = declare(interface, mlp, heads, kv_heads, qk_norm)
    text = torch.tensor(tokens())
    m = {name: torch.zeros_like(value) for name, value in p.items()}
    v = {name: torch.zeros_like(value) for name, value in p.items()}
    losses, norms = [], []
    for step in range(1, STEPS + 1):
        begin = (step - 1) * SEQUENCES * CONTEXT
        count = SEQUENCES * CONTEXT
        ids = text[begin : begin + count].reshape(SEQUENCES, CONTEXT)
        targets = text[begin + 1 : begin + count + 1].reshape(SEQUENCES, CONTEXT)
        loss = mean_loss(interface, mlp, heads, kv_heads, window, qk_norm, p, ids, targets)
        gradient = dict(zip(p, torch.autograd.grad(loss, list(p.values()))))
        norm = math.sqrt(sum(float((g * g).sum()) for g in gradient.values()))
        scale = CLIP_NORM / norm if norm > CLIP_NORM else 1.0
        rate = learning_rate(step)
        with torch.no_grad():
            for name, value in p.items():
                g = gradient[name] * scale
                m[name] = BETA1 * m[name] + (1 - BETA1) * g
                v[name] = BETA2 * v[name] + (1 - BETA2) * g * g
                m_hat = m[name] / (1 - BETA1**step)
                v_hat = v[name] / (1 - BETA2**step)
                update = m_hat / (torch.sqrt(v_hat) + EPSILON)
                if p.target[name] is not None:
                    update = update + WEIGHT_DECAY * (value - p.target[name])
                value -= rate * update
        losses.append(float(loss.detach()))
        norms.append(norm)
    return losses, norms, {name: float(torch.sqrt((value.detach()**2).sum())) for name, value in p.items()}


def main():
    print("// Written by make_golden_torch.py (PyTorch, fp64); not by hand.")
    print("#pragma once\n\n#include <vector>\n\nnamespace golden {\n")
    print("struct Norm {\n  const char* name;\n  double value;\n};\n")
    print("struct Run {\n  const char* interface;\n  const char* mlp;")
    print("  int heads, kv_heads;")
    print("  int window;  // of the first layer; 0: none")
    print("  bool qk_norm;")
    print("  std::vector<double> losses;          // nats a token, before each step's update")
    print("  std::vector<double> gradient_norms;  // before clipping")
    print("  std::vector<Norm> final_norms;       // of each parameter after the last step\n};\n")
    print("inline const std::vector<Run> runs = {")
    for interface, mlp, heads, kv_heads, window, qk_norm in RUNS:
        losses, norms, final = run(interface, mlp, heads, kv_heads, window, qk_norm)
        print(f'    {{"{interface}",\n     "{mlp}",\n     {heads},\n     {kv_heads},')
        print(f'     {window},\n     {str(qk_norm).lower()},')
        for row in (losses, norms):
            texts = [f"{x:.17g}" for x in row]
            groups = [", ".join(texts[i : i + 4]) for i in range(0, STEPS, 4)]
            print("     {" + ",\n      ".join(groups) + "},")
        print("     {" + ",\n      ".join(f'{{"{n}", {x:.17g}}}' for n, x in final.items()) + "}},")
    print("};\n\n}  // namespace golden")


if __name__ == "__main__":
    main()
