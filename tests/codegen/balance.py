"""How evenly 8, 16, 64 and 128 threads share the kernels of examples, by their schedules; no hardware is needed.
  balance.py [--table] GC BOUNDS EXAMPLES
BOUNDS is balance.txt, which says what must hold; --table prints what does in the form of its first part. A run draws one
level of each example, two of the strict ones, by GC_TEST_SEED; the level full of tests, and --table, have all. The balance is the
mean work of threads by that of the busiest one. A kernel's time is that of its arithmetic or of its memory traffic,
whichever is longer, on a core with 100 GFLOP/s and 10 GB/s; kernels that take no time on one thread may take most of it
on 64, so steps have a balance, too."""
import fnmatch
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FLOPS, BYTES = 100e9, 10e9
SHARE = 0.01    # of a step: smaller kernels are not asked
LEAST = 0.9     # balance of 64 threads that a kernel has
LOST = 50e-6    # seconds of a launch that an even share would save, which are not asked either, but of:
STRICT = ("gpt.g", "gpt2.g", "gpt2.g,T=1024", "resnet50.g")  # all kernels of their training steps
SLACK = 0.02    # steps may have so much less than the table says
THREADS = (8, 16, 64, 128)
LEVELS = {"v4": ("x86-64-v4", "f32"), "v3": ("x86-64-v3", "f32"), "pairs": ("cooperlake", "bf16"),
          "amx": ("sapphirerapids", "bf16")}


class Kernel:
    def __init__(self, line, fields):
        self.line = line
        self.op = line.split()[2]
        self.entries = fields["entries"].split(",")
        self.balance = [float(x) for x in fields["balance"].split(",")]
        assert len(self.balance) == len(THREADS) and all(0 <= x <= 1 for x in self.balance), line
        seconds = max(int(fields["flops"]) / FLOPS, int(fields["bytes"]) / BYTES)
        self.seconds = seconds / len(self.entries)
        self.launches = int(fields["launches"]) / len(self.entries)

    def on(self, threads):
        """Seconds of all its launches on so many threads, if one of them does all where it says 0.0."""
        return self.seconds / threads / max(self.balance[THREADS.index(threads)], 1 / threads)

    def lost(self):
        return (self.on(64) - self.seconds / 64) / self.launches


def schedules(gc, path, sizes, level):
    march, precision = LEVELS[level]
    out = subprocess.run([gc, path, "-O2", "-march=" + march, "--precision=" + precision, "--target=cpu",
                          "--print-schedules"] + ["-D" + s for s in sizes],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert out.returncode == 0, "%s: %s" % (path, out.stderr)
    entries = {}
    for line in out.stdout.splitlines()[1:]:  # behind the machine's
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        kernel = Kernel(line, fields)
        for entry in kernel.entries:
            entries.setdefault(entry, []).append(kernel)
    return entries


def step_balance(kernels):
    one = sum(k.seconds for k in kernels)
    return [one / threads / sum(k.on(threads) for k in kernels) for threads in THREADS]


def read_bounds(path):
    steps, exceptions = {}, []
    for line in open(path):
        words = line.split(None, 6)
        if not words or line.startswith("#"):
            continue
        if words[0] == "step":
            steps[tuple(words[1:3])] = (words[3], [float(x) for x in line.split()[4:]])
        else:
            assert words[0] == "kernel" and len(words) == 7, line
            exceptions.append((words[1:5], float(words[5]), words[6].strip()))
    return steps, exceptions


def asked(name, entry, kernels):
    """Kernels of an entry that do not keep what all keep."""
    one = sum(k.seconds for k in kernels)
    strict = name in STRICT and entry == "train"
    return [k for k in kernels if k.seconds >= SHARE * one and k.balance[THREADS.index(64)] < LEAST and
            (strict or k.lost() > LOST)]


def main():
    args = sys.argv[1:]
    table = args[0] == "--table"
    gc, bounds, examples = args[table:]
    steps, exceptions = read_bounds(bounds)
    names = sorted(f for f in os.listdir(examples) if f.endswith(".g")) + ["gpt2.g,T=1024"]
    whole = table or os.environ.get("GC_TEST_LEVEL") == "full"
    first = int(os.environ.get("GC_TEST_SEED") or 0) // 10000  # as tests/optimised.sh draws
    cases = [(name, level) for i, name in enumerate(names) for k, level in enumerate(LEVELS)
             if whole or (first + i + k) % (2 if name in STRICT else len(LEVELS)) == 0]

    def read(case):
        file, *sizes = case[0].split(",")
        return schedules(gc, os.path.join(examples, file), sizes, case[1])

    failures, used = 0, set()
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(cases, pool.map(read, cases)))
    for (name, level), entries in found.items():
        main_entry = next((e for e in ("train", "step") if e in entries), sorted(entries)[0])
        has = step_balance(entries[main_entry])
        print("step   %-16s %-6s %-6s %s" % (name, level, main_entry, " ".join("%.2f" % b for b in has)))
        if table:
            continue
        entry, least = steps.get((name, level), ("", []))
        if entry != main_entry or len(least) != len(has) or any(h < x - SLACK for h, x in zip(has, least)):
            print("  FAILED: the table says %s %s" % (entry, least))
            failures += 1
        for entry, kernels in entries.items():
            if entry == "initialisation":  # runs once
                continue
            for k in asked(name, entry, kernels):
                b = k.balance[THREADS.index(64)]
                of = next((i for i, (at, least, _) in enumerate(exceptions) if b >= least and all(
                    fnmatch.fnmatch(x, y) for x, y in zip((name, level, entry, k.op), at))), None)
                if of is None:
                    print("  FAILED: %.1f %% of %s, %.0f us of a launch lost: %s"
                          % (100 * k.seconds / sum(k.seconds for k in kernels), entry, 1e6 * k.lost(), k.line))
                    failures += 1
                used.add(of)
    for i, (at, _, why) in enumerate(exceptions):
        if whole and not table and i not in used:
            print("FAILED: no kernel needs the line %s: %s" % (" ".join(at), why))
            failures += 1
    return failures > 0


sys.exit(main())
