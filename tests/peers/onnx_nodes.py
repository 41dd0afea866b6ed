"""Runs the onnx package's own tests of operators through gc's importer.

    onnx_nodes.py BUILD [WORD…]          with words: only cases whose name holds one of them; failures are shown in full

A case is a small model with inputs and the outputs that are right. `gc --emit=g` imports it; inputs that gc says it must
know when it compiles become tensors of the file. The programs of many cases, with their functions and weights renamed,
make one library, and every entry runs once. A case passes where types, shapes and numbers are right within the
tolerance of the case. The end says for each reason how many cases do not apply. Exit code 1: one differs, or gc does not
compile it. Rows whose number the data decide are those of the case, and their number is an output.
"""
import collections
import ctypes
import json
import re
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

A_FILE = 60  # entries; a file compiles in seconds
SCALARS = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32, "bool": ctypes.c_bool,
           "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "int8": ctypes.c_int8, "float16": ctypes.c_uint16, "bfloat16": ctypes.c_uint16}
# What gc holds in a wider type.
WIDER = {"int16": "int32", "uint16": "int32", "uint32": "int64"}


class NotHere(Exception):
    pass


def as_array(x):
    """Of a tensor as the test package gives it."""
    if isinstance(x, onnx.TensorProto):
        x = onnx.numpy_helper.to_array(x)
    if not isinstance(x, (np.ndarray, np.generic, float, int, bool)) or np.asarray(x).dtype.kind in "OUS":
        raise NotHere("strings, sequences and optional values")
    return np.asarray(x)


class Case:
    """One test, imported."""

    def __init__(self, test, gc, work):
        self.test, model = test, onnx.ModelProto()
        model.CopyFrom(test.model)
        graph, (inputs, outputs) = model.graph, test.data_sets[0]
        if any(i.type.WhichOneof("value") != "tensor_type" for i in [*graph.input, *graph.output]):
            raise NotHere("strings, sequences and optional values")
        self.inputs = {i.name: as_array(x) for i, x in zip(graph.input, inputs)}
        self.outputs = [as_array(x) for x in outputs]
        empty = [name for name, x in self.inputs.items() if not x.size]
        for i in graph.input:  # the shapes of this run
            t = i.type.tensor_type
            del t.shape.dim[:]
            for d in self.inputs[i.name].shape:
                t.shape.dim.add().dim_value = d
        while True:
            onnx.save(model, work / "case.onnx")
            done = subprocess.run([gc, work / "case.onnx", "--emit=g", "-o", work / "case.g"], capture_output=True, text=True)
            if done.returncode == 0:
                break
            if done.returncode != 1:
                raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-300:]}")
            known = set(re.findall(r"depends on the graph's input (\S+):", done.stderr)) & set(self.inputs)
            if not known:
                raise NotHere(self.reason(done.stderr))
            for name in known:
                graph.initializer.append(onnx.numpy_helper.from_array(self.inputs.pop(name), name))
                graph.input.remove(next(i for i in graph.input if i.name == name))
        self.text = (work / "case.g").read_text()
        for name in empty:  # known, and no input of the program
            self.inputs.pop(name, None)
        if re.search(r"\b(uniform|normal|categorical)\(", self.text):
            raise NotHere("random numbers, of which gc has its own")
        weights = work / "case.safetensors"
        self.weights = weights.read_bytes() if weights.exists() else None
        weights.unlink(missing_ok=True)
        for x in [*self.inputs.values(), *self.outputs]:
            if WIDER.get(x.dtype.name, x.dtype.name) not in SCALARS:
                raise NotHere(f"the element type {x.dtype.name}")

    @staticmethod
    def reason(text):
        note = re.search(r"note: \d+ x (\S+): (.*): [^:]*$", text, re.M)
        if not note:
            last = re.search(r"error: [^:]*: (.*)", text)
            return re.sub(r"the input \S+", "an input", last[1]) if last else text[-200:]
        op, why = note[1], note[2]
        return f"no counterpart: {op}" if why == "it has no counterpart" else re.sub(r"its (in|out)put \d+", r"an \1put", why)

    def program(self, i):
        return re.sub(r"\bnet\(", f"net{i}(", self.text).replace("entry predict(", f"entry e{i}(")

    def tensors(self, i):
        """Name, dtype, shape and bytes of each weight."""
        if not self.weights:
            return
        size = struct.unpack("<Q", self.weights[:8])[0]
        header, data = json.loads(self.weights[8 : 8 + size]), self.weights[8 + size :]
        for name, x in header.items():
            if name != "__metadata__":
                yield name.replace("net.", f"net{i}.", 1), x["dtype"], x["shape"], data[slice(*x["data_offsets"])]


def write_weights(path, tensors):
    header, at = {}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors))


class Library:
    """Cases compiled into one library; run() says of each what is wrong with it, or None."""

    def __init__(self, gc, work, number, cases):
        self.path, self.gc, self.wrong = work / f"nodes{number}.g", gc, {}
        while True:
            left = [c for c in cases if c not in self.wrong]
            if not left or self.compile(left):
                break
        self.cases = left

    def compile(self, cases):
        first, text, tensors = [], "", []
        for i, case in enumerate(cases):
            first.append(text.count("\n") + 1)
            text += case.program(i)
            tensors += case.tensors(i)
        self.path.write_text(text)
        self.lib, weights = self.path.with_name(f"lib{self.path.stem}.so"), self.path.with_suffix(".safetensors")
        write_weights(weights, tensors)
        command = [self.gc, self.path, "-O2", "--emit=lib", "-o", self.lib] + ([f"--weights={weights}"] if tensors else [])
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return True
        errors = re.findall(r"\.g:(\d+):\d+: error: (.*)", done.stderr)
        for line, message in errors:
            at = max(i for i, f in enumerate(first) if f <= int(line))
            self.wrong.setdefault(cases[at], f"gc: {message}")
        if not errors and len(cases) == 1:
            self.wrong[cases[0]] = f"gc: exit code {done.returncode}: {done.stderr[-400:]}"
        elif not errors:  # whose fault it is, each by itself will show
            for case in cases:
                self.compile([case])
        return False

    def run(self):
        if self.cases:
            stem = self.path.stem
            lib = ctypes.CDLL(str(self.lib))
            function = {n: getattr(lib, f"{stem}_{n}") for n in ["open", "close", "error"]}
            function["open"].restype, function["error"].restype = ctypes.c_void_p, ctypes.c_char_p
            function["open"].argtypes = [ctypes.c_int, ctypes.c_uint64]
            model = ctypes.c_void_p(function["open"](1, 1))
            for i, case in enumerate(self.cases):
                entry = getattr(lib, f"{stem}_e{i}")
                entry.restype = ctypes.c_bool
                self.wrong[case] = self.one(entry, model, case, self.shapes(i)) or None
                if self.wrong[case] == "error":
                    self.wrong[case] = "running: " + function["error"](model).decode()
            function["close"](model)
        return self.wrong

    def shapes(self, i):
        """Of the arguments of an entry, as the header has them."""
        arguments = re.search(rf"_e{i}\((.*?)\);", self.path.with_suffix(".h").read_text(), re.S)[1]
        dims = [re.search(r"/\* \w*\[([^]]*)\]", line) for line in arguments.split(",\n")[1:]]
        return [tuple(map(int, d[1].split(", "))) if d else () for d in dims]

    @staticmethod
    def one(entry, model, case, shapes):
        arguments, alive = [], []
        for x in case.inputs.values():
            x = x.astype(WIDER.get(x.dtype.name, x.dtype))
            kind = SCALARS[x.dtype.name]
            if x.ndim == 0:
                arguments.append(kind(x.view(np.uint16).item() if kind is ctypes.c_uint16 else x.item()))
            else:
                alive.append(np.ascontiguousarray(x))
                arguments.append(alive[-1].ctypes.data_as(ctypes.c_void_p))
        outputs = [np.empty(s, WIDER.get(x.dtype.name, x.dtype)) for s, x in zip(shapes[len(case.inputs) :], case.outputs)]
        counts = [np.empty((), np.int64) for _ in shapes[len(case.inputs) + len(outputs) :]]
        arguments += [o.ctypes.data_as(ctypes.c_void_p) for o in [*outputs, *counts]]
        if not entry(model, *arguments):
            return "error"
        for got, wanted in zip(outputs, case.outputs):
            apart = [n for n, most in zip(wanted.shape, got.shape) if n != most]
            if got.ndim == wanted.ndim and set(apart) <= {int(c) for c in counts}:
                got = got[tuple(map(slice, wanted.shape))]
            if wanted.dtype.kind in "iub":
                same = np.array_equal(got, wanted)
            else:
                # the least that the type can say, where the case asks for more
                rtol = max(case.test.rtol, 2 * float(ml_dtypes.finfo(wanted.dtype).eps))
                got, wanted = got.astype(np.float64), wanted.astype(np.float64)
                same = np.allclose(got, wanted, rtol, max(case.test.atol, 1e-6), equal_nan=True)
            if not same:
                return f"wanted {wanted.ravel()[:8]}, got {got.ravel()[:8]}"
        return None


def main():
    warnings.simplefilter("ignore")
    build, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    work = build / "peers-work"
    work.mkdir(exist_ok=True)
    tests = [t for t in collect_testcases(None) if not words or any(w in t.name for w in words)]
    cases, reasons = [], collections.defaultdict(list)
    for test in tests:
        try:
            cases.append(Case(test, build / "bin/gc", work))
        except NotHere as e:
            reasons[str(e)].append(test.name)
        except Exception as e:  # this script does not understand the case: a failure until it does
            reasons[f"NOT UNDERSTOOD: {type(e).__name__}: {e}"].append(test.name)
    wrong = {}
    for i in range(0, len(cases), A_FILE):
        wrong |= Library(build / "bin/gc", work, i // A_FILE, cases[i : i + A_FILE]).run()
    failed = {c: w for c, w in wrong.items() if w}
    for case, what in failed.items():
        print(f"FAILED {case.test.name}: {what}")
        if words:
            print(case.text)
    print(f"onnx {onnx.__version__}: {len(tests)} cases; {len(cases) - len(failed)} pass, {len(failed)} fail, "
          f"{len(tests) - len(cases)} do not apply:\n\n| cases | for want of |\n|---|---|")
    none = [r for r in reasons if r.startswith("no counterpart")]
    if none:
        names = sorted({r.removeprefix("no counterpart: ") for r in none})
        print(f"| {sum(len(reasons[r]) for r in none)} | an operator: {', '.join(names)} |")
    for reason in sorted((r for r in reasons if r not in none), key=lambda r: -len(reasons[r])):
        print(f"| {len(reasons[reason])} | {reason} |" + (f" {' '.join(reasons[reason])}" if words else ""))
    bad = any(r.startswith("NOT UNDERSTOOD") for r in reasons)
    sys.exit(1 if failed or bad or not cases else 0)


if __name__ == "__main__":
    main()
