#!/usr/bin/env python3
"""One training step of docs/examples' models in PyTorch, for tests/bench/run.sh.

    OMP_NUM_THREADS=T torch_step.py mnist|chars|lstm|gpt|gpt2 SECONDS [compile]

Prints the median and the least time of a step in microseconds. The batch starts as integers, as gc's does.
What this version of PyTorch has is used: fused attention, the fused AdamW, `compile` for torch.compile.
"""
import math
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


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(128, 256)
        self.layers = nn.LSTM(256, 256, 2, batch_first=True)
        self.out = nn.Linear(256, 128)

    def forward(self, chars):
        return self.out(self.layers(self.embed(chars.long()))[0])


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    t = q.shape[-2]
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]))
    return F.softmax(scores.masked_fill(torch.ones(t, t).triu(1).bool(), -math.inf), -1) @ v


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.c_attn(self.ln_1(x)).split(c, 2))
        x = x + self.c_proj(attention(q, k, v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):  # gpt2.g at any size: the head is the table of tokens
    def __init__(self, tokens, positions, layers, heads, width):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(positions, width)
        self.h = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(width)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        return self.ln_f(self.h(x)) @ self.wte.weight.t()


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
    which, seconds, compiled = sys.argv[1], float(sys.argv[2]), sys.argv[3:] == ["compile"]
    torch.manual_seed(0)
    model, x, y, clip = workload(which)
    parameters = list(model.parameters())
    try:
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    except (TypeError, RuntimeError):
        optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    forward = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
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
