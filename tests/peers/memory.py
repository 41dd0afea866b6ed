"""What a training step holds beside its weights: gc's arena, and the peaks of PyTorch and of JAX for the same net.

    memory.py BUILD [NET…]               also memory.py --torch NET, a child process of it

All three train in f32 with the same optimizer; weights, moments and the batch do not count, gradients do.
- gc: `arena_bytes` of the plan, and the lower bound of its order.
- PyTorch on the CPU, eager, each net in a process of its own: the peak of its allocator (from the profiler's record
  of every allocation in the second step; the first has one sample), and how far the process's resident set grows in that step above what it
  held before (the kernel's own high-water mark, set back before; scratch memory of libraries is in it).
  relu works in place, attention is scaled_dot_product_attention, the LSTM is nn.LSTM.
- JAX: `memory_analysis()` of the compiled step on the CPU with weights and moments donated: temporaries, and outputs
  that are not in place.
"""
import ctypes
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NETS = {  # file of the net, its -D, and its name in a table
    "resnet50": ("docs/examples/resnet50.g", {"N": 32}, "ResNet-50, 32 images of 224 x 224"),
    "vgg": ("docs/examples/vgg.g", {"N": 32}, "VGG-A, 32 images of 224 x 224"),
    "lstm4": ("tests/peers/lstm4.g", {}, "LSTM 4 x 1,024, 50 steps, batch 64"),
    "gpt2": ("docs/examples/gpt2.g", {"B": 4, "T": 1024}, "GPT-2 124M, 4 x 1,024 tokens"),
}


def gc_bytes(gc, file, defines):
    began = time.time()
    done = subprocess.run([gc, ROOT / file, "-O2", "--dump-plan=json", *(f"-D{k}={v}" for k, v in defines.items())],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    entry = next(e for e in json.loads(done.stdout)["entries"] if e["name"] == "train")
    return entry["arena_bytes"], entry["lower_bound_bytes"], time.time() - began


# ---- PyTorch ----


def torch_step(name):
    import torch
    from torch import nn
    from torch.nn import functional as F

    import nets

    class Lstm4(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.lstm = nn.Embedding(128, 1024), nn.LSTM(1024, 1024, 4, batch_first=True)
            self.out = nn.Linear(1024, 128)

        def forward(self, tokens):
            return self.out(self.lstm(self.embed(tokens))[0])

    if name in ("resnet50", "vgg"):
        net = nets.Resnet50() if name == "resnet50" else nets.Vgg()
        x, target = torch.randint(0, 256, (32, 3 * 224 * 224), dtype=torch.uint8), torch.randint(0, 1000, (32,))
        optimizer, clip = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, weight_decay=1e-4), None
    elif name == "lstm4":
        net = Lstm4()
        x, target = torch.randint(0, 128, (64, 50)), torch.randint(0, 128, (64 * 50,))
        optimizer, clip = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9), None
    else:
        net = nets.Gpt2()
        x, target = torch.randint(0, 50257, (4, 1024)), torch.randint(0, 50257, (4 * 1024,))
        optimizer, clip = torch.optim.AdamW(net.parameters(), 6e-4, (0.9, 0.95), weight_decay=0.1), 1.0

    def step(part=slice(None)):
        logits = net(x[part])
        F.cross_entropy(logits.flatten(0, -2), target[: logits.numel() // logits.shape[-1]]).backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


def torch_child(name):
    import torch
    from torch.profiler import ProfilerActivity, profile

    step = torch_step(name)
    step(slice(1))  # one sample makes the moments, and what libraries keep
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark begins anew
    before = status("VmRSS")
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    grown = status("VmHWM") - before
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = 0
    for e in sorted(events, key=lambda e: e.start_ns()):
        now += e.nbytes()
        peak = max(peak, now)
    print(json.dumps({"version": torch.__version__, "peak": peak, "grown": grown, "left": now, "events": len(events)}))


def torch_bytes(name):
    done = subprocess.run([sys.executable, __file__, "--torch", name], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    if sys.argv[1] == "--torch":
        return torch_child(sys.argv[2])
    import jax

    import jax_nets

    build = Path(sys.argv[1]).resolve()
    print("| net, one training step in f32; MB = 2^20 bytes | gc: arena | lower bound | planned in "
          "| PyTorch: allocator | resident set | JAX |\n|---|---|---|---|---|---|---|")
    good, versions = True, set()
    for name in sys.argv[2:] or NETS:
        file, defines, title = NETS[name]
        arena, bound, seconds = gc_bytes(build / "bin/gc", file, defines)
        jaxes, torch = jax_nets.step_bytes(name), torch_bytes(name)
        versions.add(f"PyTorch {torch['version']}, JAX {jax.__version__}")
        mb = [f"{b / 2**20:,.1f}" for b in (arena, bound, torch["peak"], torch["grown"], jaxes)]
        print(f"| {title} | {mb[0]} | {mb[1]} | {seconds:.1f} s | {mb[2]} | {mb[3]} | {mb[4]} |", flush=True)
        good &= arena < min(torch["peak"], torch["grown"], jaxes) and arena == bound
    print("\n" + ", ".join(versions))
    sys.exit(0 if good else 1)


main()
