"""The examples of docs/examples as training.py trains them: nets, data, optimizers."""
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

import nets

ROOT = Path(__file__).resolve().parents[2]
STEPS = 20
random = np.random.default_rng()


def seed(name):
    """Data and weights of an example do not depend on those before it."""
    global random
    number = zlib.crc32(name.encode())
    random = np.random.default_rng(number)
    torch.manual_seed(number)


def images(n, size):
    """Bytes with structure: each image is a few smooth waves and noise."""
    x = np.linspace(0, 1, size)
    phase = random.uniform(0, 6, (n, 3, 1))
    waves = np.sin(phase[:, :1] + 25 * phase[:, 1:2] * x) + np.cos(phase[:, 2:] * 9 * x)
    return np.clip(128 + 45 * waves + random.normal(0, 20, (n, 3, size)).mean(1, keepdims=True), 0, 255)[:, 0].astype(np.uint8)


def text(rows, length):
    """Windows of the tests' own text, and the characters that follow."""
    pages = (ROOT / "tests/prose.txt").read_bytes()
    at = random.integers(0, len(pages) - length - 1, rows)
    window = np.stack([np.frombuffer(pages[a : a + length + 1], np.uint8) for a in at])
    return window[:, :-1], window[:, 1:]


def labels(n, classes, dtype=np.uint8):
    return random.integers(0, classes, n).astype(dtype)


def noise(*shape):
    return random.normal(size=shape).astype(np.float32)


def adamw(lr, betas=(0.9, 0.999), decay=0.01):
    return lambda parameters: torch.optim.AdamW(parameters, lr, betas, weight_decay=decay)


def sgd(lr, decay):
    return lambda parameters: torch.optim.SGD(parameters, lr, momentum=0.9, weight_decay=decay)


def adam(lr, b1=0.9):
    return lambda parameters: torch.optim.Adam(parameters, lr, (b1, 0.999))


class Example:
    """net: the module; data: inputs by name, the last one holds the labels; prefix: where gc has its weights;
    edits: of the program's text, old and new."""

    def __init__(self, net, data, optimizer, prefix="net.", clip=None, edits=(), **defines):
        self.net, self.data, self.optimizer, self.prefix, self.clip = net, data, optimizer, prefix, clip
        self.edits, self.defines = edits, defines

    def loss(self, batch):
        """Cross entropy of the last input, unless a net has its own."""
        if hasattr(self.net, "loss"):
            return self.net.loss(*batch)
        logits = self.net(*batch[:-1])
        wanted = batch[-1].long().clamp(max=logits.shape[-1] - 1)
        return F.cross_entropy(logits.flatten(0, -2), wanted.flatten())

    def run(self, learn, batch):
        """Calls learn(loss, part) for each loss of a step, part: the beginning of the names of what it trains."""
        if hasattr(self.net, "step"):
            return self.net.step(learn, *batch)
        loss = self.loss(batch)
        learn(loss)
        return loss

    def batch(self, step):
        rows = len(next(iter(self.data.values()))) // STEPS
        return [torch.from_numpy(x[step * rows : (step + 1) * rows]) for x in self.data.values()]


def digits(n):
    return {"image": images(n, 784), "label": labels(n, 10)}


def large(n, size):
    return {"image": images(n, 3 * size * size), "label": labels(n, 10, np.int32)}


def chars():
    context, following = text(STEPS * 128, 16)
    return {"context": context, "next": following[:, -1].copy()}


def windows(first, rows, length):
    return dict(zip([first, "next"], text(rows, length)))


def tokens(rows, length, n):
    t = random.integers(0, n, (rows, length + 1)).astype(np.int32)
    return {"tokens": t[:, :-1].copy(), "next": t[:, 1:].copy()}


def small_branches(net):
    """Blocks that begin near the identity (Goyal et al. 2017 begin at it). Otherwise 50 normalisations, the last ones
    over 32 numbers, blow the rounding of f32 up to a tenth of some gradients, PyTorch's as much as gc's."""
    for name, p in net.named_parameters():
        if name.endswith("c3.bn.g"):
            torch.nn.init.constant_(p, 0.1)
    return net


EXAMPLES = {
    "mnist": lambda: Example(nets.Mnist(), digits(STEPS * 64), adamw(1e-3)),
    "chars": lambda: Example(nets.Chars(), chars(), adamw(1e-3)),
    "lenet": lambda: Example(nets.Lenet(), digits(STEPS * 50), adamw(2e-3)),
    "lstm": lambda: Example(nets.Lstm(), windows("chars", STEPS * 32, 64), adamw(2e-3), clip=1.0),
    "seq2seq": lambda: Example(nets.Seq2seq(), {"chars": text(STEPS * 32, 32)[0]}, adam(3e-3), clip=1.0),
    # what gc draws itself becomes an input, so that both see the same
    "vae": lambda: Example(nets.Vae(), {"image": images(STEPS * 64, 784), "noise": noise(STEPS * 64, 16)}, adam(1e-3),
                           edits=[("def net(x : f32[n, 784])", "def net(x : f32[n, 784], noise)"),
                                  ("normal(shape = [n, Z])", "noise"), ("net(f32(image) / 255)", "net(f32(image) / 255, noise)"),
                                  ("train(image : u8[n <= N, 784])", "train(image : u8[n <= N, 784], noise : f32[n, Z])"),
                                  ("validate(image : u8[n <= N, 784])", "validate(image : u8[n <= N, 784], noise : f32[n, Z])")]),
    "dcgan": lambda: Example(nets.Dcgan(), {"image": images(STEPS * 64, 784), "noise": noise(STEPS * 64, 64)}, adam(2e-4, 0.5),
                             prefix="", edits=[("normal(shape = [n, Z])", "noise"),
                                               ("train(image : u8[n <= N, 784])", "train(image : u8[n <= N, 784], noise : f32[n, Z])")]),
    "gpt": lambda: Example(nets.Gpt(), windows("context", STEPS * 32, 64), adamw(1e-3, (0.9, 0.99), 0.1),
                           prefix="gpt.", clip=1.0, drop=0),
    "gpt2": lambda: Example(nets.Gpt2(N=64, V=5000, L=4, H=6, C=192), tokens(STEPS * 4, 64, 5000),
                            adamw(6e-4, (0.9, 0.95), 0.1), prefix="gpt.", clip=1.0, N=64, V=5000, L=4, H=6, C=192),
    "resnet20": lambda: Example(nets.Resnet20(), {"image": images(STEPS * 32, 3072), "label": labels(STEPS * 32, 10)},
                                sgd(0.1, 5e-4), N=32),
    # the example's rate is meant for batches of 256
    "resnet50": lambda: Example(small_branches(nets.Resnet50(64, 10)), large(STEPS * 8, 64), sgd(0.01, 1e-4),
                                edits=[("hyper lr = 0.1", "hyper lr = 0.01")], N=8, S=64, classes=10),
    "inception_bn": lambda: Example(nets.InceptionBn(64, 10), large(STEPS * 8, 64), sgd(0.05, 1e-4), N=8, S=64, classes=10),
    "vgg": lambda: Example(nets.Vgg(32, 10, 256), large(STEPS * 8, 32), sgd(0.01, 5e-4), N=8, S=32, classes=10, width=256),
}
