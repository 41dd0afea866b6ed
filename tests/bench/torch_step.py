#!/usr/bin/env python3
"""One training step of docs/examples' models in PyTorch, for tests/bench/run.sh.

    OMP_NUM_THREADS=T torch_step.py mnist|chars SECONDS

Prints the median and the least time of a step in microseconds. The batch starts as bytes, as gc's does.
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(784, 256), nn.Linear(256, 10)

    def forward(self, image):
        return self.fc2(F.relu(self.fc1(image.float() / 255)))


class Chars(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(128, 32)
        self.fc1, self.fc2, self.out = nn.Linear(512, 512), nn.Linear(512, 512), nn.Linear(512, 128)

    def forward(self, context):
        x = self.embed(context.long()).flatten(1)
        return self.out(F.relu(self.fc2(F.relu(self.fc1(x)))))


def main():
    which, seconds = sys.argv[1], float(sys.argv[2])
    torch.manual_seed(0)
    if which == "mnist":
        model, x, y = Mnist(), torch.randint(0, 256, (64, 784), dtype=torch.uint8), torch.randint(0, 10, (64,))
    else:
        model, x, y = Chars(), torch.randint(0, 128, (128, 16), dtype=torch.uint8), torch.randint(0, 128, (128,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"{times[len(times) // 2] * 1e6:.1f} {times[0] * 1e6:.1f}")


main()
