"""The nets of docs/examples a second time, in PyTorch.

Modules carry the names that gc gives to parameters, so that a state_dict is a weight file of gc's and the
other way round. Weights of products are [in, out], as gc's.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

from corners import leaky_relu, max_pool, relu


class Linear(nn.Module):
    def __init__(self, d, units, bias=True):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d, units) * math.sqrt(2 / (d + units)))
        self.b = nn.Parameter(torch.zeros(units)) if bias else None

    def forward(self, x):
        return F.linear(x, self.w.T, self.b)


class Embed(nn.Module):
    def __init__(self, n, d, std=1.0):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n, d) * std)

    def forward(self, ids):
        return F.embedding(ids.long(), self.w)


class Conv(nn.Module):
    def __init__(self, c, out, k, stride=1, pad=None, bias=True):
        super().__init__()
        self.w = nn.Parameter(torch.randn(out, c, k, k) * math.sqrt(2 / (c * k * k)))
        self.b = nn.Parameter(torch.zeros(out)) if bias else None
        self.stride, self.pad = stride, k // 2 if pad is None else pad

    def forward(self, x):
        return F.conv2d(x, self.w, self.b, self.stride, self.pad)


class Bn(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))
        self.register_buffer("running_mean", torch.zeros(c))
        self.register_buffer("running_var", torch.ones(c))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.g, self.b, True, 0.1, 1e-5)


class RmsNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return F.rms_norm(x, self.g.shape, self.g, 1e-6)


def known_chars(c):
    return c.long().clamp(max=127)


# ---- digits and text ----


class Mnist(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = Linear(784, 256), Linear(256, 10)

    def forward(self, image):
        return self.fc2(relu(self.fc1(self.as_float(image) / 255)))

    def as_float(self, image):
        return image.to(next(self.parameters()).dtype)


class Lenet(Mnist):
    def __init__(self):
        nn.Module.__init__(self)
        self.c1, self.c2 = Conv(1, 6, 5), Conv(6, 16, 5, pad=0)
        self.f3, self.f4, self.f5 = Linear(400, 120), Linear(120, 84), Linear(84, 10)

    def forward(self, image):
        x = (self.as_float(image) / 255).reshape(-1, 1, 28, 28)
        x = max_pool(relu(self.c1(x)), 2)
        x = max_pool(relu(self.c2(x)), 2).flatten(1)
        return self.f5(relu(self.f4(relu(self.f3(x)))))


class Chars(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = Embed(128, 32)
        self.fc1, self.fc2, self.out = Linear(512, 512), Linear(512, 512), Linear(512, 128)

    def forward(self, context):
        x = self.embed(known_chars(context)).flatten(1)
        return self.out(relu(self.fc2(relu(self.fc1(x)))))


class Layer(nn.Module):
    """One layer of lstm.g: columns i, f, g, o."""

    def __init__(self, d, units):
        super().__init__()
        self.below = Linear(d, 4 * units)
        self.cell = nn.ModuleDict({"h": Linear(units, 4 * units, bias=False)})
        self.units = units

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.units)
        hs = []
        for t in range(x.shape[1]):
            i, f, g, o = (self.below(x[:, t]) + self.cell["h"](h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            hs.append(h)
        return torch.stack(hs, 1)


class Lstm(nn.Module):
    def __init__(self, V=128, D=64, H=256):
        super().__init__()
        self.embedded = nn.ModuleDict({"embed": Embed(V, D)})
        self.l1, self.l2, self.out = Layer(D, H), Layer(H, H), Linear(H, V)

    def forward(self, chars):
        return self.out(self.l2(self.l1(self.embedded["embed"](known_chars(chars)))))


class LstmCell(nn.Module):
    """The prelude's lstm."""

    def __init__(self, d, units):
        super().__init__()
        self.wx = nn.Parameter(torch.randn(d, 4 * units) / math.sqrt(d))
        self.wh = nn.Parameter(torch.randn(units, 4 * units) / math.sqrt(units))
        self.b = nn.Parameter(torch.zeros(4 * units))

    def forward(self, x, h, c):
        i, f, g, o = (x @ self.wx + h @ self.wh + self.b).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Seq2seq(nn.Module):
    """An encoder in both directions, and a decoder that looks at all of it; parts by name, as in seq2seq.g."""

    def __init__(self, V=128, D=32, H=128):
        super().__init__()
        self.encoder = nn.ModuleDict({"chars": Embed(V, D), "forth": LstmCell(D, H), "back": LstmCell(D, H)})
        self.decoder = nn.ModuleDict({
            "chars": Embed(V, D), "cell": LstmCell(D, H), "query": Linear(H, 2 * H, bias=False),
            "mix": Linear(3 * H, H), "out": Linear(H, V)})
        self.H = H

    def encode(self, x):
        e, steps = self.encoder, x.shape[1]
        zero = x.new_zeros(x.shape[0], self.H)
        both = []
        for name, order in (("forth", range(steps)), ("back", range(steps - 1, -1, -1))):
            h, c, rows = zero, zero, {}
            for t in order:
                h, c = e[name](x[:, t], h, c)
                rows[t] = h
            both.append(torch.stack([rows[t] for t in range(steps)], 1))
        return torch.cat(both, -1)

    def loss(self, chars):
        d, chars = self.decoder, known_chars(chars)
        lost = torch.isin(chars, torch.tensor([ord(c) for c in "AEIOUaeiou"]))
        seen = self.encode(self.encoder["chars"](torch.where(lost, ord("_"), chars)))
        h = c = seen.new_zeros(seen.shape[0], self.H)
        last, loss = torch.full_like(chars[:, 0], ord(" ")), 0
        for t in range(chars.shape[1]):
            h, c = d["cell"](d["chars"](last), h, c)
            look = torch.softmax((seen @ d["query"](h)[:, :, None])[:, :, 0], -1)
            found = (look[:, None] @ seen)[:, 0]
            logits = d["out"](torch.tanh(d["mix"](torch.cat([h, found], -1))))
            last = chars[:, t]
            loss = loss + F.cross_entropy(logits, last) / chars.shape[1]
        return loss


class Vae(nn.Module):
    def __init__(self, Z=16, H=400):
        super().__init__()
        self.encoder = nn.ModuleDict({"hidden": Linear(784, H), "mean": Linear(H, Z), "logvar": Linear(H, Z)})
        self.decoder = nn.ModuleDict({"hidden": Linear(Z, H), "pixels": Linear(H, 784)})

    def loss(self, image, noise):
        e, d = self.encoder, self.decoder
        x = image.to(e["hidden"].w.dtype) / 255
        h = relu(e["hidden"](x))
        mean, logvar = e["mean"](h), e["logvar"](h)
        z = mean + torch.exp(logvar / 2) * noise.to(x.dtype)
        rebuilt = 784 * F.binary_cross_entropy_with_logits(d["pixels"](relu(d["hidden"](z))), x)
        return rebuilt + (torch.exp(logvar) + mean**2 - 1 - logvar).sum() / (2 * len(x))


class ConvTranspose(nn.Module):
    def __init__(self, c, out, k, bias=True):
        super().__init__()
        self.w = nn.Parameter(torch.randn(c, out, k, k) * math.sqrt(2 / (out * k * k)))
        self.b = nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x):
        return F.conv_transpose2d(x, self.w, self.b, stride=2, padding=1)


class Dcgan(nn.Module):
    def __init__(self, Z=64, C=32):
        super().__init__()
        self.generator = nn.ModuleDict({
            "seed": Linear(Z, 98 * C, bias=False), "n1": Bn(2 * C), "up1": ConvTranspose(2 * C, C, 4, bias=False),
            "n2": Bn(C), "up2": ConvTranspose(C, 1, 4)})
        self.critic = nn.ModuleDict({
            "c1": Conv(1, C, 4, 2, 1), "c2": Conv(C, 2 * C, 4, 2, 1, bias=False), "n2": Bn(2 * C), "out": Linear(98 * C, 1)})

    def generate(self, z):
        g = self.generator
        x = g["seed"](z).reshape(len(z), -1, 7, 7)
        return torch.tanh(g["up2"](relu(g["n2"](g["up1"](relu(g["n1"](x)))))))

    def judge(self, x, wanted):
        c = self.critic
        x = leaky_relu(c["c1"](x), 0.2)
        x = c["out"](leaky_relu(c["n2"](c["c2"](x)), 0.2).flatten(1))
        return F.binary_cross_entropy_with_logits(x, torch.full_like(x, wanted))

    def step(self, learn, image, noise):
        dtype = self.critic["c1"].w.dtype
        real = (image.to(dtype) / 127.5 - 1).reshape(-1, 1, 28, 28)
        fake = self.generate(noise.to(dtype))
        learn(self.judge(real, 1) + self.judge(fake.detach(), 0), "critic.")
        loss = self.judge(fake, 1)  # by the critic that has just learned
        learn(loss, "generator.")
        return loss


# ---- transformers ----


def heads(x, n):
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


def rotate(x):
    """Pairs of numbers turned by angles that grow with the position."""
    t, d = x.shape[-2:]
    speed = torch.exp(torch.arange(d // 2, dtype=x.dtype) * (-2 * math.log(10000) / d))
    angle = torch.arange(t, dtype=x.dtype)[:, None] * speed
    u, v = x.chunk(2, -1)
    return torch.cat([u * angle.cos() - v * angle.sin(), u * angle.sin() + v * angle.cos()], -1)


class Attend(nn.Module):
    def __init__(self, c, n):
        super().__init__()
        self.heads = nn.ModuleDict({"qkv": Linear(c, 3 * c)})
        self.proj, self.n = Linear(c, c), n

    def forward(self, x):
        q, k, v = (heads(y, self.n) for y in self.heads["qkv"](x).chunk(3, -1))
        y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up, self.down = Linear(c, 4 * c), Linear(4 * c, c)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class GptBlock(nn.Module):
    def __init__(self, c, n):
        super().__init__()
        self.n1, self.n2, self.attn, self.mlp = RmsNorm(c), RmsNorm(c), Attend(c, n), Mlp(c)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class Gpt(nn.Module):
    """gpt.g without dropout (-D drop=0): its masks are gc's own random numbers."""

    def __init__(self, V=128, L=4, H=4, C=128):
        super().__init__()
        self.chars = Embed(V, C, 0.1)
        self.h = nn.ModuleList(GptBlock(C, H) for _ in range(L))
        self.n, self.out = RmsNorm(C), Linear(C, V)

    def forward(self, context):
        x = self.chars(known_chars(context))
        for block in self.h:
            x = block(x)
        return self.out(self.n(x))


class Dense(nn.Module):
    def __init__(self, d, units, std=0.02):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d, units) * std)
        self.bias = nn.Parameter(torch.zeros(units))

    def forward(self, x):
        return F.linear(x, self.weight.T, self.bias)


class Gpt2Attn(nn.Module):
    def __init__(self, c, n, std):
        super().__init__()
        self.c_attn, self.c_proj, self.n = Dense(c, 3 * c), Dense(c, c, std), n

    def forward(self, x):
        q, k, v = (heads(y, self.n) for y in self.c_attn(x).chunk(3, -1))
        return self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Gpt2Mlp(nn.Module):
    def __init__(self, c, std):
        super().__init__()
        self.c_fc, self.c_proj = Dense(c, 4 * c), Dense(4 * c, c, std)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Gpt2Block(nn.Module):
    def __init__(self, c, n, std):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.attn, self.mlp = Gpt2Attn(c, n, std), Gpt2Mlp(c, std)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    def __init__(self, N=1024, V=50257, L=12, H=12, C=768):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(N, C)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.h = nn.ModuleList(Gpt2Block(C, H, 0.02 / math.sqrt(2 * L)) for _ in range(L))
        self.ln_f = nn.LayerNorm(C)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


# ---- images ----


class Images(nn.Module):
    """Nets whose images are bytes [N, 3 S S]."""

    def __init__(self, S):
        super().__init__()
        self.S = S

    def planes(self, image):
        x = image.to(next(self.parameters()).dtype) / 127.5 - 1
        return x.reshape(-1, 3, self.S, self.S)


class PreBlock(nn.Module):
    def __init__(self, c, out, stride):
        super().__init__()
        self.n1, self.n2 = Bn(c), Bn(out)
        self.c1, self.c2 = Conv(c, out, 3, stride, bias=False), Conv(out, out, 3, bias=False)
        self.skip = Conv(c, out, 1, stride, bias=False) if stride != 1 or c != out else None

    def forward(self, x):
        y = relu(self.n1(x))
        skip = self.skip(y) if self.skip else x
        return skip + self.c2(relu(self.n2(self.c1(y))))


class Resnet20(Images):
    def __init__(self, S=32, depth=3):
        super().__init__(S)
        self.stem = Conv(3, 16, 3, bias=False)
        self.stage, c = nn.ModuleList(), 16
        for s in range(3):
            blocks = nn.ModuleList()
            for i in range(depth):
                blocks.append(PreBlock(c, 16 * 2**s, 2 if s > 0 and i == 0 else 1))
                c = 16 * 2**s
            self.stage.append(blocks)
        self.n, self.head = Bn(c), Linear(c, 10)

    def forward(self, image):
        x = self.stem(self.planes(image))
        for stage in self.stage:
            for block in stage:
                x = block(x)
        return self.head(relu(self.n(x)).mean((2, 3)))


class ConvBn(nn.Module):
    def __init__(self, c, out, k=1, stride=1, pad=None):
        super().__init__()
        self.conv, self.bn = Conv(c, out, k, stride, pad, bias=False), Bn(out)

    def forward(self, x):
        return self.bn(self.conv(x))


class Bottleneck(nn.Module):
    def __init__(self, c, mid, stride):
        super().__init__()
        self.c1, self.c2, self.c3 = ConvBn(c, mid), ConvBn(mid, mid, 3, stride), ConvBn(mid, 4 * mid)
        self.skip = ConvBn(c, 4 * mid, 1, stride) if stride != 1 or c != 4 * mid else None

    def forward(self, x):
        y = self.c3(relu(self.c2(relu(self.c1(x)))))
        y += self.skip(x) if self.skip else x
        return relu(y)


class Resnet50(Images):
    def __init__(self, S=224, classes=1000):
        super().__init__(S)
        self.stem = ConvBn(3, 64, 7, 2)
        self.layer, c = nn.ModuleList(), 64
        for s, blocks in enumerate([3, 4, 6, 3]):
            stage = nn.ModuleList()
            for i in range(blocks):
                stage.append(Bottleneck(c, 64 * 2**s, 2 if s > 0 and i == 0 else 1))
                c = 256 * 2**s
            self.layer.append(stage)
        self.head = Linear(c, classes)

    def forward(self, image):
        x = max_pool(relu(self.stem(self.planes(image))), 3, 2, 1)
        for stage in self.layer:
            for block in stage:
                x = block(x)
        return self.head(x.mean((2, 3)))


class Cbr(ConvBn):
    def __init__(self, c, out, k=1, stride=1, pad=0):
        super().__init__(c, out, k, stride, pad)

    def forward(self, x):
        return relu(super().forward(x))


class Mixed(nn.Module):
    def __init__(self, c, n1, r3, n3, rd, nd, np, largest=False):
        super().__init__()
        self.a1, self.b1, self.b2 = Cbr(c, n1), Cbr(c, r3), Cbr(r3, n3, 3, pad=1)
        self.c1, self.c2, self.c3 = Cbr(c, rd), Cbr(rd, nd, 3, pad=1), Cbr(nd, nd, 3, pad=1)
        self.d1, self.largest = Cbr(c, np), largest
        self.out = n1 + n3 + nd + np

    def forward(self, x):
        pool = max_pool if self.largest else F.avg_pool2d
        return torch.cat([self.a1(x), self.b2(self.b1(x)), self.c3(self.c2(self.c1(x))), self.d1(pool(x, 3, 1, 1))], 1)


class Halved(nn.Module):
    def __init__(self, c, r3, n3, rd, nd):
        super().__init__()
        self.b1, self.b2 = Cbr(c, r3), Cbr(r3, n3, 3, 2, 1)
        self.c1, self.c2, self.c3 = Cbr(c, rd), Cbr(rd, nd, 3, pad=1), Cbr(nd, nd, 3, 2, 1)
        self.out = n3 + nd + c

    def forward(self, x):
        pool = max_pool(x, 3, 2, x.shape[2] % 2, ceil=True)
        return torch.cat([self.b2(self.b1(x)), self.c3(self.c2(self.c1(x))), pool], 1)


class InceptionBn(Images):
    PARTS = [
        ("m3a", Mixed, 64, 64, 64, 64, 96, 32), ("m3b", Mixed, 64, 64, 96, 64, 96, 64),
        ("m3c", Halved, 128, 160, 64, 96),
        ("m4a", Mixed, 224, 64, 96, 96, 128, 128), ("m4b", Mixed, 192, 96, 128, 96, 128, 128),
        ("m4c", Mixed, 160, 128, 160, 128, 160, 128), ("m4d", Mixed, 96, 128, 192, 160, 192, 128),
        ("m4e", Halved, 128, 192, 192, 256),
        ("m5a", Mixed, 352, 192, 320, 160, 224, 128), ("m5b", Mixed, 352, 192, 320, 192, 224, 128, True),
    ]

    def __init__(self, S=224, classes=1000):
        super().__init__(S)
        self.s1, self.s2, self.s3 = Cbr(3, 64, 7, 2, 3), Cbr(64, 64), Cbr(64, 192, 3, pad=1)
        c = 192
        for name, kind, *counts in self.PARTS:
            self.add_module(name, kind(c, *counts))
            c = getattr(self, name).out
        self.head = Linear(c, classes)

    def forward(self, image):
        x = max_pool(self.s1(self.planes(image)), 3, 2, ceil=True)
        x = max_pool(self.s3(self.s2(x)), 3, 2, ceil=True)
        for name, *_ in self.PARTS:
            x = getattr(self, name)(x)
        return self.head(x.mean((2, 3)))


class Vgg(Images):
    def __init__(self, S=224, classes=1000, width=4096):
        super().__init__(S)
        self.conv, c = nn.ModuleList(), 3
        for depth, channels in zip([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]):
            stage = nn.ModuleList()
            for _ in range(depth):
                stage.append(Conv(c, channels, 3))
                c = channels
            self.conv.append(stage)
        self.f1, self.f2 = Linear(c * (S // 32) ** 2, width), Linear(width, width)
        self.f3 = Linear(width, classes)

    def forward(self, image):
        x = self.planes(image)
        for stage in self.conv:
            for conv in stage:
                x = relu(conv(x))
            x = max_pool(x, 2)
        return self.f3(relu(self.f2(relu(self.f1(x.flatten(1))))))
