#!/bin/sh
# Tensors of lists of numbers, short ones and constant tables: each dtype and nested lists against the list itself, in
# loops, as initial values, as weights of a product in a layout of its own; files of weights do not have them; exported
# models and programs of several ranks do. With the folder of a driver as a fifth argument: the same of the GPU's code.
. "$(dirname "$0")/common.sh"
unoptimised
on_gpu "${5-}"
device=${fake:+--device cuda}

cat >make.py <<'END'
import array, json, random
random.seed(11)
def floats(n): return [random.randint(-900, 900) / 128 for _ in range(n)]
def ints(n, lo, hi): return [random.randint(lo, hi) for _ in range(n)]
def nested(v, *dims):
    if len(dims) == 1: return "[" + ", ".join(map(str, v)) + "]"
    n = len(v) // dims[0]
    return "[" + ", ".join(nested(v[i * n:(i + 1) * n], *dims[1:]) for i in range(dims[0])) + "]"
many, weight = floats(317), floats(37 * 21)
lists = dict(few=("f32", floats(5), [5]), many=("f32", many, [317]), cube=("f32", floats(2 * 7 * 19), [2, 7, 19]),
             doubles=("f64", [x / 3 for x in many], [317]), halves=("f16", floats(33), [3, 11]),
             brains=("bf16", [float(x) for x in ints(33, -128, 128)], [33]), bytes=("u8", ints(60, 0, 255), [4, 15]),
             small=("i8", ints(44, -128, 127), [44]), whole=("i32", ints(51, -2**31, 2**31 - 1), [3, 17]),
             wide=("i64", ints(41, -2**40, 2**40), [41]), long=("f32", floats(20011), [20011]),
             signs=("bool", [random.choice(["true", "false"]) for _ in range(90)], [90]))
with open("t.g", "w") as f:
    texts = ",\n    ".join(f"{k} = {d}({nested(v, *s)})" for k, (d, v, s) in lists.items())
    f.write(f"entry values() {{\n  return {texts}\n}}\nlet W = {nested(weight, 37, 21)}\n")
    f.write("""def net(x : f32[n, 37]) {
  h = x @ f32(W)
  scan i in 0..21 { h = h + 0.5 * f32(W)[i + 1, i] }
  return h
}
entry run(x : f32[n <= 9, 37]) { return y = net(x) }
entry train(x : f32[n <= 9, 37]) {
  param w : f32[37, 21] = f32(W)
  state twice : f32[37, 21] = 2 * f32(W)
  loss = mean((x @ w - net(x) + 1) ** 2)
  minimize loss with sgd(0.01)
  return loss, start = max(abs(twice - 2 * f32(W)))
}
""")
with open("same.g", "w") as f:
    f.write("""entry run(x : f32[n <= 9, 37], w : f32[37, 21]) {
  h = x @ w
  scan i in 0..21 { h = h + 0.5 * w[i + 1, i] }
  return y = h
}
""")
array.array("f", floats(9 * 37)).tofile(open("x.bin", "wb"))
array.array("f", weight).tofile(open("w.bin", "wb"))
json.dump({k: [x == "true" for x in v] if k == "signs" else v for k, (_, v, _) in lists.items()}, open("want.json", "w"))
END
cat >want.py <<'END'
import json, struct, sys
code = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "i1": "b", "b1": "?", "f2": "e"}
for name, v in json.load(open("want.json")).items():
    raw = open(f"t.{name}.npy", "rb").read()
    n = struct.unpack("<H", raw[8:10])[0]
    kind = raw[10:10 + n].decode().split("'descr': '")[1][1:3]
    got = list(struct.unpack(f"<{len(v)}{code[kind]}", raw[10 + n:]))
    if got != v: sys.exit(f"{name} is {got[:4]}..., not {v[:4]}...")
END
run 0 python3 make.py
levels='-O0 -O2' names='few many cube doubles halves brains bytes small whole wide signs long'
[ -z "$fake" ] || levels=-O2
for o in $levels; do
  run 0 "$gc" t.g $o $target -o t
  run 0 "$gc" same.g $o $target -o same
  run 0 ./t values $(outputs $names | sed 's/OUT/t/g') $device --quiet
  run 0 python3 want.py
  for rows in 9 4; do
    run 0 ./t run --x "x.bin[0:$rows]" --y t.npy $device --quiet
    run 0 ./same run --x "x.bin[0:$rows]" --w w.bin --y same.npy $device --quiet
    same t.npy same.npy "a product by a table of $rows rows, $o"
  done
  run 0 ./t train --x x.bin --steps 3 --save whole.safetensors --quiet $device --log log.csv
  holds log.csv ',0'
done
run 0 ./t info
holds out.txt 'table     table.0'
grep -q 'table\.' whole.safetensors && fail 'a file of weights has a table'
run 0 ./t train --x x.bin --steps 2 --checkpoint c.ckpt --quiet $device
grep -q 'table\.' c.ckpt && fail 'a checkpoint has a table'
run 0 ./t train --x x.bin --steps 3 --resume c.ckpt --save resumed.safetensors --quiet $device
same resumed.safetensors whole.safetensors 'training that goes on'
[ -z "$fake" ] || finish

run 0 "$gc" t.g --emit=ir -O0 -o t.ir
run 0 "$gc" -x ir t.ir --emit=ir --passes= -o again.ir
grep '^state' t.ir >before.txt
grep '^state' again.ir >after.txt
same before.txt after.txt 'tables in the text of the IR'
run 0 ./t run --x x.bin --y t.npy --quiet
run 0 "$gc" t.g --emit=onnx run -o t.onnx
run 0 "$gc" t.onnx -O2 -D n=9 -o imported
run 0 ./imported predict --x x.bin --y imported.npy --quiet
same imported.npy t.npy 'the exported model'
finish
