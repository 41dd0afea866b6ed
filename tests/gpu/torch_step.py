#!/usr/bin/env python3
"""What tests/gpu/run.sh measures of PyTorch on a GPU: one JSON object a line.

    torch_step.py step mnist|chars f32|tf32|bf16      a training step: eager, compiled, each as a CUDA graph
    torch_step.py product M N K f32|tf32|bf16         a product by cuBLAS, replayed as a CUDA graph
    torch_step.py copy ELEMENTS                       a device copy and relu(0.5 x + y), bytes a second

Times are medians of CUDA events around replays; the batch lies on the device as bytes, as gc's does.
"""
import json
import pathlib
import statistics
import sys

import torch
from torch.nn import functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from torch_models import Chars, Mnist


def say(**row):
    print(json.dumps(row), flush=True)


def microseconds(run, times=200, group=10):
    for _ in range(20):
        run()
    samples = []
    for _ in range(times):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(group):
            run()
        b.record()
        b.synchronize()
        samples.append(a.elapsed_time(b) * 1e3 / group)
    return statistics.median(samples), min(samples)


def captured(run):
    """The same work as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def step(which, precision):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    if which == "mnist":
        model, rows, width, classes = Mnist(), 64, 784, 10
        x = torch.randint(0, 256, (rows, width), dtype=torch.uint8, device="cuda")
    else:
        model, rows, width, classes = Chars(), 128, 16, 128
        x = torch.randint(0, 128, (rows, width), dtype=torch.uint8, device="cuda")
    y = torch.randint(0, classes, (rows,), device="cuda")
    model.cuda()

    def forward(x, y):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16"):
            return F.cross_entropy(model(x).float(), y)

    for name, loss_of in (("eager", forward), ("torch.compile", torch.compile(forward))):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True, fused=True)

        def run():
            optimizer.zero_grad(set_to_none=False)
            loss_of(x, y).backward()
            optimizer.step()

        for graph in (False, True):
            try:
                median, least = microseconds(captured(run) if graph else run)
                say(what=f"{which} step", precision=precision, how=name + (", CUDA graph" if graph else ""),
                    microseconds=median, least=least)
            except Exception as e:  # a peer that does not run is said, not left out in silence
                say(what=f"{which} step", precision=precision, how=name + (", CUDA graph" if graph else ""),
                    error=str(e).splitlines()[0][:200])


def product(m, n, k, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(k, n, device="cuda", dtype=dtype)
    c = torch.empty(m, n, device="cuda", dtype=dtype)
    median, least = microseconds(captured(lambda: torch.mm(a, b, out=c)), 50, 5)
    say(what=f"product {m}x{n}x{k}", precision=precision, how="cuBLAS", microseconds=median, least=least,
        tflops=2e-6 * m * n * k / median)


def copy(n):
    x, y, z = (torch.ones(n, device="cuda") for _ in range(3))
    median, least = microseconds(lambda: z.copy_(x), 30, 3)
    say(what="device copy", how="PyTorch", microseconds=median, least=least, gigabytes=8e-3 * n / median)
    fused = torch.compile(lambda x, y: torch.relu(0.5 * x + y))
    median, least = microseconds(lambda: fused(x, y), 30, 3)
    say(what="relu(0.5 x + y)", how="torch.compile", microseconds=median, least=least, gigabytes=12e-3 * n / median)


if not torch.cuda.is_available():
    sys.exit("torch_step.py: PyTorch sees no GPU")
if sys.argv[1] == "step":
    step(*sys.argv[2:4])
elif sys.argv[1] == "product":
    product(*map(int, sys.argv[2:5]), sys.argv[5])
else:
    copy(int(sys.argv[2]))
