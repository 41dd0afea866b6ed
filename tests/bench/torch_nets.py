#!/usr/bin/env python3
"""One training step of docs/examples' convolutional nets in PyTorch, for tests/bench/run.sh.

    OMP_NUM_THREADS=T torch_nets.py lenet|resnet20 SECONDS [contiguous] [compile] [autocast]

Prints the median and the least time of a step in microseconds. The batch starts as bytes, as gc's does. Images lie
[N, H, W, C] (channels_last), which is the faster of both formats for these nets, unless `contiguous` is given.
What this version of PyTorch has is used: its fused optimizers, `compile` for torch.compile,
`autocast` for bf16 where PyTorch takes it.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

FORM = torch.contiguous_format if "contiguous" in sys.argv else torch.channels_last


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.f3, self.f4, self.f5 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, image):
        x = (image.float() / 255).view(-1, 1, 28, 28).contiguous(memory_format=FORM)
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2).flatten(1)
        return self.f5(F.relu(self.f4(F.relu(self.f3(x)))))


class Block(nn.Module):
    def __init__(self, inner, out, stride):
        super().__init__()
        self.n1, self.n2 = nn.BatchNorm2d(inner), nn.BatchNorm2d(out)
        self.c1 = nn.Conv2d(inner, out, 3, stride, 1, bias=False)
        self.c2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        plain = stride == 1 and inner == out
        self.skip = nn.Identity() if plain else nn.Conv2d(inner, out, 1, stride, bias=False)
        self.plain = plain

    def forward(self, x):
        y = F.relu(self.n1(x))
        skip = x if self.plain else self.skip(y)
        return skip + self.c2(F.relu(self.n2(self.c1(y))))


class Resnet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, blocks, inner = nn.Conv2d(3, 16, 3, 1, 1, bias=False), [], 16
        for stage in range(3):
            for i in range(3):
                out = 16 * 2**stage
                blocks.append(Block(inner, out, 2 if stage > 0 and i == 0 else 1))
                inner = out
        self.blocks, self.n, self.head = nn.Sequential(*blocks), nn.BatchNorm2d(64), nn.Linear(64, 10)

    def forward(self, image):
        x = (image.float() / 127.5 - 1).view(-1, 3, 32, 32).contiguous(memory_format=FORM)
        return self.head(F.relu(self.n(self.blocks(self.stem(x)))).mean((2, 3)))


def fused(optimizer, parameters, **options):
    try:
        return optimizer(parameters, fused=True, **options)
    except (TypeError, RuntimeError):
        return optimizer(parameters, **options)


def main():
    which, seconds = sys.argv[1], float(sys.argv[2])
    torch.manual_seed(0)
    if which == "lenet":
        model, x = Lenet(), torch.randint(0, 256, (64, 784), dtype=torch.uint8)
        optimizer = fused(torch.optim.AdamW, model.parameters(), lr=2e-3)
    else:
        model, x = Resnet20(), torch.randint(0, 256, (128, 3072), dtype=torch.uint8)
        optimizer = fused(torch.optim.SGD, model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    model, y = model.to(memory_format=FORM), torch.randint(0, 10, (len(x),))
    forward = torch.compile(model) if "compile" in sys.argv else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in sys.argv):
            loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()

    step()  # compiles
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"{times[len(times) // 2] * 1e6:.1f} {times[0] * 1e6:.1f}")


if __name__ == "__main__":
    main()
