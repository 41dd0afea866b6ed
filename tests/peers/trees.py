"""Trainings with trees of params (trees.g) for 20 steps by gc and by PyTorch, compared.

    trees.py BUILD

Both begin with the weights that gc draws (--steps 0 --save) and see the same batches. PyTorch runs in f32 and in f64; what
PyTorch has itself is used: AveragedModel, parameter groups, clip_grad_norm_, GradScaler. The table gives the worst relative
difference of the outputs of all steps (losses, gradients' norms) from PyTorch's f64, gc's and that of PyTorch's f32, and
the distance of all weights and averages at the end over the way that they went. Both must be within 1e-4.
With f16 the two round differently: gc may be twice as far from f64 as PyTorch's f16 is, and the loss scales must be the same.
"""
import copy
import csv
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS, N, D, C, LR, LIMIT = 20, 32, 20, 10, 0.02, 1e-4
HERE = Path(__file__).resolve().parent


class Module(torch.nn.Module):
    """The params of a gc program below a path, by gc's names."""

    def __init__(self, tensors, path, dtype):
        super().__init__()
        self.paths = [k for k in tensors if k.startswith(path + ".")]
        for k in self.paths:
            self.register_parameter(k.replace(".", "_"), torch.nn.Parameter(tensors[k].to(dtype, copy=True)))
        self.path = path

    def __getitem__(self, name):
        return getattr(self, f"{self.path}.{name}".replace(".", "_"))

    def weights(self, prefix=""):
        return {prefix + k: getattr(self, k.replace(".", "_")).detach().double() for k in self.paths}


class Net(Module):
    def forward(self, x, to=lambda w: w):
        w = {k: to(self[k]) for k in ("fc1.w", "fc1.b", "ln.g", "ln.b", "fc2.w", "fc2.b")}
        h = F.layer_norm(x @ w["fc1.w"] + w["fc1.b"], w["ln.g"].shape, w["ln.g"], w["ln.b"], 1e-5)
        return torch.tanh(h) @ w["fc2.w"] + w["fc2.b"]


class Head(Module):
    def forward(self, z):
        return torch.tanh(z @ self["hidden.w"] + self["hidden.b"]) @ self["out.w"] + self["out.b"]


class Dense(Module):
    def forward(self, x):
        return x @ self["w"].detach() + x @ self["low.down"] @ self["low.up"]


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def average(start, dtype, batches):
    net = Net(start, "net", dtype)
    ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    ema.update_parameters(net)  # the first one copies
    optimizer = torch.optim.SGD(net.parameters(), LR, momentum=0.9)
    rows = []
    for x, y in batches:
        loss = F.mse_loss(net(x), y)
        step(optimizer, loss)
        ema.update_parameters(net)
        rows.append({"loss": loss.item(), "averaged": F.mse_loss(ema(x), y).item()})
    return rows, net.weights() | ema.module.weights("ema.")


def bootstrap(start, dtype, batches):
    student, head = Net(start, "student", dtype), Head(start, "head", dtype)
    teacher = AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(0.95))
    teacher.update_parameters(student)
    optimizer = torch.optim.Adam([*student.parameters(), *head.parameters()], LR / 10)
    rows = []
    for x, y in batches:
        with torch.no_grad():
            a, b = teacher(x), teacher(y)
        unlike = lambda p, t: (2 - 2 * F.cosine_similarity(p, t)).mean()
        loss = unlike(head(student(x)), b) + unlike(head(student(y)), a)
        step(optimizer, loss)
        teacher.update_parameters(student)
        rows.append({"loss": loss.item()})
    return rows, student.weights() | head.weights() | teacher.module.weights("teacher.")


def groups(start, dtype, batches):
    net = Net(start, "net", dtype)
    matrices = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.3}, {"params": others, "weight_decay": 0}], LR)
    rows = []
    for x, y in batches:
        loss = F.mse_loss(net(x), y)
        step(optimizer, loss)
        rows.append({"loss": loss.item()})
    return rows, net.weights()


def clipped(start, dtype, batches):
    net = Net(start, "net", dtype)
    optimizer = torch.optim.SGD(net.parameters(), LR, momentum=0.9)
    rows = []
    for x, y in batches:
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        size = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.3)
        optimizer.step()
        rows.append({"loss": loss.item(), "size": size.item()})
    return rows, net.weights()


def halves(start, dtype, batches, skips=None):
    """f32: weights of f32, a net of f16. f64: all of f64, which overflows nowhere: it skips the steps that it is told."""
    net = Net(start, "net", dtype)
    half = (lambda t: t) if skips else (lambda t: t.half())
    scaler = torch.amp.GradScaler("cpu", init_scale=4194304, growth_interval=4, enabled=not skips)
    optimizer = torch.optim.AdamW(net.parameters(), LR / 4)
    rows = []
    for k, (x, y) in enumerate(batches):
        scale = scaler.get_scale()
        loss = F.mse_loss(net(half(x), half).to(dtype), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        skipped = skips[k] if skips else not all(p.grad.isfinite().all() for p in net.parameters())
        rows.append({"loss": loss.item(), "used": scale, "skipped": float(skipped)})
        if not (skips and skipped):
            scaler.step(optimizer)
            scaler.update()
    return rows, net.weights()


def adapter(start, dtype, batches):
    a, b = Dense(start, "a", dtype), Dense(start, "b", dtype)
    optimizer = torch.optim.Adam([m[k] for m in (a, b) for k in ("low.down", "low.up")], LR / 4)
    rows = []
    for x, y in batches:
        loss = F.mse_loss(b(torch.tanh(a(x))), y)
        step(optimizer, loss)
        rows.append({"loss": loss.item()})
    return rows, a.weights() | b.weights()


def wrapped(start, dtype, batches):
    net = Net(start, "net", dtype)
    slow = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), LR / 4)
    rows = []
    for k, (x, y) in enumerate(batches):
        loss = F.mse_loss(net(x), y)
        step(optimizer, loss)
        rows.append({"loss": loss.item()})
        if (k + 1) % 5:
            continue
        with torch.no_grad():
            for p, s in zip(net.parameters(), slow.parameters()):
                s += 0.5 * (p - s)
                p.copy_(s)
    return rows, net.weights()


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}: {done.stdout}{done.stderr}")


def train_gc(program, work, entry, data):
    inputs = []
    for k, v in data.items():
        np.save(work / f"trees.{k}.npy", v)
        inputs += [f"--{k}", work / f"trees.{k}.npy"]
    log, end = work / "trees.csv", work / "trees.end"
    run(program, entry, *inputs, "--no-shuffle", "--steps", STEPS, "--log", log, "--save", end, "--quiet")
    with open(log) as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return rows, {k: v.double() for k, v in load_file(end).items()}


def outputs_apart(rows, exact):
    return max(abs(r[k] - e[k]) / max(abs(e[k]), 1e-30) for r, e in zip(rows, exact) for k in e if k not in ("used", "skipped"))


def way(weights, exact, start):
    """`start` has no averages: they begin as what they average."""
    begin = lambda k: start[k if k in start else k.split(".", 1)[1]].double()
    apart = sum(((weights[k] - exact[k]) ** 2).sum() for k in exact)
    gone = sum(((exact[k] - begin(k)) ** 2).sum() for k in exact)
    return torch.sqrt(apart / gone).item()


def compare(program, work, start, entry):
    random = np.random.default_rng(zlib.crc32(entry.__name__.encode()))
    width = D if entry is bootstrap else C
    x = random.normal(size=(STEPS * N, D)).astype(np.float32)
    y = np.tanh(x @ random.normal(size=(D, width)) / 3 + 0.1 * random.normal(size=(STEPS * N, width))).astype(np.float32)
    gc = train_gc(program, work, entry.__name__, {"x": x, "y": y})
    theirs = []
    for dtype in (torch.float32, torch.float64):
        batches = [[torch.from_numpy(v[k * N : (k + 1) * N]).to(dtype) for v in (x, y)] for k in range(STEPS)]
        told = [[r["skipped"] for r in theirs[0][0]]] if entry is halves and theirs else []
        theirs.append(entry(start, dtype, batches, *told))
    f32, f64 = theirs
    said = [outputs_apart(r[0], f64[0]) for r in (gc, f32)]
    gone = [way(r[1], f64[1], start) for r in (gc, f32)]
    if entry is halves:
        scales, skips = ([[r[k] for r in rows] for rows in (gc[0], f32[0])] for k in ("used", "skipped"))
        good = scales[0] == scales[1] and skips[0] == skips[1] and said[0] <= 2 * said[1] and gone[0] <= 2 * gone[1]
        more = f"{int(sum(skips[0]))} and {int(sum(skips[1]))} of {STEPS} steps skipped"
    else:
        good, more = said[0] <= LIMIT and gone[0] <= LIMIT, ""
    print(f"| {entry.__name__} | {gc[0][0]['loss']:.3f}, {gc[0][-1]['loss']:.3f} | {said[0]:.0e}, {said[1]:.0e} "
          f"| {gone[0]:.0e}, {gone[1]:.0e} | {more} | {'the same' if good else 'DIFFERENT'} |", flush=True)
    return good


def main():
    build = Path(sys.argv[1]).resolve()
    work = build / "peers-work"
    work.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    program = work / "trees"
    run(build / "bin/gc", HERE / "trees.g", "-O2", "-o", program)
    run(program, "average", "--steps", 0, "--save", work / "trees.start", "--quiet")
    start = {k: v for k, v in load_file(work / "trees.start").items() if not k.startswith(("ema.", "teacher."))}
    print(f"PyTorch {torch.__version__}\n")
    print("| training | first, last loss | outputs, gc's and f32's | of the way, gc's and f32's | | |\n|---|---|---|---|---|---|")
    good = True
    for entry in (average, bootstrap, groups, clipped, halves, adapter, wrapped):
        good &= compare(program, work, start, entry)
    sys.exit(0 if good else 1)


main()
