"""Trains each example of docs/examples for 20 steps by gc and by PyTorch and compares them.

    training.py BUILD [EXAMPLE…]

Both begin with the same weights (a safetensors file that PyTorch writes and gc reads) and see the same batches
(.npy, not shuffled). PyTorch trains twice, in f32 and in f64. The table gives
- of losses the largest relative difference of the 20,
- of weights the largest difference within a tensor over that tensor's largest element, for the worst tensor,
- the distance between all weights over the way that they went in the 20 steps ("of the way").
An example is "equal" where gc and PyTorch's f32 differ by at most 1e-4 in losses and in the worst tensor. Where
training itself blows rounding up (a gradient near 0 that Adam divides by its size, a relu at its corner), no two
orders of summation can be; then losses and the way must be within 1e-4 of f64, or at most three times as far
from it as PyTorch's f32 is, since both distances are draws of chance: "rounding".
"""
import csv
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

import nets

ROOT = Path(__file__).resolve().parents[2]
STEPS, LIMIT = 20, 1e-4
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
    """Windows of this project's own pages, and the characters that follow."""
    pages = b"".join(p.read_bytes() for p in sorted((ROOT / "docs").glob("*.md")))
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
    """net: the module; data: inputs by name, the last one holds the labels; prefix: where gc has its weights; lr: where
    it is not the example's own; edits: of the program's text, old and new."""

    def __init__(self, net, data, optimizer, prefix="net.", clip=None, lr=None, edits=(), **defines):
        self.net, self.data, self.optimizer, self.prefix, self.clip = net, data, optimizer, prefix, clip
        self.lr, self.edits, self.defines = lr, edits, defines

    def loss(self, batch):
        """Cross entropy of the last input, unless a net has its own."""
        if hasattr(self.net, "loss"):
            return self.net.loss(*batch)
        logits = self.net(*batch[:-1])
        wanted = batch[-1].long().clamp(max=logits.shape[-1] - 1)
        return F.cross_entropy(logits.flatten(0, -2), wanted.flatten())


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
                                  ("train(image : u8[N, 784])", "train(image : u8[N, 784], noise : f32[N, Z])"),
                                  ("validate(image : u8[N, 784])", "validate(image : u8[N, 784], noise : f32[N, Z])")]),
    "dcgan": lambda: Example(nets.Dcgan(), {"image": images(STEPS * 64, 784), "noise": noise(STEPS * 64, 64)}, adam(2e-4, 0.5),
                             prefix="", edits=[("normal(shape = [N, Z])", "noise"),
                                               ("train(image : u8[N, 784])", "train(image : u8[N, 784], noise : f32[N, Z])")]),
    "gpt": lambda: Example(nets.Gpt(), windows("context", STEPS * 32, 64), adamw(1e-3, (0.9, 0.99), 0.1),
                           prefix="gpt.", clip=1.0, drop=0),
    "gpt2": lambda: Example(nets.Gpt2(N=64, V=5000, L=4, H=6, C=192), tokens(STEPS * 4, 64, 5000),
                            adamw(6e-4, (0.9, 0.95), 0.1), prefix="gpt.", clip=1.0, N=64, V=5000, L=4, H=6, C=192),
    # At their own rates, 0.01 to 0.1, the deep nets blow rounding up to tenths of the way in 20 steps of so few images,
    # in PyTorch's f32 against f64 as well: nothing can be compared then.
    "resnet20": lambda: Example(nets.Resnet20(), {"image": images(STEPS * 32, 3072), "label": labels(STEPS * 32, 10)},
                                sgd(0.005, 5e-4), lr=0.005, N=32),
    "resnet50": lambda: Example(nets.Resnet50(64, 10), large(STEPS * 8, 64), sgd(0.001, 1e-4), lr=0.001,
                                N=8, S=64, classes=10),
    "inception_bn": lambda: Example(nets.InceptionBn(64, 10), large(STEPS * 8, 64), sgd(0.001, 1e-4), lr=0.001,
                                    N=8, S=64, classes=10),
    "vgg": lambda: Example(nets.Vgg(32, 10, 256), large(STEPS * 8, 32), sgd(0.0005, 5e-4), lr=0.0005,
                           N=8, S=32, classes=10, width=256),
}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def compile_example(build, work, name, defines, edits=()):
    text = (ROOT / f"docs/examples/{name}.g").read_text()
    for old, new in edits:
        assert old in text, f"{name}.g does not have '{old}' any more"
        text = text.replace(old, new)
    (work / f"{name}.g").write_text(text)
    run(build / "bin/gc", work / f"{name}.g", "-O2", "-o", work / name,
        *(a for k, v in defines.items() for a in ("-D", f"{k}={v}")))
    return work / name


def write_inputs(work, name, data):
    options = []
    for key, value in data.items():
        np.save(work / f"{name}.{key}.npy", value)
        options += [f"--{key}", work / f"{name}.{key}.npy"]
    return options


def train_gc(build, work, name, example):
    program = compile_example(build, work, name, example.defines, example.edits)
    start, end, log = (work / f"{name}.{x}" for x in ("start", "end", "log"))
    # contiguous: PyTorch may hold a tensor in another order
    save_file({f"{example.prefix}{k}": v.contiguous() for k, v in example.net.state_dict().items()}, start)
    run(program, "train", *write_inputs(work, name, example.data), "--steps", STEPS, "--no-shuffle",
        "--load", start, "--save", end, "--log", log, "--quiet", *(["--lr", example.lr] if example.lr else []))
    with open(log) as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert len(losses) == STEPS, losses
    weights = load_file(end)
    return losses, {k: weights[f"{example.prefix}{k}"].double() for k in example.net.state_dict()}


def train_torch(net, example, start, dtype):
    net.load_state_dict(start)
    net.to(dtype)
    optimizer = example.optimizer(net.parameters())
    batch = len(next(iter(example.data.values()))) // STEPS
    losses = []
    for step in range(STEPS):
        rows = [torch.from_numpy(x[step * batch : (step + 1) * batch]) for x in example.data.values()]
        optimizer.zero_grad()
        if hasattr(net, "step"):  # several optimizers
            losses.append(net.step(optimizer, *rows).item())
            continue
        loss = example.loss(rows)
        loss.backward()
        if example.clip:
            norm = torch.sqrt(sum((p.grad**2).sum() for p in net.parameters()))
            for p in net.parameters():
                p.grad *= torch.clamp(example.clip / norm, max=1)
        optimizer.step()
        losses.append(loss.item())
    return losses, {k: v.double() for k, v in net.state_dict().items()}


def loss_distance(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b))


def weight_distance(a, b):
    return max((((a[k] - b[k]).abs().max() / b[k].abs().max()).item(), k) for k in b)


def way(a, b, start):
    apart, gone = (sum(((x[k] - y[k]) ** 2).sum() for k in b) for x, y in ((a, b), (b, start)))
    return torch.sqrt(apart / gone).item()


def report(name, gc, f32, f64, start):
    """One row of the table; true where the example passes."""
    pairs = (gc, f32), (gc, f64), (f32, f64)
    loss = [loss_distance(a[0], b[0]) for a, b in pairs]
    weight = [weight_distance(a[1], b[1]) for a, b in pairs]
    gone = [way(a[1], b[1], start) for a, b in pairs[1:]]
    equal = loss[0] <= LIMIT and weight[0][0] <= LIMIT
    rounding = loss[1] <= max(3 * loss[2], LIMIT) and gone[0] <= max(3 * gone[1], LIMIT)
    print(f"| {name} | {f64[0][0]:.3f}, {f64[0][-1]:.3f} | {loss[0]:.0e} | {loss[1]:.0e}, {loss[2]:.0e} "
          f"| {weight[0][0]:.0e} `{weight[0][1]}` | {weight[1][0]:.0e}, {weight[2][0]:.0e} "
          f"| {gone[0]:.0e}, {gone[1]:.0e} | {'equal' if equal else 'rounding' if rounding else 'DIFFERENT'} |", flush=True)
    return equal or rounding


def compare(build, work, name):
    seed(name)
    example = EXAMPLES[name]()
    start = {k: v.clone() for k, v in example.net.state_dict().items()}
    gc = train_gc(build, work, name, example)
    results = [train_torch(example.net, example, start, dtype) for dtype in (torch.float32, torch.float64)]
    return report(name, gc, *results, start)


def compare_perceptron(build, work):
    """perceptron.g trains nothing: it returns two gradients, here for 20 batches."""
    name = "perceptron"
    seed(name)
    x, label = noise(STEPS * 64, 100), labels(STEPS * 64, 10)
    start = {"w1": torch.randn(100, 80) / 10, "w2": torch.randn(80, 10) / 9}
    save_file(start, work / "perceptron.start")
    program = compile_example(build, work, name, {})
    run(program, "step", *write_inputs(work, name, {"x": x, "label": label}), "--load", work / "perceptron.start",
        "--dw1", work / "dw1.npy", "--dx", work / "dx.npy", "--quiet")

    def gradients(dtype):
        dw1, dx = [], []
        for step in range(STEPS):
            rows = slice(step * 64, (step + 1) * 64)
            w1, w2 = (start[k].to(dtype, copy=True).requires_grad_() for k in start)
            input = torch.from_numpy(x[rows]).to(dtype, copy=True).requires_grad_()
            p = torch.softmax(torch.sigmoid(input @ w1) @ w2, -1)
            loss = (p.log() * F.one_hot(torch.from_numpy(label[rows]).long(), 10)).sum()
            loss.backward()
            dw1.append(w1.grad), dx.append(input.grad)
        return [1.0], {"dw1": torch.stack(dw1).double(), "dx": torch.cat(dx).double()}

    shapes = {"dw1": (STEPS, 100, 80), "dx": (STEPS * 64, 100)}
    gc = {k: torch.from_numpy(np.load(work / f"{k}.npy")).double().reshape(s) for k, s in shapes.items()}
    return report(name, ([1.0], gc), gradients(torch.float32), gradients(torch.float64),
                  {k: torch.zeros(1) for k in gc})


def main():
    build = Path(sys.argv[1]).resolve()
    work = build / "peers-work"
    work.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}\n")
    print("| example | first, last loss | losses: gc to f32 | gc, f32 to f64 | worst tensor: gc to f32 | gc, f32 to f64 "
          "| of the way: gc, f32 to f64 | |\n|---|---|---|---|---|---|---|---|")
    good = True
    for name in sys.argv[2:] or ["perceptron", *EXAMPLES]:
        good &= compare_perceptron(build, work) if name == "perceptron" else compare(build, work, name)
    sys.exit(0 if good else 1)


main()
