"""The peer of job `packing`: the published experiment's step, written plainly in PyTorch.

Reads {dimension, count, power, learning_rate, steps, threads} from standard input as
JSON and prints the seconds of each step, the first left out. compare.py runs it.
"""
import json
import sys
import time

import torch


def main():
    cell = json.load(sys.stdin)
    torch.set_num_threads(cell["threads"])
    torch.manual_seed(1)
    vectors = torch.randn(cell["dimension"], cell["count"])
    vectors = (vectors / vectors.norm(dim=0)).requires_grad_()
    optimizer = torch.optim.Adam([vectors], lr=cell["learning_rate"])
    identity = torch.eye(cell["count"])
    seconds = []
    for _ in range(cell["steps"]):
        start = time.perf_counter()
        unit = vectors / vectors.norm(dim=0)
        loss = ((unit.T @ unit - identity).abs() ** cell["power"]).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds[1:], "version": "PyTorch " + torch.__version__}))


if __name__ == "__main__":
    main()
