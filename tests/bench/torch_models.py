"""docs/examples' models in PyTorch, as it likes them best: for the measurements here and on a GPU."""
import math

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
