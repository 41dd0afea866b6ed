"""Runs the onnx package's own tests of operators through gc.

    onnx_nodes.py BUILD [WORD…]          with words: only cases whose name holds one of them; failures are shown in full

A case is a small graph with inputs and the outputs that are right. It becomes an entry of a .g file: each node by its
function in onnx_ops.py, what depends on no input by ONNX's reference evaluator. Inputs that gc needs when it compiles
(axes, shapes, counts) are taken as such. Many entries make one library, and every entry runs once. A case passes where
types, shapes and numbers are right within the tolerance of the case. The end says for each reason how many cases do
not apply. Exit code 1: one differs, or gc does not compile it.
"""
import collections
import ctypes
import re
import subprocess
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

import onnx_nets  # noqa: F401 fills OPS, as the next one does
import onnx_ops  # noqa: F401
from onnx_text import DTYPES, OPS, REASONS, NotHere, dtype

A_FILE = 60  # entries; a file compiles in seconds


class NeedsKnown(Exception):
    """A value that gc must know when it compiles comes from these inputs."""


class Value:
    """value: what it is in this case's run; name: how gc calls it, None where it is known when gc compiles."""

    def __init__(self, value, name=None, roots=frozenset()):
        self.value, self.name, self.roots, self.case = np.asarray(value), name, roots, None

    def __str__(self):
        self.case.used.add(self.name) if self.name else self.case.literal(self)
        return self.name

    def __format__(self, spec):
        return str(self)


class Node:
    """What a function of onnx_ops.py sees of a node. out: values of the outputs that are wanted; names: of all."""

    def __init__(self, case, node, out):
        self.case, self.op, self.out, self.names = case, node.op_type, out, list(node.output)
        self.attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}

    def attr(self, name, default):
        return self.attrs.get(name, default)

    def known(self, x):
        if x.name and x.roots:
            raise NeedsKnown(x.roots)
        return x.value

    def let(self, text):
        return self.case.define([text])[0]

    def let2(self, text):
        names = self.case.fresh(2)
        self.case.lines.append(f"{names[0]}, {names[1]} = {text}")
        return names


def as_array(x):
    """Of a tensor as the test package gives it."""
    if isinstance(x, onnx.TensorProto):
        return onnx.numpy_helper.to_array(x)
    if not isinstance(x, (np.ndarray, np.generic, float, int, bool)):
        raise NotHere("strings, sequences and optional values")
    return np.asarray(x)


class Case:
    """One test as the text of an entry."""

    def __init__(self, test):
        self.test, self.model = test, test.model
        graph = self.model.graph
        inputs, outputs = test.data_sets[0]
        named = [i for i in graph.input]
        types = {i.name: i.type.WhichOneof("value") for i in [*graph.input, *graph.output]}
        if any(t != "tensor_type" for t in types.values()):
            raise NotHere("strings, sequences and optional values")
        self.inputs = {i.name: as_array(x) for i, x in zip(named, inputs)}
        self.outputs = {o.name: as_array(x) for o, x in zip(graph.output, outputs)}
        for x in [*self.inputs.values(), *self.outputs.values()]:
            if x.dtype.kind in "OUS":
                raise NotHere("strings, sequences and optional values")
        known = set()
        while True:
            try:
                self.translate(known)
                break
            except NeedsKnown as need:
                known |= need.args[0]
        if not self.used:
            raise NotHere("results that are known when gc compiles")
        for x in [*self.arguments.values(), *self.outputs.values()]:
            dtype(x)
            if x.size == 0:
                raise NotHere("tensors without elements")

    def translate(self, known):
        self.lines, self.used, self.arguments, self.count = [], set(), {}, 0
        values = {"": None}
        for name, x in self.inputs.items():
            g = None if name in known else f"in{len(values)}"
            values[name] = self.keep(Value(x, g, frozenset([name]) if g else frozenset()))
            if g:
                self.arguments[g] = x
        for tensor in self.model.graph.initializer:
            values[tensor.name] = self.keep(Value(onnx.numpy_helper.to_array(tensor)))
        for node in self.model.graph.node:
            self.node(node, values)
        self.results = [values[name] for name in self.outputs]
        for name, x in zip(self.outputs, self.results):
            if x.name is None:
                raise NotHere("results that are known when gc compiles")
        self.returns = [str(x) for x in self.results]
        self.arguments = {k: v for k, v in self.arguments.items() if k in self.used}

    def keep(self, value):
        value.case = self
        return value

    def fresh(self, count=1):
        self.count += count
        return [f"t{self.count - i}" for i in range(count)]

    def define(self, texts):
        names = self.fresh(len(texts))
        self.lines += [f"{name} = {text}" for name, text in zip(names, texts)]
        return names

    def literal(self, x):
        """A constant tensor is an input of the entry."""
        x.name = f"k{len(self.arguments)}"
        self.arguments[x.name] = x.value
        self.used.add(x.name)

    def node(self, node, values):
        inputs = [values[i] for i in node.input]
        roots = frozenset().union(*(x.roots for x in inputs if x))
        if node.op_type in REASONS and (roots or node.op_type in ("If", "Loop")):
            raise NotHere(REASONS[node.op_type])
        if all(o in self.outputs or not o for o in node.output):
            results = [self.outputs[o] for o in node.output if o]
        else:
            results = self.reference(node, [x.value if x else None for x in inputs])
        if node.op_type in ("Shape", "Size"):
            roots = frozenset()  # gc's shapes are static
        if roots:
            self.lines.append(f"# {node.op_type}")
            self.emit(node, inputs, values, results, roots)
        else:
            for o, r in zip(filter(None, node.output), results):
                values[o] = self.keep(Value(r))

    def emit(self, node, inputs, values, results, roots):
        if node.op_type not in OPS:
            raise NotHere(f"no counterpart: {node.op_type}")
        for x in [*(x.value for x in inputs if x), *results]:
            if x.dtype.kind not in "iufbV" or x.dtype.name not in DTYPES:
                raise NotHere(f"the element type {x.dtype.name}")
            if x.size == 0 and x.dtype.kind != "i":  # integers may be axes that gc knows when it compiles
                raise NotHere("tensors without elements")
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        try:
            texts = OPS[node.op_type](Node(self, node, results), *inputs)
        except TypeError as e:
            if "positional argument" in str(e):
                raise NotHere(f"no counterpart: {node.op_type} with this number of inputs")
            raise
        if "" in node.output:
            texts = [text for text, o in zip(texts, node.output) if o]
        if len(texts) < len(results):
            raise NotHere(f"no counterpart: {node.op_type} with this number of outputs")
        for o, name, r in zip(filter(None, node.output), self.define(texts), results):
            values[o] = self.keep(Value(r, name, roots))

    def reference(self, node, inputs):
        names = [f"i{i}" if x is not None else "" for i, x in enumerate(inputs)]
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(names)
        infos = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for n, x in zip(names, inputs) if n]
        outs = [onnx.ValueInfoProto(name=o) for o in node.output if o]
        graph = onnx.helper.make_graph([copy], "one", infos, outs)
        model = onnx.helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        return [as_array(r) for r in
                ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, inputs) if n})]

    def text(self, name):
        def type_(x):
            return f"{dtype(x)}[{', '.join(map(str, x.shape))}]" if x.ndim else dtype(x)
        head = ", ".join(f"{k} : {type_(x)}" for k, x in self.arguments.items())
        body = "".join(f"  {line}\n" for line in self.lines)
        returns = ", ".join(f"o{i} = {r}" for i, r in enumerate(self.returns))
        return f"# {self.test.name}\nentry {name}({head}) {{\n{body}  return {returns}\n}}\n"


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
        first, text = [], ""
        for i, case in enumerate(cases):
            first.append(text.count("\n") + 1)
            text += case.text(f"e{i}")
        self.path.write_text(text)
        self.lib = self.path.with_name(f"lib{self.path.stem}.so")
        done = subprocess.run([self.gc, self.path, "-O2", "--emit=lib", "-o", self.lib], capture_output=True, text=True)
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
                self.wrong[case] = self.one(entry, model, case) or None
                if self.wrong[case] == "error":
                    self.wrong[case] = "running: " + function["error"](model).decode()
            function["close"](model)
        return self.wrong

    @staticmethod
    def one(entry, model, case):
        scalars = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32, "bool": ctypes.c_bool,
                   "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "float16": ctypes.c_uint16, "bfloat16": ctypes.c_uint16}
        arguments, alive = [], []
        for x in case.arguments.values():
            kind = scalars[x.dtype.name]
            if x.ndim == 0:
                arguments.append(kind(x.view(np.uint16).item() if kind is ctypes.c_uint16 else x.item()))
            else:
                alive.append(np.ascontiguousarray(x))
                arguments.append(alive[-1].ctypes.data_as(ctypes.c_void_p))
        outputs = [np.empty(x.shape, x.dtype) for x in case.outputs.values()]
        arguments += [o.ctypes.data_as(ctypes.c_void_p) for o in outputs]
        if not entry(model, *arguments):
            return "error"
        for got, wanted in zip(outputs, case.outputs.values()):
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
            cases.append(Case(test))
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
            print(case.text("entry_"))
    print(f"onnx {onnx.__version__}: {len(tests)} cases; {len(cases) - len(failed)} pass, {len(failed)} fail, "
          f"{len(tests) - len(cases)} do not apply:\n\n| cases | for want of |\n|---|---|")
    none = [r for r in reasons if r.startswith("no counterpart")]
    if none:
        names = sorted({r.removeprefix("no counterpart: ") for r in none})
        print(f"| {sum(len(reasons[r]) for r in none)} | an operator: {', '.join(names)} |")
    for reason in sorted((r for r in reasons if r not in none), key=lambda r: -len(reasons[r])):
        print(f"| {len(reasons[reason])} | {reason} |")
    bad = any(r.startswith("NOT UNDERSTOOD") for r in reasons)
    sys.exit(1 if failed or bad or not cases else 0)


if __name__ == "__main__":
    main()
