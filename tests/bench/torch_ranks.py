#!/usr/bin/env python3
"""Training steps of docs/examples' nets on ranks of PyTorch's DistributedDataParallel over Gloo, for tests/bench/ranks.sh.

    torch_ranks.py lenet|resnet20|gpt RANKS BATCH SECONDS

Prints the median and the least time of a step in microseconds, of rank 0; the batch is that of all ranks, and each has
one thread. Gradients are views of their buckets, and the graph is said to be static, which are the faster ways. Batch
norm has the statistics of each rank's rows: PyTorch has those of all rows on GPUs alone.
"""
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))


def workload(which, rows):
    """The model, a batch, its optimizer, and the norm that gradients are clipped to."""
    from torch_nets import FORM, Lenet, Resnet20, fused
    byte = dict(dtype=torch.uint8)
    if which == "gpt":
        from nets import Gpt
        model = Gpt()
        return (model, torch.randint(0, 128, (rows, 64), **byte), torch.randint(0, 128, (rows, 64)),
                fused(torch.optim.AdamW, model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1), 1.0)
    model = (Lenet() if which == "lenet" else Resnet20()).to(memory_format=FORM)
    x = torch.randint(0, 256, (rows, 784 if which == "lenet" else 3072), **byte)
    optimizer = (fused(torch.optim.AdamW, model.parameters(), lr=2e-3) if which == "lenet" else
                 fused(torch.optim.SGD, model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4))
    return model, x, torch.randint(0, 10, (rows,)), optimizer, None


def rank(me, which, ranks, batch, seconds):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29511"))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=me, world_size=ranks)
    model, x, y, optimizer, clip = workload(which, batch // ranks)
    ranked = DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)

    def step():
        optimizer.zero_grad(set_to_none=False)  # buckets stay where they are
        loss = F.cross_entropy(ranked(x).flatten(0, -2), y.flatten())
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    step()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(3):
        step()
    most = torch.tensor([seconds / max((time.perf_counter() - start) / 3, 1e-6)])
    dist.all_reduce(most, dist.ReduceOp.MIN)  # all take as many steps
    times = []
    for _ in range(max(5, int(most))):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    times.sort()
    if me == 0:
        print(f"{times[len(times) // 2] * 1e6:.1f} {times[0] * 1e6:.1f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    which, ranks, batch, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.multiprocessing.spawn(rank, (which, ranks, batch, seconds), nprocs=ranks)
