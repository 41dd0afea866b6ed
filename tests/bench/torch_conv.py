#!/usr/bin/env python3
"""Convolutions in PyTorch (oneDNN), for tests/bench/run.sh: the shapes of conv.c.

    OMP_NUM_THREADS=T torch_conv.py [PART_OF_A_NAME]

Prints for each the GFLOP/s of the convolution, its gradient by the images and by the filters: the best of
repeated runs, and of both memory formats. Taps in the padding count as work.
"""
import sys
import time

import torch

SHAPES = [
    ("56x56x64", 32, 64, 56, 64, 3, 1, 1), ("28x28x128", 32, 128, 28, 128, 3, 1, 1),
    ("14x14x256", 32, 256, 14, 256, 3, 1, 1), ("7x7x512", 32, 512, 7, 512, 3, 1, 1),
    ("stem 7x7/2", 32, 3, 224, 64, 7, 2, 1), ("1x1 256-64", 32, 256, 56, 64, 1, 1, 1),
    ("32x32x16", 128, 16, 32, 16, 3, 1, 1), ("8x8x64", 128, 64, 8, 64, 3, 1, 1),
    ("16x16x32", 128, 32, 16, 32, 3, 1, 1), ("1x1 512-256 at 14", 32, 512, 14, 256, 1, 1, 1),
    ("3x3/2 128", 32, 128, 56, 128, 3, 2, 1), ("depthwise 96", 32, 96, 56, 96, 3, 1, 96),
]


def best(call, flops):
    # one thread is measured by its own time, as conv.c does
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    least, end, runs = 1e9, now() + 0.5, 0
    while runs < 5 or now() < end:
        start = now()
        call()
        least = min(least, now() - start)
        runs += 1
    return flops / least * 1e-9


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} thread(s), GFLOP/s: forward, by the images, by the filters")
    for name, n, c, h, k, r, stride, groups in SHAPES:
        if part not in name:
            continue
        pad, found = r // 2, [0.0, 0.0, 0.0]
        out = (h + 2 * pad - r) // stride + 1
        flops = 2 * n * k * out * out * (c // groups) * r * r
        for form in (torch.contiguous_format, torch.channels_last):
            x = torch.rand(n, c, h, h).contiguous(memory_format=form)
            w = torch.rand(k, c // groups, r, r).contiguous(memory_format=form)
            dy = torch.rand(n, k, out, out).contiguous(memory_format=form)
            back = lambda *mask: torch.ops.aten.convolution_backward(
                dy, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], groups, list(mask))
            calls = (lambda: torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups),
                     lambda: back(True, False, False), lambda: back(False, True, False))
            with torch.no_grad():
                for i, call in enumerate(calls):
                    found[i] = max(found[i], best(call, flops))
        print(f"{name:18s} {found[0]:8.1f} {found[1]:8.1f} {found[2]:8.1f}", flush=True)


main()
