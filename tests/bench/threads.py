"""The share of barriers and of memory in a training step on many threads: a model, and what is measured on two.
  threads.py BUILD [ROUNDS [STEP...]]        steps: gpt2 gpt resnet50 resnet20 lstm lenet; default: all
On n threads a kernel takes the longer of its time on one thread by n times its balance, and of its memory traffic at the
bandwidth of n threads; a step takes that of its kernels, and a barrier's time for each that n threads need.
  time on one thread: --profile, scaled to --bench; balance: --print-schedules; barriers: the table of steps
  traffic: the operands, but no more than one thread's bandwidth brings in the kernel's time: the rest was in a cache
  bandwidth of one and two threads: a kernel that adds 1 to 64 Mi numbers; of more: as many times that of one, at most SOCKET
  a barrier: bench_barrier on two threads; on more two transfers of a line for each that arrives at it, in groups of eight
  above 16 threads"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

MANY, SOCKET = (8, 16, 64, 128), 300e9  # threads; bytes a second of a processor with eight channels of DDR5
SMALL_GPT = "L=4 H=4 C=128 V=128 N=128 T=128 B=16"
TOKENS, IMAGES = "--tokens few.bin --next few.bin+1", "--image %s.npy --label %s.npy"
STEPS = {  # the example, its lets, its data
    "gpt2": ("gpt2", "", TOKENS),
    "gpt": ("gpt2", SMALL_GPT, TOKENS),
    "resnet50": ("resnet50", "N=8", IMAGES % ("photo", "class")),
    "resnet20": ("resnet20", "", IMAGES % ("picture", "label")),
    "lstm": ("lstm", "D=256", "--chars text.bin --next text.bin+1"),
    "lenet": ("lenet", "", IMAGES % ("image", "label")),
}
TRIAD = "entry add(x : f32[67108864]) { return y = x + 1 }\n"


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=True).stdout


def npy(path, dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def make_data():
    for name, rows, columns in ("photo", 16, 150528), ("picture", 640, 3072), ("image", 640, 784):
        npy(name + ".npy", "|u1", (rows, columns), os.urandom(rows * columns))
    npy("label.npy", "|u1", (640,), bytes(i % 10 for i in range(640)))
    npy("class.npy", "<i4", (16,), struct.pack("<16i", *range(16)))
    with open("few.bin", "wb") as f:
        f.write(struct.pack("<32768i", *(i * i % 127 for i in range(32768))))
    with open("text.bin", "wb") as f:
        f.write(bytes(i * i % 127 for i in range(65536)))
    npy("x.npy", "<f4", (67108864,), bytes(4 * 67108864))


def least_us(program, entry, data, threads, many):
    out = run("./" + program, entry, *data, "--bench", str(many), "--threads", str(threads))
    return float(re.search(r"least ([0-9.]+) us", out).group(1))


def balances(schedules):
    """The balance of each kernel by its number of threads; that of two is the division of its units."""
    found = {}
    for line in schedules.splitlines()[1:]:
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        units = int(fields["units"])
        found[line.split()[1]] = dict(zip(MANY, map(float, fields["balance"].split(","))))
        found[line.split()[1]][2] = units / 2 / -(-units // 2)
    return found


def steps_of(source, entry):
    """Kernel and barrier of each step of the entry, by the table of the generated program."""
    table = re.search(r"GcStep (\w+)_steps\[\] = \{\n(.*?)\n\};", source, re.S)
    assert table and '"%s"' % entry in source
    row = r'\{(\w+), "[^"]*", "[^"]*", "[^"]*", \w+, \d+, (\d+), \w+, \d+, \d+, (\d+)'
    return [(kernel, int(barrier)) for kernel, barrier, _ in re.findall(row, table.group(2))]


def barrier_ns(two, n):
    arrivals = n if n <= 16 else 8 + -(-n // 8)
    return two * arrivals / 2


def model(kernels, n, bandwidth, barrier):
    seconds = memory = 0
    for time, bytes_, balance, _ in kernels:
        moved = min(bytes_, time * bandwidth(1))
        alone, all_ = time / (n * max(balance[n], 1 / n)), moved / bandwidth(n)
        seconds += max(alone, all_)
        memory += max(0, all_ - alone)
    waits = sum(b == 1 or (b > 1 and b % n != 0) for _, _, _, b in kernels) * barrier(n)
    return seconds + waits, waits, memory


def main():
    build, rounds = os.path.abspath(sys.argv[1]), int((sys.argv[2:3] or ["3"])[0])
    gc, root = build + "/bin/gc", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    names = sys.argv[3:] or list(STEPS)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        make_data()
        with open("add.g", "w") as f:
            f.write(TRIAD)
        run(gc, "add.g", "-O2", "-o", "add")
        us = {n: min(least_us("add", "add", ["--x", "x.npy"], n, 5) for _ in range(rounds)) for n in (1, 2)}
        rate = {n: 8 * 67108864 / (1e-6 * us[n]) for n in us}
        two = min(float(run(build + "/bin/bench_barrier", "2")) for _ in range(rounds))
        print("%.1f and %.1f GB/s on one and two threads, a barrier of two %.0f ns" % (rate[1] / 1e9, rate[2] / 1e9, two))
        bandwidth = lambda n: rate[n] if n <= 2 else min(n * rate[1], SOCKET)
        barrier = lambda n: 1e-9 * barrier_ns(two, n)
        for name in names:
            example, lets, data = STEPS[name]
            options = [w for let in lets.split() for w in ("-D", let)]
            path, data = "%s/docs/examples/%s.g" % (root, example), data.split()
            run(gc, path, "-O2", "-o", name, *options)
            steps = steps_of(run(gc, path, "-O2", "--emit=c", "-o", "-", *options), "train")
            balance = balances(run(gc, path, "-O2", "--target=cpu", "--print-schedules", *options))
            run("./" + name, "train", *data, "--threads", "1", "--steps", "4", "--profile", "trace.json", "--quiet")
            with open("trace.json") as f:
                trace = json.load(f)
            events = [e for e in (trace if isinstance(trace, list) else trace["traceEvents"]) if e["ph"] == "X" and "bytes" in e["args"]]
            runs = [events[i:i + len(steps)] for i in range(0, len(events), len(steps))]
            assert len(events) % len(steps) == 0, "%d events of %d steps" % (len(events), len(steps))
            times = [min(r[i]["dur"] for r in runs) * 1e-6 for i in range(len(steps))]
            many = max(3, int(1 / sum(times)))
            measured = {1: [], 2: []}
            for _ in range(rounds):
                for n in measured:
                    measured[n].append(1e-6 * least_us(name, "train", data, n, many))
            one, both = min(measured[1]), min(measured[2])
            scale = one / sum(times)
            kernels = [(scale * t, runs[0][i]["args"]["bytes"], balance[k], b) for i, (t, (k, b)) in enumerate(zip(times, steps))]
            says = model(kernels, 2, bandwidth, barrier)
            print("%s: %.2f ms on one thread; on two %.2f, by the model %.2f (%.2f of it)" % (name, 1e3 * one, 1e3 * both, 1e3 * says[0], says[0] / both))
            for n in (2,) + MANY:
                all_, waits, memory = model(kernels, n, bandwidth, barrier)
                print("  %3d threads: %.3f ms, %.1f times as fast; barriers %.1f %%, memory %.1f %%" % (n, 1e3 * all_, one / all_, 100 * waits / all_, 100 * memory / all_))


main()
