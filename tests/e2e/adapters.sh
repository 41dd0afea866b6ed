#!/bin/sh
# Adapters of low rank: only they are trained, they are saved and read alone, in paths and in published names, and become a
# part of the weights. In a library, too; and which file of --save and --load has what.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
hyper lr = 0.01
def net(x, merge = false) {
  x = relu(lora(x, 12, 3, 6, drop = 0.1, merge = merge) as fc1)
  return lora(x, 4, 3, 6, drop = 0.1, merge = merge) as fc2
}
entry full(x : f32[8, 6], y : f32[8, 4]) {
  loss = mse(net(x), y)
  minimize loss with adamw(lr), only = ["*.w", "net.*.b"]
  return loss
}
entry predict(x : f32[8, 6]) { return y = net(x) }
END
cat >adapters.g <<'END'
use "net.g"
entry tune(x : f32[8, 6], y : f32[8, 4]) {
  loss = mse(net(x), y)
  minimize loss with adamw(lr), only = "*.lora"
  return loss
}
entry merge() { return zero = max(net(zeros([1, 6]), merge = true)) * 0 }
END
# names of published adapters
cat >named.g <<'END'
hyper lr = 0.01
def named(x) { return x @ weight() + low_rank(x, 5, 2, name = "model.fc") as lora }
def weight() {
  param w : f32[6, 5] = he() from "base_model.model.model.fc.weight"'
  return w
}
entry tune_named(x : f32[8, 6]) {
  loss = mean((named(x) as block - 1) ** 2)
  minimize loss with adamw(lr), only = "block.*.a", clip = 1
  return loss
}
entry show() {
  y = named(one_hot(iota(6), 6)) as block
  return y
}
entry count() {
  state seen : f32[2] = zeros()
  transient state last : f32[3] = zeros()
  seen := seen + 1
  last := last + 1
  return a = sum(seen), b = sum(last)
}
END
"$mkdata" npy f32 64,6 1 x.npy && "$mkdata" npy f32 64,4 2 y.npy || fail 'data'
run 0 "$gc" adapters.g -o tuned
sed 's/lora(x, \([0-9]*\),[^)]*)/linear(x, \1)/' net.g >plain.g
run 0 "$gc" plain.g -o plain
run 0 "$gc" named.g -o named
run 0 ./plain full --x x.npy --y y.npy --epochs 4 --save base.safetensors
cp base.safetensors kept.safetensors

# ---- what is trained, and what the program says of it ----
run 0 ./named info tune_named
[ "$(grep -c '^  optimizer adamw' out.txt)" = 2 ] || fail 'optimizer states of what is frozen'
run 0 "$gc" adapters.g --emit=ir
sed -n '/^entry tune(/,/^}/p' out.txt >tune.ir
[ "$(grep -c 'store @net.*lora' tune.ir)" = 4 ] || fail 'not the four tensors of adapters are trained'
grep 'store @net' tune.ir | grep -v lora && fail 'a frozen weight is written'
tune() { ./tuned tune --x x.npy --y y.npy --seed 3 --quiet "$@"; }
run 0 tune --epochs 4 --load 'base.safetensors,without=*.lora' --save 'adapter.safetensors,scope=*.lora'
grep -c 'lora.a' adapter.safetensors >/dev/null || fail 'the adapter is not in its file'
grep -c 'fc1.w' adapter.safetensors >/dev/null && fail 'weights are in the file of the adapter'
# both, in any order; without the adapter it is the base, which nothing has changed
run 0 ./tuned predict --x x.npy --load base.safetensors --load adapter.safetensors --y with.npy
run 0 ./tuned predict --x x.npy --load adapter.safetensors --load base.safetensors --expect with.npy --rtol 0 --atol 0
run 0 ./plain predict --x x.npy --load base.safetensors --y without.npy
run 1 ./plain predict --x x.npy --load base.safetensors --expect with.npy --quiet
run 0 ./tuned predict --x x.npy --load 'base.safetensors,without=*.lora' --expect without.npy
run 0 ./tuned full --steps 0 --load base.safetensors --load adapter.safetensors --save 'all.safetensors,without=*.lora'
run 0 ./plain predict --x x.npy --load all.safetensors --expect without.npy --rtol 0 --atol 0
# a resumed training goes on with the frozen weights of its checkpoint
run 0 tune --epochs 2 --load 'base.safetensors,without=*.lora' --checkpoint half.ckpt
run 0 tune --epochs 4 --resume half.ckpt --save 'resumed.safetensors,scope=*.lora'
same adapter.safetensors resumed.safetensors 'an adapter whose training was resumed'

# ---- merged ----
run 0 ./tuned merge --load base.safetensors --load adapter.safetensors --save 'merged.safetensors,without=*.lora'
run 0 ./plain predict --x x.npy --load merged.safetensors --expect with.npy
run 0 ./tuned merge --load base.safetensors --load adapter.safetensors --save all2.safetensors
# several parts are left out
run 0 ./tuned merge --load all2.safetensors --save some.safetensors,without=*.lora,without=net.fc2
run 0 ./tuned predict --x x.npy --load all2.safetensors,without=net.fc1.w,without=net.fc1.b --load some.safetensors --expect with.npy
run 0 ./tuned predict --x x.npy --load all2.safetensors --expect with.npy

# ---- published names ----
run 0 ./named tune_named --x x.npy --epochs 2 --save 'peft.safetensors,scope=*.lora,names=published'
grep -Eqx 'note: without --load [a-z.0-9]+ and [0-9]+ other params? keep the initial values: tune_named reads but does not train them' out.txt ||
  { fail 'no note of a base that is not loaded'; cat out.txt; }
run 0 ./named tune_named --x x.npy --epochs 2 --save 'peft.safetensors,scope=*.lora,names=published' --quiet
run 0 ./named tune_named --x x.npy --epochs 2 --save paths.safetensors --quiet
cat >look.py <<'END'
import json, struct
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: (v["shape"], struct.unpack("<%df" % ((v["data_offsets"][1] - v["data_offsets"][0]) // 4), data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]))
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
theirs, ours = read("peft.safetensors"), read("paths.safetensors")
assert set(theirs) == {"base_model.model.model.fc.lora_A.weight", "base_model.model.model.fc.lora_B.weight"}, theirs
for name, path, shape in ("lora_A", "block.lora.a", [2, 6]), ("lora_B", "block.lora.b", [5, 2]):
    there, values = theirs["base_model.model.model.fc.%s.weight" % name]
    assert there == shape
    assert values == tuple(ours[path][1][i * shape[0] + j] for j in range(shape[0]) for i in range(shape[1]))
END
run 0 python3 look.py
run 0 ./named show --load paths.safetensors --y show.npy
run 0 ./named show --load 'paths.safetensors,without=*.lora' --load 'peft.safetensors,scope=block.lora' --expect show.npy --rtol 0 --atol 0
mkdir peft && cp peft.safetensors peft/adapter_model.safetensors
run 0 ./named show --load 'paths.safetensors,without=*.lora' --load 'peft,scope=block.lora' --expect show.npy --rtol 0 --atol 0
# states: those with a published name, in paths all that are not of a run, in a checkpoint all
has() { [ "$(head -c 2000 "$1" | grep -c "\"$2\"")" -gt 0 ] && echo yes || echo no; }
run 0 ./named tune_named --x x.npy --epochs 2 --save whole.safetensors,names=published --checkpoint whole.ckpt --quiet
exactly "$(has whole.safetensors seen) $(has paths.safetensors seen) $(has paths.safetensors last) $(has whole.ckpt last)" 'no yes no yes' 'states in files'
# a run that reads what it saved goes on with one of the two, and a file of a longer state of a run is read
run 0 ./named count --steps 2 --load paths.safetensors --save paths.safetensors --quiet
run 0 ./named count --load paths.safetensors --quiet
holds out.txt 'a = 6'
holds out.txt 'b = 3'
sed 's/last : f32\[3\]/last : f32[5]/; s/transient state/state/' named.g >longer.g
run 0 "$gc" longer.g -o longer
run 0 ./longer count --save longer.safetensors --quiet
run 0 ./named count --load longer.safetensors --quiet
holds out.txt 'a = 4'
run 0 "$gc" named.g --weights=longer.safetensors -o filled
run 0 ./filled count
holds out.txt 'a = 4'
says 2 'is a file of weights with published names, and would be replaced' ./named tune_named --x x.npy --steps 1 --save 'peft.safetensors,scope=*.lora'

# ---- in a library ----
run 0 "$gc" adapters.g --emit=lib
cat >use.c <<'END'
#include "adapters.h"
#include <stdio.h>
int main(void) {
  adapters *m = adapters_open(1, 1);
  bool ok = m && adapters_load(m, "base.safetensors,without=*.lora") && adapters_load(m, "adapter.safetensors,scope=*.lora") &&
            adapters_save(m, "library.safetensors,scope=*.lora");
  bool refused = ok && !adapters_load(m, "base.safetensors,names=published") && puts(adapters_error(m)) && !adapters_load(m, "base.safetensors,scope=*.lora");
  puts(m ? adapters_error(m) : "");
  adapters_close(m);
  return !(ok && refused);
}
END
run 0 "${CC:-cc}" -I. use.c -o use -L. -ladapters -Wl,-rpath,"$PWD"
run 0 ./use
holds out.txt 'base.safetensors: has no tensor net.fc1.lora.a'
exactly "$(head -1 out.txt)" 'load: names=published is for what is saved' 'the message of a library'
same adapter.safetensors library.safetensors 'the adapter that a library saved'

# ---- what is refused ----
says 1 'base.safetensors: has no tensor net.fc1.lora.a' tune --load base.safetensors --steps 1
holds out.txt 'hint: --load base.safetensors,without=*.lora reads the rest, and leaves the initial values there'
says 2 'base.safetensors: is a file of another part of the model, and would be replaced' \
  tune --load 'base.safetensors,without=*.lora' --save 'base.safetensors,scope=*.lora' --steps 1
same base.safetensors kept.safetensors 'the base, which was not replaced'
says 2 '--save: the program has no parameters below *.nope' tune --save 'x.safetensors,scope=*.nope' --steps 1
says 2 '--load: the program has no parameters but those below *' tune --load 'base.safetensors,without=*' --steps 1
says 2 '--load: without=*.loras leaves nothing out: the program has no such parameters' tune --load base.safetensors,without=*.loras --steps 1
says 2 '--save: the program has no parameters but those below *.lora or net' tune --save 'x.safetensors,without=*.lora,without=net' --steps 1
says 2 'scope= is given twice' tune --save 'x.safetensors,scope=net,scope=net' --steps 1
says 2 'without= has no value' tune --save 'x.safetensors,without=' --steps 1
says 2 'names=published writes the names' tune --save 'x.safetensors,names=torch' --steps 1
says 2 '--load: names=published is for what is saved' tune --load 'base.safetensors,names=published' --steps 1
says 2 '--save: nothing that the file is to have has a published name' tune --save 'x.safetensors,names=published' --steps 1
echo 'entry show() { param a : f32[3] = zeros() from "b"; param b : f32[3] = ones(); return y = a + b }' >twins.g
run 0 "$gc" twins.g -o twins
says 2 '--save: a and b would have one name in the file, b' ./twins show --save 'x.safetensors,names=published'
says 2 '--checkpoint: a checkpoint has all weights' tune --checkpoint 'x.safetensors,scope=*.lora' --steps 1
says 2 '--resume: a checkpoint has all weights' tune --resume 'half.ckpt,scope=*.lora' --steps 1
says 1 '--load: no file has a tensor net.fc1.w' tune --load adapter.safetensors --load adapter.safetensors --steps 1
absent x.safetensors
cat >wrong.g <<'END'
entry train(x : f32[4, 2]) {
  loss = mean(lora(x, 3, 1) as fc)
  minimize loss with sgd(0.1), only = "*.adapter"
  return loss
}
END
says 1 'the loss depends on no param at "*.adapter"' "$gc" wrong.g --check
# ---- a file needs what the run reads or saves, and no more: the weights of a net without its second head ----
cat >single.g <<'END'
def body(x) { return relu(linear(x, 12) as fc) }
def first(x : f32[n, 6]) { return linear(body(x) as shared, 4) as out }
entry one(x : f32[n <= 16, 6]) { return y = first(x) as head }
entry learn(x : f32[n <= 16, 6], y : f32[n, 4]) {
  loss = mse(first(x) as head, y)
  minimize loss with sgd(0.1)
  return loss
}
END
cat single.g - >heads.g <<'END'
def second(x : f32[n, 6]) { return linear(relu(linear(x, 12) as mid), 3) as last }
entry two(x : f32[n <= 16, 6]) { return y = second(x) }
entry weights() {
  param kept : f32[3] = ones()
  return kept
}
entry measure(x : f32[n <= 16, 6]) { return size = mean(second(x) ** 2) }
entry train_two(x : f32[n <= 16, 6]) {
  loss = mean(second(x) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
run 0 "$gc" single.g -o single
run 0 ./single learn --x x.npy --y y.npy --save single.st --quiet
sed 's/ as / as other_/' single.g >other.g
run 0 "$gc" other.g -o other
run 0 ./other learn --x x.npy --y y.npy --save other.st --quiet
run 0 ./single one --x x.npy --load single.st --y one.npy
for how in '' --precision=bf16 --weights=q8; do
  run 0 "$gc" single.g $how -o single
  run 0 ./single one --x x.npy --load single.st --y one.npy
  run 0 "$gc" heads.g $how -o heads
  run 0 ./heads one --x x.npy --load single.st --expect y=one.npy --rtol 0 --atol 0 --seed 9
  grep -q 'initial values stay' out.txt && fail 'a note of what the run does not read'
  says 1 'single.st: has no tensor second.' ./heads two --x x.npy --load single.st
  holds out.txt 'hint: --load single.st,without=second.mid reads the rest, and leaves the initial values there'
  says 1 'single.st: has no tensor second.' ./heads one --x x.npy --load single.st --save all.st
  says 1 'single.st: has no tensor kept' ./heads weights --load single.st
  holds out.txt 'hint: --load single.st,without=kept reads the rest, and leaves the initial values there'
  says 1 'other.st: has no tensor head.shared.fc.w' ./heads one --x x.npy --load other.st
  holds out.txt 'hint: the file belongs to another model; '
  absent all.st
  [ "$how" = --weights=q8 ] && continue
  run 0 ./heads learn --x x.npy --y y.npy --load single.st
  says 1 'single.st: has no tensor second.' ./heads learn --x x.npy --y y.npy --load single.st --checkpoint c.ck
  says 1 'single.st: has no tensor second.' ./heads learn --x x.npy --y y.npy --load single.st --validate measure --validate.x x.npy
  says 1 'single.st: has no tensor second.' ./heads learn --x x.npy --y y.npy --load single.st,image=w.image
done
finish
