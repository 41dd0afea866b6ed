#!/bin/sh
# The same bits, on made-up data: weights whatever the threads, the strategy of memory, the poison; the
# predictions of a second process; and the process uses the memory that `info` announced.
. "$(dirname "$0")/common.sh"
lightly_optimised
digits 960
images=images.idx.gz labels=labels.idx.gz
source=$here/docs/examples/mnist.g
train="--image $images --label $labels"

# ---- the same weights on any number of threads, also on more than there are cores ----
run 0 "$gc" "$source" -O2 -o mnist
run 0 ./mnist train $train --epochs 3 --seed 1 --save w.safetensors --threads 1
for threads in 1 2 3 16; do
  run 0 ./mnist train $train --epochs 3 --seed 1 --save "w$threads.safetensors" --threads $threads
  same w.safetensors "w$threads.safetensors" "$threads threads"
  run 0 ./mnist train $train --epochs 3 --seed 1 --save "p$threads.safetensors" --threads $threads --share-parts yes
  same w.safetensors "p$threads.safetensors" "$threads threads that share parts"
done
run 0 ./mnist train $train --epochs 3 --seed 2 --save other.safetensors
cmp -s w.safetensors other.safetensors && fail 'another seed gave the same weights'

# ---- also where a loop begins or ends an entry: from one iteration to the next nobody waits ----
cat >loop.g <<'END'
entry f(x : f32[64, 256, 256], w : f32[256, 256]) {
  ys = scan i in 0..64 { yield relu(x[i] @ w) }
  return ys
}
END
run 0 "$gc" loop.g -O2 -o loop
"$mkdata" npy f32 64,256,256 1 x.npy && "$mkdata" npy f32 256,256 2 w.npy || fail 'no data could be made'
run 0 ./loop f --x x.npy --w w.npy --ys ys1.npy --threads 1
for threads in 2 4 2 4; do
  run 0 ./loop f --x x.npy --w w.npy --ys ys.npy --threads $threads --share-parts yes
  same ys1.npy ys.npy "a loop on $threads threads that share parts"
done

# ---- and on one CPU, or within the limits of control groups ----
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
run 0 taskset -c "$cpu" ./mnist train $train --epochs 3 --seed 1 --save one.safetensors --threads 16
same w.safetensors one.safetensors 'one CPU'
# in_group CONTROLLER FILE VALUE: makes a group, $folder, whose file has the value; fails where none can be made
in_group() {
  folder=/sys/fs/cgroup
  [ ! -d "$folder/$1" ] || folder=$folder/$1
  folder=$folder/gc-test-$$
  mkdir "$folder" 2>group.txt || return 1
  [ -w "$folder/$2" ] && echo "$3" 2>group.txt >"$folder/$2" && return 0
  rmdir "$folder"
  return 1
}
inside() { sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$folder" "$@"; }
if in_group cpu cpu.cfs_quota_us 100000 || in_group cpu cpu.max '100000 100000'; then
  run 0 inside ./mnist train $train --epochs 3 --seed 1 --save quota.safetensors --threads 16
  same w.safetensors quota.safetensors 'a quota of one CPU'
  run 0 inside ./mnist info train
  mv out.txt quota.txt
  run 0 ./mnist info train --threads 1
  cmp -s quota.txt out.txt || fail 'a quota of one CPU is for one thread'
  rmdir "$folder"
else
  not_tested 'a quota of CPUs: no control group can be made here'
fi
if in_group memory memory.limit_in_bytes 134217728 || in_group memory memory.max 134217728; then
  echo 'entry f() {
  state big : f32[50000000] = zeros()
  return s = sum(big)
}' >big.g
  run 0 "$gc" big.g -o big
  says 3 'bytes of memory, and the control group of this process has 134217728' inside ./big f
  rmdir "$folder"
else
  not_tested 'a limit of memory: no control group can be made here'
fi

# ---- and from another compiler ----
if command -v clang-16 >clang.txt; then
  run 0 env CC=clang-16 "$gc" "$source" -O2 -o mnist_clang
  run 0 ./mnist_clang train $train --epochs 3 --seed 1 --save clang.safetensors
  same w.safetensors clang.safetensors 'weights of programs that gcc and clang compiled'
else
  not_tested 'programs compiled by clang: there is no clang-16 here'
fi

# ---- a second process predicts the same bits ----
run 0 ./mnist predict --image "$images[800:900]" --load w.safetensors --digit digit1.npy --p p1.npy --threads 1
run 0 ./mnist predict --image "$images[800:900]" --load w.safetensors --digit digit2.npy --p p2.npy --threads 3
same digit1.npy digit2.npy predictions
same p1.npy p2.npy probabilities
run 0 ./mnist predict --image "$images[800:900]" --load w.safetensors --expect p=p1.npy --rtol 0 --atol 0
run 1 ./mnist predict --image "$images[800:900]" --load other.safetensors --expect p=p1.npy

# ---- poison and every strategy of memory ----
run 0 ./mnist train $train --epochs 1 --seed 1 --save short.safetensors
run 0 ./mnist train $train --epochs 1 --seed 1 --save poison.safetensors --poison
same short.safetensors poison.safetensors poison
for memory in none inplace pool color pack; do
  run 0 "$gc" "$source" -O2 --memory=$memory -o "mnist_$memory"
  run 0 "./mnist_$memory" train $train --epochs 1 --seed 1 --save "m_$memory.safetensors" --poison
  same short.safetensors "m_$memory.safetensors" "--memory=$memory"
  "./mnist_$memory" info train | sed -n 's/,//g; s/^ *arena *\([0-9]*\).*as planned.*/\1/p' >"arena_$memory"
done

# ---- the sign of a sum that underflows, by each kernel of filters' gradients ----
cat >zero.g <<'END'
hyper tiny = 1e-30
def filters(x, o, groups) {
  param w : f32[o, dim(x, 1) / groups, 1, 1] = zeros()
  w = w if len(shape(x)) == 4 and dim(x, 0) > 1 else f64(w)
  y = conv2d(x, w, groups = groups)
  return 1 / grad(sum(y * broadcast(-x[0, 0, 0, 0], shape(y))), w)
}
entry whole() { return s = filters(broadcast(tiny, [2, 3, 4, 5]), 4, 1) as whole }
entry depthwise() { return s = filters(broadcast(tiny, [2, 8, 4, 5]), 8, 8) as depthwise }
entry double() { return s = filters(broadcast(f64(tiny) ** 8, [1, 3, 4, 5]), 4, 1) as double }
END
run 0 "$gc" zero.g -O2 -o zero
for entry in whole depthwise double; do
  run 0 ./zero $entry
  grep -q -- -inf out.txt || fail "$entry: no sum is -0"
  if grep -q "[[ ]inf" out.txt; then fail "$entry: a sum of -0 became 0"; fi
done

# ---- from IR that has its layouts ----
run 0 "$gc" "$source" -O2 --emit=ir -o laid.ir
run 0 "$gc" -x ir laid.ir -o mnist_ir
run 0 ./mnist_ir train $train --epochs 1 --seed 1 --save ir.safetensors
same short.safetensors ir.safetensors 'from IR'
pack=$(cat arena_pack) pool=$(cat arena_pool) inplace=$(cat arena_inplace) none=$(cat arena_none)
at_most "$pack" "$pool" 'arena with pack against pool'
at_most "$pool" $((inplace - 1)) 'arena with pool against inplace'
at_most "$inplace" $((none - 1)) 'arena with inplace against none'

# ---- what is behind the last column of a weight in panels counts for nothing: poison, for one ----
cat >wide.g <<'END'
entry train(x : f32[4, 20]) {
  loss = mean(exp(linear(x, 170) as head))
  minimize loss with sgd(0.1)
  return loss
}
END
"$mkdata" npy f32 4,20 5 x.npy || fail 'no data could be made'
run 0 "$gc" wide.g -O0 -o wide
run 0 ./wide train --x x.npy --epochs 2 --save plain.safetensors
run 0 ./wide train --x x.npy --epochs 2 --save poisoned.safetensors --poison
same plain.safetensors poisoned.safetensors 'poison behind the last column'

# ---- sums of nothing but -0 are -0: no compiler makes adding where(c, x, -0.0) into adding x or +0 ----
cat >zeros.g <<'END'
def signs(x, c : u8[m, n]) {
  y = where(c > 127, x, -0.0)
  return stack([sum(y), sum(sum(y, axis = 0)), sum(sum(y, axis = 1)), sum(where(x > 0, x, -0.0)),
                sum(sum(where(x > 0, x, -0.0), axis = 0)), cumsum(sum(y, axis = 0))[-1], f32(sum(f64(y), axis = 0))[0]])
}
entry wide(x : f32[5, 700], c : u8[5, 700]) { return y = signs(x, c), columns = sum(where(c > 127, x, -0.0), axis = 0) }
entry tall(x : f32[700, 5], c : u8[700, 5]) { return y = signs(x, c), columns = sum(where(c > 127, x, -0.0), axis = 0) }
entry both(x : f32[37, 67], c : u8[37, 67]) { return y = signs(x, c), columns = sum(where(c > 127, x, -0.0), axis = 0) }
END
cat >zeros.py <<'END'
import struct, sys
def npy(name, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
for name, shape in ("wide", (5, 700)), ("tall", (700, 5)), ("both", (37, 67)):
    n = shape[0] * shape[1]
    npy(f"x_{name}.npy", "<f4", shape, struct.pack(f"<{n}f", *[-0.0] * n))
    npy(f"c_{name}.npy", "|u1", shape, bytes(i * 97 % 251 for i in range(n)))
    npy(f"y_{name}.npy", "<f4", (7,), struct.pack("<7f", *[-0.0] * 7))
    npy(f"columns_{name}.npy", "<f4", (shape[1],), struct.pack(f"<{shape[1]}f", *[-0.0] * shape[1]))
END
run 0 python3 zeros.py
for isa in x86-64 x86-64-v3 native; do
  [ "$isa" = native ] || [ "$(uname -m)" = x86_64 ] || continue
  for level in 0 2; do
    run 0 "$gc" zeros.g -O$level -march=$isa -o zeros
    for sums in wide:700 tall:5 both:67; do
      entry=${sums%:*}
      run 0 ./zeros $entry --x x_$entry.npy --c c_$entry.npy --y y.npy --columns columns.npy
      for file in y:7 columns:"${sums#*:}"; do
        bytes=$((4 * ${file#*:}))
        tail -c $bytes "${file%:*}.npy" >got.bytes && tail -c $bytes "${file%:*}_$entry.npy" >want.bytes
        same got.bytes want.bytes "${file%:*} of $entry at -O$level for $isa"
      done
    done
  done
done

# ---- rows that a pad leaves out, narrow enough that gcc writes the loop over their elements out ----
widths='2 3 6 7 8 10'
for width in $widths; do
  "$mkdata" npy f32 8,$width 5 wide$width.npy || fail 'no data could be made'
  cat <<END
entry padded$width(x : f32[8, $width]) { return y = pad(x, [0, 0], [3, 0]), z = pad(x, [2, 1], [3, 2]) }
entry slope$width(x : f32[8, $width]) { return y = grad(sum(x[0:3] ** 2), x), z = grad(sum(split(x, 2)[0] ** 2), x) }
END
done >pad.g
for level in 0 2; do
  run 0 "$gc" pad.g "-O$level" -march=native -o pad
  for width in $widths; do
    for entry in padded$width slope$width; do
      run 0 ./pad $entry --x wide$width.npy --y "y.$entry.$level.npy" --z "z.$entry.$level.npy" --quiet
      [ $level = 0 ] || same "y.$entry.0.npy" "y.$entry.2.npy" "y of $entry at -O0 and -O2"
      [ $level = 0 ] || same "z.$entry.0.npy" "z.$entry.2.npy" "z of $entry at -O0 and -O2"
    done
  done
done

# ---- the process's memory is what info said, plus code ----
# Anonymous resident bytes at their peak (code is mapped and not counted), of which the rows of the data
# files are 960 times 785. 512 KiB are left for what is no region: the C library's own heap, the touched
# part of the threads' stacks, writable data of the libraries.
if [ -r /proc/self/status ] && grep -q RssAnon /proc/self/status; then
  announced=$(./mnist info train | sed -n 's/,//g; s/^ *total *\([0-9]*\).*/\1/p')
  expected=$((announced + 960 * 785))
  ./mnist train $train --epochs 1000000 --threads 2 --quiet >out.txt 2>&1 &
  pid=$! used=0 steady=0
  for _ in $(seq 600); do # until it has run for long enough to have touched all: a loaded machine takes longer
    sleep 0.1
    [ "$used" -ge $((expected * 9 / 10)) ] && steady=$((steady + 1))
    [ $steady -lt 10 ] || break
    now=$(awk '/^RssAnon/ {print $2 * 1024}' /proc/$pid/status 2>/dev/null)
    [ -n "$now" ] && [ "$now" -gt "$used" ] && used=$now
  done
  kill $pid && wait $pid
  echo "info announces $announced bytes, with the data $expected; the process holds $used"
  at_most "$used" $((expected + 524288)) 'bytes of the process'
  at_least "$used" $((expected * 9 / 10)) 'bytes of the process'
else
  not_tested "the bytes of a process: this kernel does not tell them"
fi
finish
