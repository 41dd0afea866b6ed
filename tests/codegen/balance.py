"""How evenly 64 threads share the kernels of training steps, by their schedules; no hardware is needed.
  balance.py GC FILE.g...
Every kernel above 1 % of a step's time keeps the mean of 64 threads at 0.9 of the busiest one or more, and so does the
step: kernels that take no time on one thread may take most of it on 64. A kernel's time is that of its arithmetic or of
its memory traffic, whichever is longer, on a core with 100 GFLOP/s and 10 GB/s."""
import subprocess
import sys

FLOPS, BYTES = 100e9, 10e9
SHARE, LEAST, THREADS = 0.01, 0.9, (8, 16, 64, 128)


def kernels(gc, program, march):
    out = subprocess.run([gc, program, "-O2", "-march=" + march, "--target=cpu", "--print-schedules"],
                         stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    for line in out.splitlines()[1:]:  # behind the machine's
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        entries = fields["entries"].split(",")
        balance = [float(x) for x in fields["balance"].split(",")]
        assert len(balance) == len(THREADS) and all(0 <= x <= 1 for x in balance), line
        if "train" in entries:
            seconds = max(int(fields["flops"]) / FLOPS, int(fields["bytes"]) / BYTES)
            yield seconds / len(entries), balance, line


def main():
    failures = 0
    for program in sys.argv[2:]:
        for march in ("x86-64-v4", "x86-64-v3"):
            found = list(kernels(sys.argv[1], program, march))
            total = sum(seconds for seconds, _, _ in found)
            large = [k for k in found if k[0] >= SHARE * total]
            assert large, program
            uneven = [k for k in large if k[1][THREADS.index(64)] < LEAST]
            step = total / sum(seconds / max(balance[THREADS.index(64)], 1 / 64)
                               for seconds, balance, _ in found)
            print("%s for %s: %d of %d kernels are large, %d uneven; the step has %.2f"
                  % (program, march, len(large), len(found), len(uneven), step))
            for seconds, _, line in uneven:
                print("  %.1f %% of the step: %s" % (100 * seconds / total, line))
            failures += len(uneven) + (step < LEAST)
    return failures > 0


sys.exit(main())
