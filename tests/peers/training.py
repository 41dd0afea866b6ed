"""Trains each example of docs/examples for 20 steps by gc and by PyTorch and compares them.

    training.py BUILD [EXAMPLE…]

Both begin with the same weights (a safetensors file that PyTorch writes and gc reads) and see the same batches
(.npy, not shuffled). gc stops after each step and goes on from its checkpoint. The table gives
- of each of the 20 steps by itself (steps.py): the worst gradient of a tensor, the worst weight or moment after the
  step, the worst loss, and how many corners were met in how many steps; all must be within 1e-4, "each step",
- of the 20 steps in one go the worst loss, and the distance between all weights over the way that they went, gc's and
  that of PyTorch's f32 from PyTorch's f64. Where losses and the worst tensor of gc and of PyTorch's f32 are within
  1e-4 as well, "all steps".
"""
import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import examples
from examples import EXAMPLES, ROOT, STEPS
from steps import LIMIT, State, Worst, away, clipped, compare_step


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


def save(tensors, file, prefix=""):
    # contiguous: PyTorch may hold a tensor in another order
    save_file({f"{prefix}{k}": v.contiguous() for k, v in tensors.items()}, file)


def train_gc(build, work, name, example):
    """Trains step by step, following each; the losses, the state at the end, and the worst of all steps."""
    program = compile_example(build, work, name, example.defines, example.edits)
    inputs = write_inputs(work, name, example.data)
    start, old, new, log = (work / f"{name}.{x}" for x in ("start", "old", "new", "log"))
    save(example.net.state_dict(), start, example.prefix)
    optimizer = example.optimizer(example.net.parameters())
    losses, worst, before = [], Worst(), State(start, example, optimizer)
    for step in range(STEPS):
        begin = ["--resume", old] if step else ["--load", start]
        run(program, "train", *inputs, *begin, "--steps", step + 1, "--no-shuffle", "--checkpoint", new, "--log", log, "--quiet")
        with open(log) as file:
            losses.append(float(list(csv.DictReader(file))[-1]["loss"]))
        after = State(new, example, optimizer)
        assert after.steps == step + 1
        compare_step(example, before, after, example.batch(step), losses[-1], worst)
        before = after
        os.replace(new, old)
    old.unlink()
    return losses, after.net, worst


def train_torch(example, start, dtype):
    net = example.net
    net.to(dtype).load_state_dict(start)
    optimizer = example.optimizer(net.parameters())

    def learn(loss, part=""):
        params = [p for k, p in net.named_parameters() if k.startswith(part)]
        optimizer.zero_grad()
        for p, g in zip(params, clipped(torch.autograd.grad(loss, params, retain_graph=bool(part)), example.clip)):
            p.grad = g
        optimizer.step()

    losses = [example.run(learn, example.batch(step)).item() for step in range(STEPS)]
    return losses, {k: v.double() for k, v in net.state_dict().items()}


def loss_distance(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b))


def way(a, b, start):
    apart, gone = (sum(((x[k] - y[k]) ** 2).sum() for k in b) for x, y in ((a, b), (b, start)))
    return torch.sqrt(apart / gone).item()


def report(name, worst, gc, f32, f64, start):
    """One row of the table; true where the example passes."""
    all_steps = loss_distance(gc[0], f32[0]) <= LIMIT and max(away(gc[1][k], f32[1][k]) for k in f32[1]) <= LIMIT
    verdict = ("all steps" if all_steps else "each step") if worst.good() else "DIFFERENT"
    loss = [loss_distance(a[0], f64[0]) for a in (gc, f32)]
    gone = [way(a[1], f64[1], start) for a in (gc, f32)]
    print(f"| {name} | {gc[0][0]:.3f}, {gc[0][-1]:.3f} | {worst.gradient[0]:.0e} {worst.gradient[1]}, {worst.f32_gradient[0]:.0e} "
          f"| {worst.state[0]:.0e} {worst.state[1]} | {worst.loss[0]:.0e} | {worst.corners} in {worst.steps_at_corners} "
          f"| {loss[0]:.0e}, {loss[1]:.0e} | {gone[0]:.0e}, {gone[1]:.0e} | {verdict} |", flush=True)
    return worst.good()


def compare(build, work, name):
    examples.seed(name)
    example = EXAMPLES[name]()
    start = {k: v.clone() for k, v in example.net.state_dict().items()}
    losses, weights, worst = train_gc(build, work, name, example)
    return report(name, worst, (losses, weights), *(train_torch(example, start, t) for t in (torch.float32, torch.float64)), start)


def compare_perceptron(build, work):
    """perceptron.g trains nothing: it returns two gradients, here for 20 batches."""
    name = "perceptron"
    examples.seed(name)
    x, label = examples.noise(STEPS * 64, 100), examples.labels(STEPS * 64, 10)
    start = {"w1": torch.randn(100, 80) / 10, "w2": torch.randn(80, 10) / 9}
    save(start, work / "perceptron.start")
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
        return {"dw1": torch.stack(dw1).double(), "dx": torch.cat(dx).double()}

    shapes = {"dw1": (STEPS, 100, 80), "dx": (STEPS * 64, 100)}
    gc = {k: torch.from_numpy(np.load(work / f"{k}.npy")).double().reshape(s) for k, s in shapes.items()}
    f32, f64 = gradients(torch.float32), gradients(torch.float64)
    worst = Worst()
    for k in shapes:
        worst.see("gradient", away(gc[k], f64[k]), f"`{k}`")
        worst.see("f32_gradient", away(f32[k], f64[k]), f"`{k}`")
    print(f"| {name} (two gradients, 20 batches) | | {worst.gradient[0]:.0e} {worst.gradient[1]}, {worst.f32_gradient[0]:.0e} "
          f"| | | | | | {'each step' if worst.good() else 'DIFFERENT'} |", flush=True)
    return worst.good()


def main():
    build = Path(sys.argv[1]).resolve()
    work = build / "peers-work"
    work.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}\n")
    print("| example | first, last loss | each step: gradient, gc's and f32's | state | loss | at corners "
          "| 20 steps: loss, gc's and f32's | of the way, gc's and f32's | |\n|---|---|---|---|---|---|---|---|---|")
    good = True
    for name in sys.argv[2:] or ["perceptron", *EXAMPLES]:
        good &= compare_perceptron(build, work) if name == "perceptron" else compare(build, work, name)
    sys.exit(0 if good else 1)


main()
