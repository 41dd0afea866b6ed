#!/usr/bin/env python3
"""Instructions of a run at half the bound of a batch, beside the program that is compiled for that number of rows.

    tests/bench/extents.py BUILD_DIR [EXAMPLE[:BOUND]...]

Prints rows of CSV: program, entry, bound, rows, instructions, those of the exact program, the ratio. Counts are
callgrind's (valgrind), on one thread and -march=x86-64-v3, so they hold on any machine. A training entry has the
difference of three epochs of one batch and of one, an entry of inference that of one batch more. With a bound the example
has its own sizes otherwise; one of a few million parameters takes minutes.
"""

import os
import re
import subprocess
import sys
import tempfile

SIZES = {  # of the batch: its name and bound; options that fit callgrind's pace
    "mnist": ("N", 64, ""),
    "lenet": ("N", 32, ""),
    "chars": ("B", 64, "H=128"),
    "vae": ("N", 64, "H=128"),
    "dcgan": ("N", 16, "C=8"),
    "gpt": ("B", 8, "T=32 L=2 H=2 C=64 P=32"),
    "gpt2": ("B", 8, "T=16 N=16 L=2 H=4 C=64 V=200"),
    "resnet20": ("N", 16, "S=16 depth=1 width=8"),
    "resnet50": ("N", 8, "S=32 width=8 classes=10 blocks=[1,1,1,1]"),
    "inception_bn": ("N", 8, "S=64 classes=10 width=0.125"),
    "vgg": ("N", 8, "S=32 classes=10 width=64 channels=[8,16,16,32,32]"),
    "llama": ("B", 4, "T=16 P=16 S=32 vocab_size=100 hidden_size=32 intermediate_size=64 num_hidden_layers=1 num_attention_heads=2"),
    "bert": ("N", 8, "T=16 vocab_size=100 hidden_size=32 num_hidden_layers=1 num_attention_heads=2 "
             "max_position_embeddings=16 type_vocab_size=10 num_labels=10 mask_token_id=3"),
    "vit": ("N", 8, "image_size=16 patch_size=4 hidden_size=32 num_hidden_layers=1 num_attention_heads=2"),
    "seq2seq": ("B", 16, "T=16 D=16 H=32"),
    "lstm": ("B", 16, "T=16 D=16 H=64"),
}


def static(source, batch):
    """No entry's batch is an extent: of those that have one it is `n`."""

    def entry(m):
        text = m.group(0)
        if not re.search(rf"\[n <= {batch}[],]", text):
            return text
        return re.sub(r"\[n([],])", rf"[{batch}\1", re.sub(rf"\[n <= {batch}([],])", rf"[{batch}\1", text))

    return re.sub(r"^entry .*?}$", entry, source, flags=re.S | re.M)


def inputs(program, entry, mkdata, rows):
    """Options that give each input a file of so many rows."""
    options, known = [], {"n": str(rows)}
    info = subprocess.run([f"./{program}", "info", entry], capture_output=True, text=True, check=True).stdout
    for name, dtype, shape in re.findall(r"^  input +(\S+) +([a-z0-9]+)\[(.*)\]", info, flags=re.M):
        dims = [d.strip() for d in shape.split(",")]
        for i, d in enumerate(dims):
            if " <= " in d:
                known.setdefault(d.split(" <= ")[0], d.split(" <= ")[1])
                d = d.split(" <= ")[0]
            dims[i] = known.get(d, d)
        dims[0] = str(rows)
        subprocess.run([mkdata, "npy", dtype, ",".join(dims), "1", f"{name}.npy"], check=True)
        options += [f"--{name}", f"{name}.npy"]
    return options, f"entry {entry} (training)" in info


def instructions(program, entry, options):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"./{program}", entry, *options]
    out = subprocess.run([*command, "--threads", "1", "--quiet"], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", out.stderr)
    if out.returncode or not found:
        sys.exit(f"{' '.join(command)} failed:\n{out.stderr}")
    return int(found.group(1))


def step(program, entry, mkdata, rows, whole):
    """Of a run of so many rows; `whole`: of the largest batch."""
    options, trains = inputs(program, entry, mkdata, rows)
    if trains:
        options += ["--no-shuffle", "--epochs"]
        return (instructions(program, entry, [*options, "3"]) - instructions(program, entry, [*options, "1"])) // 2
    counts = []
    for n in (whole, whole + rows):
        options, _ = inputs(program, entry, mkdata, n)
        counts.append(instructions(program, entry, options))
    return counts[1] - counts[0]


def main():
    build = os.path.abspath(sys.argv[1])
    examples = os.path.join(os.path.dirname(__file__), "../../docs/examples")
    mkdata = f"{build}/bin/runtime_mkdata"
    sizes = {}
    for name, _, bound in (arg.partition(":") for arg in sys.argv[2:] or SIZES):
        sizes[name] = (SIZES[name][0], int(bound), "") if bound else SIZES[name]
    sources = {name: open(f"{examples}/{name}.g").read() for name in sizes}
    print("program,entry,bound,rows,instructions,exact_instructions,ratio,options", flush=True)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, source in sources.items():
            batch, bound, lets = sizes[name]
            half = bound // 2
            entries = re.findall(rf"^entry (\w+)\(.*\[n <= {batch}[],]", source, flags=re.M)
            for program, text, n in ((name, source, bound), (f"{name}_exact", static(source, batch), half)):
                open(f"{program}.g", "w").write(text)
                defines = [x for let in [f"{batch}={n}", *lets.split()] for x in ("-D", let)]
                command = [f"{build}/bin/gc", f"{program}.g", "-O2", "-march=x86-64-v3", "--target=cpu", *defines]
                subprocess.run([*command, "-o", program], check=True)
            for entry in entries:
                counts = [step(name, entry, mkdata, half, bound), step(f"{name}_exact", entry, mkdata, half, half)]
                row = [name, entry, bound, half, *counts, f"{counts[0] / counts[1]:.3f}", f'"{lets}"']
                print(",".join(map(str, row)), flush=True)


main()
