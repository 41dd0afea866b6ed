"""Entries of the examples as models of ONNX: gc's own results, ONNX Runtime's, and those of gc's import of the export.

    onnx_export.py BUILD [EXAMPLE…]         default: all

For each entry: onnx.checker, then the outputs of the program, of ONNX Runtime, and of the exported model compiled by gc, on
the same random inputs and weights. A bounded dimension is symbolic in the export; it is imported with a number. The table
has the largest differences, as a share of the largest output, and milliseconds of the fastest run on one thread, of several
turns of both. Exit code 1: a difference is above 1e-5, or an output of integers differs.
"""
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 1e-5
DTYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int32)": np.int32, "tensor(int64)": np.int64}
SCORES = "entry scores(image : u8[N, 3 * S * S]) { return y = net(image) }\n"  # of which the entry test has the accuracy alone
# example, entry, options, the largest input where it is no image, numbers for its bounded dimensions
CASES = [
    ("mnist", "predict", [], None, {}),
    ("lenet", "predict", [], None, {}),
    ("resnet20", "scores", ["-D", "N=4"], None, {}),
    ("resnet50", "scores", ["-D", "N=2", "-D", "S=64"], None, {}),
    ("vgg", "scores", ["-D", "N=1", "-D", "S=32"], None, {}),
    ("inception_bn", "scores", ["-D", "N=2"], None, {}),
    ("vae", "rebuild", [], None, {}),
    ("gpt", "validate", [], 100, {"n": 5}),
    ("gpt2", "predict", ["-D", "L=2"], 100, {}),
    ("llama", "next", ["-D", "P=16"], 100, {"t": 5}),
    ("llama", "loss", ["-D", "P=16"], 100, {"t": 7}),
    ("lstm", "validate", [], 60, {"n": 7}),
    ("chars", "validate", [], 60, {"n": 3}),
    ("seq2seq", "restore", [], 60, {}),
]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-200:]}")
    return done.stdout


def apart(got, wanted):
    if wanted.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, wanted) else np.inf
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), 1e-3))


def inputs_of(session, most, sizes, work):
    random = np.random.default_rng(0)
    given = {}
    for x in session.get_inputs():
        shape = [sizes[d] if isinstance(d, str) else d for d in x.shape]
        dtype = DTYPES[x.type]
        if "." in x.name:  # a state
            given[x.name] = np.zeros(shape, dtype)
        elif dtype == np.float32:
            given[x.name] = random.normal(size=shape).astype(dtype)
        else:
            given[x.name] = random.integers(0, most or 256, shape).astype(dtype)
    return given


def results(program, entry, given, names, work, *options):
    arguments = []
    for name, x in given.items():
        np.save(work / f"{name}.npy", x)
        arguments += [f"--{name.replace('.', '_')}", work / f"{name}.npy"]
    for name in names:
        arguments += [f"--{name.replace('.', '_')}", work / f"got.{name}.npy"]
    run(program, entry, *arguments, "--quiet", *options)
    return [np.load(work / f"got.{name}.npy") for name in names]


def milliseconds(program, entry, arguments, model, given, turns=3, count=20):
    """The program's and ONNX Runtime's, in turn, since others may use the machine."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options)
    ours, theirs = [], []
    for _ in range(turns):
        bench = run(program, entry, *arguments, "--threads", 1, "--bench", count)
        ours.append(float(re.search(r"least ([0-9.]+) us", bench)[1]) / 1e3)
        for _ in range(count):
            start = time.perf_counter()
            session.run(None, given)
            theirs.append(1e3 * (time.perf_counter() - start))
    return min(ours), min(theirs)


def one(gc, work, example, entry, options, most, sizes):
    for file in work.iterdir():
        file.unlink()
    source, model, weights = work / "program.g", work / "model.onnx", work / "weights.safetensors"
    source.write_text((ROOT / f"docs/examples/{example}.g").read_text() + (SCORES if entry == "scores" else ""))
    run(gc, source, *options, "-o", work / "program")
    run(work / "program", "train", "--steps", 0, "--save", weights)
    run(gc, source, entry, *options, "--emit=onnx", f"--weights={weights}", "-o", model)
    onnx.checker.check_model(str(model), full_check=True)
    session = onnxruntime.InferenceSession(str(model))
    given = inputs_of(session, most, sizes, work)
    names = [y.name for y in session.get_outputs()]
    own = [name for name in names if "." not in name]  # before the states
    wanted = results(work / "program", entry, {k: x for k, x in given.items() if "." not in k}, own, work, "--load", weights)
    theirs = session.run(None, given)
    defines = [a for name, n in sizes.items() for a in ("-D", f"{name}={n}")]
    run(gc, model, *defines, "-o", work / "back")
    back = results(work / "back", "predict", given, names, work)
    difference = [max(apart(np.reshape(a, b.shape), b) for a, b in zip(got, wanted, strict=True)) for got in (theirs[: len(own)], back[: len(own)])]
    states = [apart(a, b) for a, b in zip(theirs[len(own) :], back[len(own) :], strict=True)]
    difference[1] = max([difference[1], *states])
    inputs = [a for name in given if "." not in name for a in (f"--{name}", work / f"{name}.npy")]
    ms = milliseconds(work / "program", entry, [*inputs, "--load", weights], model, given)
    print(f"| {example} {entry} | {difference[0]:.1e} | {difference[1]:.1e} | {ms[0]:.3f} | {ms[1]:.3f} | {ms[1] / ms[0]:.2f} |", flush=True)
    return max(difference) <= LIMIT


def main():
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    work = build / "peers-work" / "export"
    work.mkdir(parents=True, exist_ok=True)
    print("| entry | ONNX Runtime | gc through ONNX | gc, ms | ONNX Runtime, ms | as fast |\n|---|---|---|---|---|---|")
    good = True
    for case in CASES:
        if names and case[0] not in names:
            continue
        try:
            good = one(build / "bin/gc", work, *case) and good
        except Exception as e:  # the others are still worth a look
            print(f"| {case[0]} {case[1]} | FAILED: {type(e).__name__}: {str(e)[-700:]} |", flush=True)
            good = False
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
