#!/bin/sh
# Published weights: names declared by `from`, transposed and converted, from one file and from a folder of parts, in
# programs and libraries; what does not fit is refused and changes nothing.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
let L = 2
def dense(n, d, name) {
  param w : f32[d, n] = zeros() from "{name}.weight"'
  param b : f32[n] = zeros() from "{name}.bias"
  return w, b
}
entry show() {
  e, eb = dense(130, 300, "[encoder.]embed") as e
  w0 = zeros([2, 3])
  w1 = w0
  b1 = zeros([3])
  for l in 0..L {
    w0 = w1
    scope block[l] { w1, b1 = dense(3, 2, "[model.]layers.{l}.fc") as fc }
  }
  param scale : f16[3] = ones() from "norm.weight"
  param own : f32[2] = zeros()
  state mask : bool[2, 3] = full([2, 3], false) from "mask[0]"'
  return e, eb, w0, w1, b1, scale, own, mask
}
END
cat >make.py <<'END'
import json, os, struct, sys

def save(path, tensors, meta={"format": "pt"}):
    head, data = {"__metadata__": meta}, b""
    for name, (dtype, shape, values) in tensors.items():
        code = {"F32": "f", "F16": "e", "F64": "d", "BOOL": "?", "U8": "B", "I32": "i"}.get(dtype)
        one = (struct.pack("<%d%s" % (len(values), code), *values) if code else
               b"".join(struct.pack("<f", v)[2:] for v in values))  # bf16 of what it holds
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(one)]}
        data += one
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)

def index(folder, parts, rest={}):
    files = {name: part for part, tensors in parts.items() for name in tensors}
    open(folder + "/model.safetensors.index.json", "w").write(json.dumps({"metadata": {"total_size": 1.5e3, "x": [None, {"a": "]}"}]}, "weight_map": {**files, **rest}}))
    for part, tensors in parts.items():
        save(folder + "/" + part, tensors)

first = {"embed.weight": ("BF16", [130, 300], [(i * 7 % 255) - 127 for i in range(39000)]),
         "embed.bias": ("F16", [130], [i / 8 for i in range(130)]),
         "model.layers.0.fc.weight": ("F32", [3, 2], [1, 2, 3, 4, 5, 6]), "model.layers.0.fc.bias": ("F64", [3], [1, 2, 3]),
         "attn.bias": ("U8", [4], [1, 1, 0, 0])}
second = {"model.layers.1.fc.weight": ("F64", [3, 2], [7, 8, 9, 10, 11, 12]), "model.layers.1.fc.bias": ("F32", [3], [4, 5, 6]),
          "norm.weight": ("F32", [3], [0.5, 2, 4]), "own": ("F32", [2], [8, 9]), "mask[0]": ("BOOL", [3, 2], [1, 0, 0, 0, 1, 1])}
for folder in "parts", "single", "twice", "out", "lost", "empty":
    os.makedirs(folder)
one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
index("parts", {one: first, two: second})
index("twice", {one: first, two: {**second, "attn.bias": ("U8", [1], [1])}})
index("out", {one: first}, {"norm.weight": "../all.safetensors"})
index("lost", {one: first}, {"norm.weight": two})
whole = {**first, **second}
save("all.safetensors", whole)
save("single/model.safetensors", whole)
open("damaged.json", "w").write('{"metadata": {"a": [}, "weight_map"')
def but(name, **new):
    save(name + ".safetensors", {**{k: v for k, v in whole.items() if k not in new["less"]}, **new.get("more", {})})
but("missing", less=["model.layers.1.fc.bias"])
but("turned", less=[], more={"model.layers.1.fc.weight": ("F32", [2, 3], [1] * 6)})
but("longer", less=[], more={"norm.weight": ("F32", [4], [1] * 4)})
but("whole_numbers", less=[], more={"norm.weight": ("I32", [3], [1] * 3)})
but("no_bool", less=["mask[0]"], more={"mask[0]": ("BOOL", [3, 2], [True] * 6)})
data = open("no_bool.safetensors", "rb").read()
open("no_bool.safetensors", "wb").write(data[:-1] + b"\2")

# what the program must have
w = first["embed.weight"][2]
rows = [[w[j * 300 + i] for j in range(130)] for i in range(300)]
want = [v for row in rows for v in row] + first["embed.bias"][2] + [1, 3, 5, 2, 4, 6] + [7, 9, 11, 8, 10, 12] + [4, 5, 6]
open("want.bin", "wb").write(struct.pack("<%df" % len(want), *want) + struct.pack("<3e2f", .5, 2, 4, 8, 9) + bytes([1, 0, 1, 0, 0, 1]))
END
run 0 python3 make.py
run 0 "$gc" net.g -o net
outputs='--e 1.npy --eb 2.npy --w0 3.npy --w1 4.npy --b1 5.npy --scale 6.npy --own 7.npy --mask 8.npy'
# compare NAME: the outputs, without their headers, against want.bin
compare() {
  # a header has 256 bytes
  for k in 1 2 3 4 5 6 7 8; do tail -c +257 $k.npy; done >got.bin
  same got.bin want.bin "$1"
}
for source in all.safetensors parts single; do
  # shellcheck disable=SC2086
  run 0 ./net show --load $source $outputs
  holds out.txt "$source: tensors that the program does not have, not read: 1, such as attn.bias"
  compare "what $source gives"
done

# ---- in the program ----
run 0 "$gc" net.g --weights=all.safetensors -o filled
holds out.txt 'note: all.safetensors: tensors that the program does not have, not read: 1'
# shellcheck disable=SC2086
run 0 ./filled show $outputs
compare 'what the program holds'
run 0 "$gc" net.g --emit=onnx --weights=all.safetensors
run 0 "$gc" net.onnx -o again
# shellcheck disable=SC2086
run 0 ./again predict $outputs
compare 'what the model of ONNX holds'
run 0 "$gc" net.g --weights=missing.safetensors -o no
holds out.txt 'note: missing.safetensors has 7 of 8 params; block.1.fc.b keeps their initial values'
says 1 'turned.safetensors has another type or shape of model.layers.1.fc.weight, which is f32[2,3], read transposed' "$gc" net.g --weights=turned.safetensors -o no
head -c 70000 all.safetensors >short.safetensors
says 1 'short.safetensors is cut short, or damaged' "$gc" net.g --weights=short.safetensors -o no
printf '\74\0\0\0\0\0\0\0{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}}' >twice.safetensors
says 1 'twice.safetensors has a damaged header: byte 56: duplicate object key' "$gc" net.g --weights=twice.safetensors -o no
holds out.txt 'hint: save it again; each tensor has one place in the header'

# ---- gc's own file has the program's names, and is read by them alone ----
cat >keep.g <<'END'
use "net.g"
def w() {
  param w : f32[2, 2] = zeros() from "published"'
  return w
}
entry train(x : f32[4, 2]) {
  p = w() as w
  loss = mean((x @ p - 1) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
entry look() { return w = w() as w }
END
sed -i 1d keep.g
cat >x.py <<'END'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }".ljust(117) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<8f", *range(8)))
END
run 0 python3 x.py
run 0 "$gc" keep.g -o keep
run 0 ./keep train --x x.npy --steps 3 --save keep.safetensors --quiet
run 0 ./keep look --load keep.safetensors
grep -c 'w.w' keep.safetensors >/dev/null || fail 'the saved weights do not have the path of the param'

# ---- in a library ----
run 0 "$gc" net.g --emit=lib
cat >use.c <<'END'
#include "net.h"
#include <stdio.h>
int main(void) {
  net *m = net_open(1, 1);
  float w1[6];
  bool ok = m && net_load(m, "parts") && net_show(m, NULL, NULL, NULL, w1, NULL, NULL, NULL, NULL) && w1[1] == 9;
  bool refused = m && !net_load(m, "empty");
  puts(m ? net_error(m) : "");
  net_close(m);
  return !(ok && refused);
}
END
sed -i '1i #include <stddef.h>' use.c
run 0 "${CC:-cc}" -I. use.c -o use -L. -lnet -Wl,-rpath,"$PWD"
run 0 ./use
holds out.txt 'empty: is a folder with none of model.safetensors, model.safetensors.index.json and adapter_model.safetensors'

# ---- sizes by --config ----
cat >sizes.g <<'END'
let rows = 2
let scale = 1.0
let deep = false
let kept = rows + 1
let theta = 1
entry e() { return y = full([rows, kept], scale * theta), z = full([1], 1.0 if deep else 0.0) }
END
printf '%s\n' '{"rows": 3, "scale": 2.5e0, "deep": true, "name": "x", "none": null, "list": [1], "inner": {"rows": 9, "theta": 4.0}}' >config.json
run 0 "$gc" sizes.g --config=config.json -o sizes
run 0 ./sizes e
holds out.txt '[10 10 10 10]'
holds out.txt 'z = [1]'
run 0 "$gc" sizes.g --config=config.json -D rows=1 -D theta=2 --emit=ir --passes=
holds out.txt 'f32[1,2]'
says 2 'none.json' "$gc" sizes.g --config=none.json --check
echo '{"rows": 3,' >broken.json
says 2 '--config=broken.json: line 2' "$gc" sizes.g --config=broken.json --check
echo '[3]' >list.json
says 2 'is no JSON object' "$gc" sizes.g --config=list.json --check
echo '{"rowz": 2, "name": {"scale": [2]}}' >other.json
says 2 'nothing in it has the name of a let of the program' "$gc" sizes.g --config=other.json --check
echo '{"rows": 3, "rank_pattern": {"q_proj": 4}, "alpha_pattern": {}, "bias": "none", "position_embedding_type": "absolute", "is_decoder": false, "scale_attn_weights": true}' >adapter.json
run 0 "$gc" sizes.g --config=adapter.json --check
holds out.txt 'warning: --config: rank_pattern is {"q_proj": 4}, which the program does not read'
[ "$(grep -c warning out.txt)" = 1 ] || { fail 'warnings of what changes nothing' && cat out.txt; }
echo '{"rows": 3, "position_embedding_type": "relative_key", "scale_attn_by_inverse_layer_idx": true}' >places.json
run 0 "$gc" sizes.g --config=places.json --check
holds out.txt 'warning: --config: position_embedding_type is "relative_key", which the program does not read'
holds out.txt 'warning: --config: scale_attn_by_inverse_layer_idx is true, which the program does not read'
echo '{"rows": 2.5}' >half.json
says 1 'rows' "$gc" sizes.g --config=half.json --check
says 2 '--config is for the lets of a program in .g' "$gc" -x ir sizes.g --config=config.json

# ---- what is refused ----
says 1 'missing.safetensors: has no tensor block.1.fc.b or model.layers.1.fc.bias' ./net show --load missing.safetensors
holds out.txt 'FILE,without=PATH all but a part' # of this layer the file has the weight
says 1 'turned.safetensors: model.layers.1.fc.weight is f32[2, 3], but the program has f32[2, 3], which it reads transposed' ./net show --load turned.safetensors
says 1 "leave out the ' behind the name" ./net show --load turned.safetensors
says 1 'longer.safetensors: norm.weight is f32[4], but the program has f16[3]' ./net show --load longer.safetensors
says 1 'whole_numbers.safetensors: norm.weight is i32[3], but the program has f16[3]' ./net show --load whole_numbers.safetensors
says 1 'no_bool.safetensors: mask holds 2, which is no bool' ./net show --load no_bool.safetensors
says 1 'the tensor attn.bias is in twice/model-00001-of-00002.safetensors, too' ./net show --load twice
says 1 'a file of weight_map is no name in the folder' ./net show --load out
says 1 'lost/model-00002-of-00002.safetensors' ./net show --load lost
says 1 'is a folder with none of' ./net show --load empty
mv damaged.json empty/model.safetensors.index.json
says 1 'the index is wrong at byte' ./net show --load empty
sed "s/weight\"'/weight\"/" net.g >straight.g
run 0 "$gc" straight.g -o straight
says 1 "it is transposed in the file: from \"NAME\"'" ./straight show --load all.safetensors
finish
