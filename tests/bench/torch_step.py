#!/usr/bin/env python3
"""One training step of docs/examples' models in PyTorch, for tests/bench/run.sh.

    OMP_NUM_THREADS=T torch_step.py mnist|chars|lstm|gpt|gpt2 SECONDS [compile] [autocast]

Prints the median and the least time of a step in microseconds. The batch starts as integers, as gc's does.
What this version of PyTorch has is used: fused attention, the fused AdamW, `compile` for torch.compile,
`autocast` for bf16 where PyTorch takes it.
"""
import sys
import time

import torch
from torch.nn import functional as F

from torch_models import Chars, Gpt, Lstm, Mnist


def workload(which):
    """The model, a batch, and the norm that gradients are clipped to."""
    byte = dict(dtype=torch.uint8)
    if which == "mnist":
        return Mnist(), torch.randint(0, 256, (64, 784), **byte), torch.randint(0, 10, (64,)), None
    if which == "chars":
        return Chars(), torch.randint(0, 128, (128, 16), **byte), torch.randint(0, 128, (128,)), None
    if which == "lstm":
        return Lstm(), torch.randint(0, 128, (32, 64), **byte), torch.randint(0, 128, (32, 64)), 1.0
    if which == "gpt":
        return Gpt(128, 128, 4, 4, 128), torch.randint(0, 128, (16, 128)), torch.randint(0, 128, (16, 128)), 1.0
    return Gpt(50257, 1024, 12, 12, 768), torch.randint(0, 50257, (4, 64)), torch.randint(0, 50257, (4, 64)), 1.0


def main():
    which, seconds = sys.argv[1], float(sys.argv[2])
    torch.manual_seed(0)
    model, x, y, clip = workload(which)
    parameters = list(model.parameters())
    try:
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    except (TypeError, RuntimeError):
        optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    forward = torch.compile(model) if "compile" in sys.argv else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in sys.argv):
            logits = forward(x)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        return loss

    for _ in range(2):
        step()
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"{times[len(times) // 2] * 1e6:.1f} {times[0] * 1e6:.1f}")


main()
