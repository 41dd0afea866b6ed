#!/bin/sh
# --weights=q8, q4, w4 and w8a8: the runtime quantizes floats as the op does, bit for bit, from files of gc and published ones, at
# --load and in the program; results stay near those of floats; the quantized form is saved and loaded. What it changes in
# each product is measured on an entry's rows. Calibration finds the scales of activations on these.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
hyper lr = 0.1
def net(id : i32[n]) {
  param table : f32[300, 70] = normal(std = 0.5) from "table.weight"
  param out : f32[300, 70] = normal(std = 0.5) from "out.weight"'
  param tied : f32[300, 70] = normal(std = 0.5)
  param bias : f32[70] = zeros()
  x = relu(gather(table, id) + gather(tied, id) + bias)
  x = relu(linear(x, 41) as fc1)
  x = linear(x, 70) as fc2
  return x @ out' + x @ tied'
}
entry train(id : i32[4], label : i32[4]) {
  loss = mean(xent(net(id) as net, label))
  minimize loss with adamw(lr)
  return loss
}
entry predict(id : i32[n <= 6]) { return y = net(id) as net }
END
cat >op.g <<'END'
let BITS = 8
entry show(w : f32[41, 70], t : f32[300, 70], o : f32[300, 70]) {
  a, b = quantize(w, bits = BITS)
  c, d = quantize(t, bits = BITS, axis = 1)
  e, f = quantize(o, bits = BITS, axis = 1)
  return a, b, c, d, e, f
}
END
cat >look.py <<'END'
import json, struct, sys
import numpy as np

def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head, kinds = json.loads(data[8:8 + n]), {"F32": "f4", "I8": "i1", "U8": "u1", "BF16": "u2"}
    return {k: np.frombuffer(data[8 + n:][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
            for k, v in head.items() if k != "__metadata__"}

def rounded(x, bits):  # groups along the last axis
    q = x.astype(np.float64)
    for k in range(0, x.shape[1], 32):
        g = q[:, k:k + 32]
        m = np.take_along_axis(g, abs(g).argmax(1)[:, None], 1)
        s = (-m / 2 ** (bits - 1)).astype("f4").view("u4")
        s = ((s + 0x7FFF + (s >> 16 & 1)) & 0xFFFF0000).view("f4")
        g[:] = np.clip(np.rint((g / np.where(s == 0, 1, s)).astype("f4")), -2 ** (bits - 1), 2 ** (bits - 1) - 1) * s
    return q

if sys.argv[1] == "floats":
    w = read(sys.argv[2])
    np.save("w.npy", w["net.fc2.w"])
    np.save("t.npy", w["net.table"])
    np.save("o.npy", w["net.out"])
    np.save("id.npy", np.array([3, 299, 64, 7], "i4"))
    np.save("ids.npy", np.arange(5, 18, dtype="i4") ** 2)
    head, body = {"__metadata__": {"format": "pt"}}, b""
    for name, x in w.items():
        x = np.ascontiguousarray(x)
        name = {"net.table": "table.weight", "net.out": "out.weight"}.get(name, name)
        x = np.ascontiguousarray(x.T) if name == "out.weight" else x
        head[name] = {"dtype": "F32", "shape": x.shape, "data_offsets": [len(body), len(body) + x.nbytes]}
        body += x.tobytes()
    text = json.dumps(head).encode()
    open("published.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
elif sys.argv[1] == "integers":
    q, bits = read(sys.argv[2]), sys.argv[3]
    for out, name in (("a", "net.fc2.w.q"), ("c", "net.table.q"), ("e", "net.out.q")):
        assert (np.load(out + ".npy") == q[name + bits]).all(), name
    assert "net.fc2.w" not in q and "net.tied" not in q and q["net.fc2.w.scale"].shape == (2, 70) and q["net.table.scale"].shape == (300, 3)
elif sys.argv[1] == "errors":  # that --remarks=quantize tells
    w, text, bits = read(sys.argv[2]), open("remarks.txt").read(), int(sys.argv[3])
    for name, x in (("net.fc2.w", w["net.fc2.w"].T), ("net.out", w["net.out"])):
        q = rounded(x, bits)
        error = 100 * np.sqrt(((q - x) ** 2).sum() / (x.astype("f8") ** 2).sum())
        line = next(l for l in text.splitlines() if "remark: " + name + " is" in l)
        assert abs(float(line.split("relative error ")[1].split(" ")[0]) - error) < 0.006 * error, (line, error)
elif sys.argv[1] == "measured":  # by --weights=q4,errors or w8a8,errors or FILE,w8a8,static,errors
    w, got, bits, both = read(sys.argv[2]), open("measured.txt").read().splitlines(), int(sys.argv[3]), sys.argv[4] == "both"
    id, errors = np.load("ids.npy"), {}
    def fixed(x, path):  # by the scales of calibration, which has seen these rows
        s = (w[path + ".input_scale"].astype("u4") << 16).view("f4")
        for k in range(0, x.shape[1], 32):
            assert (abs(s[k:k + 32] / (abs(x[:, k:k + 32]).max() / 127) - 1) < 0.005).all(), path
        return np.clip(np.rint(x / s), -128, 127) * s
    def linear(x, path, m):
        left = fixed(x, path) if sys.argv[4] == "static" else rounded(x, 8) if both else x
        y, of = x @ m.T, left @ rounded(m, bits).T
        errors[path] = np.sqrt((((y - of) ** 2).sum(1) / (y ** 2).sum(1)).mean())
        return y
    x = np.maximum(w["net.table"][id] + w["net.tied"][id] + w["net.bias"], 0)
    x = np.maximum(linear(x, "net.fc1.w", w["net.fc1.w"].T) + w["net.fc1.b"], 0)
    x = linear(x, "net.fc2.w", w["net.fc2.w"].T) + w["net.fc2.b"]
    linear(x, "net.out", w["net.out"])
    assert len(got) == 3, got
    for line, (path, error) in zip(got, errors.items()):
        name, value = line.split(" = ")
        assert name == "error." + path and abs(float(value) - error) < 2e-3 * error, (line, error)
else:
    a, b = np.load(sys.argv[2]), np.load(sys.argv[3])
    error = np.sqrt(((a - b) ** 2).mean() / (a ** 2).mean())
    assert 1e-4 < error < float(sys.argv[4]), error
END
run 0 "$gc" net.g -o net
run 0 ./net train --steps 0 --seed 5 --save w.safetensors
run 0 python3 look.py floats w.safetensors
run 0 ./net predict --id id.npy --load w.safetensors --output.y y.npy
run 0 ./net info
grep ' parameters$' out.txt >parameters.txt
for bits in 8 4; do
  run 0 "$gc" net.g --weights=q$bits -o net$bits
  run 0 ./net$bits info
  grep -qxF "$(cat parameters.txt)" out.txt || fail 'parameters are other ones'
  run 2 ./net$bits train
  run 0 ./net$bits predict --id id.npy --load w.safetensors --output.y q.npy
  run 0 ./net$bits predict --id id.npy --load w.safetensors --save q$bits.safetensors
  run 0 "$gc" op.g -D BITS=$bits -o op
  rm -f a.npy c.npy e.npy # of the other width
  run 0 ./op show --w w.npy --t t.npy --o o.npy --output.a a.npy --output.c c.npy --output.e e.npy
  run 0 python3 look.py integers q$bits.safetensors $bits
  run 0 python3 look.py near y.npy q.npy $(test $bits = 8 && echo 0.02 || echo 0.25)
  run 0 ./net$bits predict --id id.npy --load q$bits.safetensors --output.y again.npy
  run 0 cmp q.npy again.npy
  run 0 ./net$bits predict --id id.npy --load published.safetensors --output.y again.npy
  run 0 cmp q.npy again.npy
done
run 0 "$gc" net.g --weights=w.safetensors,q8 --remarks=quantize -o own
cp out.txt remarks.txt
run 0 python3 look.py errors w.safetensors 8
grep -q 'no relative errors' remarks.txt && fail 'errors are told of a file, and a remark says that there are none'
run 0 "$gc" net.g --weights=w.safetensors,q4 --remarks=quantize -o own
cp out.txt remarks.txt
run 0 python3 look.py errors w.safetensors 4
run 0 ./own predict --id id.npy --output.y again.npy
run 0 cmp q.npy again.npy
run 2 "$gc" net.g --weights=q8 --passes=layout -o own
says 2 '--weights quantizes to q8, q4, w8, w4, w8a8, w4a8, w8a16 or w4a16, not to q6' "$gc" net.g --weights=w.safetensors,q6 -o own
says 2 '--weights quantizes to q8, q4, w8, w4, w8a8, w4a8, w8a16 or w4a16, not to w8a4' "$gc" net.g --weights=w8a4 -o own
says 2 '--weights quantizes to q8, q4, w8, w4, w8a8, w4a8, w8a16 or w4a16, not to int8' "$gc" net.g --weights=w.safetensors,int8 -o own
says 2 'gc: error: --weights: cannot read w8a: ' "$gc" net.g --weights=w8a -o own
# activations as they are: the files of q4, and nearly its results
run 0 "$gc" net.g --weights=w4 -o net4w
run 0 ./net4w predict --id id.npy --load q4.safetensors --expect y=q.npy --rtol 0 --atol 0.002
run 0 "$gc" net.g --weights=q4 --emit=ir -o q4.ir
run 0 "$gc" net.g --weights=w4a16 --emit=ir -o w4a16.ir
same q4.ir w4a16.ir 'q4 and w4a16'
# activations of 16 bits by integers of either width have the same bits at each level; foreign bytes below -2^15 stand for this
cat >wide.g <<'END'
entry f(x : f32[5, 75], l : i8[5, 150], r : f32[5, 3], w : f32[75, 70], p : f32[75, 70]) {
  a, b = quantize(w)
  c, d = quantize(p, bits = 4)
  left = dequantize(l, bf16(r), axis = 1, bits = 16)
  return y = linear(x, 70) as fc, z = left @ dequantize(a, b), u = left @ dequantize(c, d, extent = 75)
}
END
cat >wide.py <<'END'
import numpy as np
rng = np.random.default_rng(1)
l = rng.integers(-128, 128, (5, 150)).astype("i1")
l[:, ::7] = l[:, 1::7] = -128
r = np.exp2(rng.integers(-20, -10, (5, 3))).astype("f4")
np.save("x.npy", rng.standard_normal((5, 75)).astype("f4")), np.save("l.npy", l), np.save("r.npy", r)
wide = np.maximum(l[:, ::2].astype("f8") + 256.0 * l[:, 1::2], -2 ** 15) * np.repeat(r, 32, 1)[:, :75]
for name, out, end in ("w", "z", 128), ("p", "u", 8):  # scales of 1
    w = rng.integers(-end, end, (75, 70)).astype("f4")
    w[::32] = -end
    np.save(name + ".npy", w), np.save(out + ".npy", (wide @ w).astype("f4"))
END
run 0 python3 wide.py
levels='x86-64 x86-64-v3 x86-64-v4 icelake-server'
[ "$(uname -m)" = x86_64 ] || levels=native
run 0 "$gc" wide.g --weights=q4 "-march=$(echo $levels | tr ' ' ,)" -o wide
for level in $levels; do
  case $level in *-v3) needs=avx2 ;; *-v4) needs=avx512vl ;; icelake*) needs=avx512_vbmi2 ;; *) needs=sse2 ;; esac
  [ "$level" = native ] || grep -qw $needs /proc/cpuinfo || { not_tested "q4 of the level $level: this processor lacks $needs"; continue; }
  to=other.npy
  [ -e first.npy ] || to=first.npy
  [ "$level" = native ] || set -- --device "cpu:$level"
  run 0 ./wide f --x x.npy --l l.npy --r r.npy --w w.npy --p p.npy --output.y $to --expect z=z.npy --expect u=u.npy --rtol 1e-5 "$@"
  [ $to = first.npy ] || same first.npy other.npy "q4 of the level $level"
done
# activations of 8 bits: the files of q8, other products
run 0 "$gc" net.g --weights=w8a8 -o net8
run 0 ./net8 predict --id id.npy --load q8.safetensors --output.y q.npy
run 0 python3 look.py near y.npy q.npy 0.03
run 0 ./net8 predict --id id.npy --load w.safetensors --output.y again.npy
run 0 cmp q.npy again.npy
# what quantization changes in each product, of all rows, three batches, once of two that are equal; some params stay as they are
sed 's/return y = net(id) as net/&, best = argmax(net(id) as net)/' net.g >twice.g
grep -q best twice.g || fail 'the net is not there twice'
for form in 'q4 4 one' 'w8a8 8 both'; do
  set -- $form
  run 0 "$gc" twice.g "--weights=$1,errors,without=*.tied,without=net.table" -o measured
  run 0 ./measured predict --id ids.npy --load w.safetensors --quiet
  cp out.txt measured.txt
  run 0 python3 look.py measured w.safetensors "$2" "$3"
done
# the scales of activations by calibration, of all rows and of two runs, in which it may be cut
run 0 "$gc" twice.g --weights=w8a8,calibrate,without=*.tied,without=net.table -o calibrate
run 0 ./net predict --id ids.npy --load w.safetensors --output.y y.npy
python3 -c 'import numpy as np; x = np.load("ids.npy"); np.save("first.npy", x[:7]), np.save("last.npy", x[7:])'
run 0 ./calibrate predict --id ids.npy --load w.safetensors --save whole.safetensors --expect y=y.npy
run 0 ./calibrate predict --id first.npy --load w.safetensors --save part.safetensors
run 0 ./calibrate predict --id last.npy --load part.safetensors --save scales.safetensors
same whole.safetensors scales.safetensors 'scales of one run and of two'
run 0 "$gc" twice.g --weights=scales.safetensors,w8a8,static,errors,without=*.tied,without=net.table -o measured
run 0 ./measured predict --id ids.npy --quiet
cp out.txt measured.txt
run 0 python3 look.py measured scales.safetensors 8 static
run 0 "$gc" twice.g --weights=w8a8,static,without=*.tied,without=net.table -o static
run 0 ./static predict --id ids.npy --load scales.safetensors --output.y q.npy
run 0 python3 look.py near y.npy q.npy 0.03
says 1 'w.safetensors: has no tensor net.out.input_scale' ./static predict --id ids.npy --load w.safetensors
run 0 ./net8 predict --id id.npy --load scales.safetensors
says 1 'gc: error: --weights: w.safetensors has no tensor net.out.input_scale: a program of --weights=w8a8,calibrate writes it with --save' "$gc" twice.g --weights=w.safetensors,w8a8,static -o own
sed 's/  x = linear(x, 70) as fc2/  scope out { param input_scale : f32[70] = zeros() }\n  x = linear(x, 70) as fc2 + input_scale/' net.g >own.g # by its own name
run 0 "$gc" own.g --weights=w.safetensors -o own
says 2 'gc: error: --weights=q8 quantizes no activations to 8 bits: calibrate and static stand behind w8a8 and w4a8' "$gc" net.g --weights=q8,static -o own
says 2 'gc: error: behind --weights=w8a8 stands calibrate, which finds scales of activations, and nothing that applies them: errors' "$gc" net.g --weights=w8a8,errors,calibrate -o own
says 2 "gc: error: behind the form of --weights stand errors, calibrate, static and without=PATH, not 'eror'" "$gc" net.g --weights=q8,eror -o own
says 2 "gc: error: behind the form of --weights stand errors, calibrate, static and without=PATH, not 'without='" "$gc" net.g --weights=w.safetensors,q8,errors,without= -o own
says 2 'gc: error: --weights: without=net.fc3 leaves nothing out: no matrix is below this path' "$gc" net.g --weights=q8,without=net.fc1,without=net.fc3 -o own
says 2 '--weights quantizes to q8, q4, w8, w4, w8a8, w4a8, w8a16 or w4a16, not to q6' "$gc" net.g --weights=q6,errors -o own
# the weights of an ONNX model are quantized as the program's
echo 'entry s(x : f32[4, 64]) { return y = linear(x, 70) as fc }' >linear.g
python3 -c 'import numpy as np; np.save("x.npy", np.ones((4, 64), "f4"))'
run 0 "$gc" linear.g --emit=onnx -o linear.onnx
run 0 "$gc" linear.onnx --weights=q8 -o own
rm -f y.npy again.npy # of the other net
run 0 ./own predict --x x.npy --output.y y.npy
run 0 "$gc" linear.g --weights=q8 -o own
run 0 ./own s --x x.npy --output.y again.npy
run 0 cmp y.npy again.npy
finish
