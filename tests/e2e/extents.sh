#!/bin/sh
# Bounded dimensions: for each extent the bits of the program that is compiled for it, with dead bytes and rows
# behind the extent poisoned, on one thread and on two; and files of any number of rows. With the folder of a driver as
# a fifth argument: the same of the GPU's code, on the interpreter; the exact programs are the CPU's.
. "$(dirname "$0")/common.sh"
unoptimised 20
on_gpu "${5-}"

# ---- one program for every class of op, with the extent n ----
cat >ops.g <<'END'
def heads(x) { return transpose(reshape(x, [dim(x, 0), 6, 2, 4]), [0, 2, 1, 3]) }
entry rows(x : f32[n <= 9, 6, 8], ids : u8[n]) {
  y = layernorm(x) as a
  e = embed(ids, 3, 8) as e
  q, k, v = split(linear(y, 24) as qkv, 3, axis = -1)
  z = transpose(attention(heads(q), heads(k), heads(v), true), [0, 2, 1, 3])
  s = softmax(x @ transpose(y, [0, 2, 1]))
  param d : f32[8] = normal(1)
  return z, s, few = linear(embed(ids, 3, 8) as few, 4) as below, c = concat([e, x[:, 0]], axis = 1), p = pad(e, [0, 1], [0, 2]), o = one_hot(ids, 3), u = cumsum(x),
         r = argsort(e), added = scatter_add(e, iota(n) // 2, x[:, 0]), w = normal(shape = [n, 5]), t = transpose(e), m = argmax(x, axis = 0), top = max(x, axis = 0),
         least = min(e), v = var(x, axis = [0, 2]), i = iota(8) + i32(n), part = reverse(x, axis = [1]), g = e * f32(n),
         d = reshape(d, [1, 8]) @ reshape(d, [8, 1]) / n
}
entry steps(x : f32[n <= 9, 6, 8]) {
  h = zeros([n, 4])
  hs = scan i in 0..6 {
    h = rnn(x[:, i], h) as cell
    yield h
  }
  return h, last = hs[5], mean = mean(hs)
}
END
cat >dense.g <<'END'
entry train(x : f32[n <= 9, 7], y : f32[n, 3]) {
  h = dropout(gelu(linear(x, 70) as one), 0.2)
  p = linear(h, 3) as two
  loss = mean((p - y) ** 2)
  minimize loss with adamw(0.01, clip = 1)
  return loss, far = max(abs(p - y)), k = n
}
END
cat >images.g <<'END'
entry train(x : f32[n <= 5, 2, 9, 9], y : u8[n]) {
  h = relu(bn(conv(x, 5, 3) as c) as b)
  h = max_pool(h, 2) |> conv(6, 3, groups = 1) as d
  h = avg_pool(relu(h), 2) |> conv(6, 3, groups = 6) as own
  logits = linear(flatten(h), 3) as last
  loss = mean(xent(logits, y))
  minimize loss with sgd(0.1, momentum = 0.9)
  return loss, accuracy = mean(argmax(logits) == y)
}
END
# sums over many rows: chunks of 256, chains of 1,024, lanes of 64
cat >long.g <<'END'
entry train(x : f32[n <= 1300, 5], y : f32[n]) {
  p = reshape(linear(x, 1) as w, [n])
  loss = mean((p - y) ** 2)
  minimize loss with sgd(0.1)
  return loss, s = sum(p), m = mean(y) + mean(p * p)
}
entry sums(x : f32[n <= 1300, 5], y : f32[n]) {
  q = x[:, 0:1] * f32(iota(40)) # several chunks, which threads share, and values that wait for their sum
  return s = sum(x, axis = 0), v = var(y), g = x' @ x, t = sum(x), u = sum(tanh(q)), c = q - mean(q)
}
END

# what a device does otherwise: rows in chunks, columns in parts, ids that are sorted, tables of a batch; tiles of pixels
cat >wide.g <<'END'
entry sums(x : f32[n <= 3000, 24], ids : u8[n], at : u8[n, 2]) {
  param table : f32[40, 3] = normal(1)
  w = sum(x, axis = 0)
  return w, far = x - mean(x), total = sum(x * x), top = max(x, axis = 0), most = argmax(x, axis = 0), order = argsort(x[:, 0:4]),
         run = cumsum(x, axis = 1), best = argmax(sum(x, axis = 1)), noise = normal(shape = [n, 3]),
         picked = gather(table, ids), hot = one_hot(ids, 7), long = var(x), rms = sqrt(mean(x ** 2, axis = 0)),
         dropped = dropout(x, 0.5), least = min(x), t = transpose(x), own = take_along(x, at, axis = 1)
}
entry train(ids : u8[n <= 3000], at : u8[n, 2], y : f32[n, 12]) {
  p = embed(ids, 40, 12) as e
  loss = mean((p - y) ** 2) + mean(take_along(p * y, at, axis = 1))
  minimize loss with adam(0.1)
  return loss
}
END
cat >pictures.g <<'END'
entry train(x : f32[n <= 9, 2, 20, 20], y : u8[n]) {
  h = relu(bn(conv(x, 16, 3) as c) as b)
  h = relu(conv(h, 16, 3, 2) as d)
  h = relu(conv(h, 16, 3, 1, groups = 2) as own)
  logits = linear(global_avg_pool(h), 3) as last
  loss = mean(xent(logits, y))
  minimize loss with sgd(0.1, momentum = 0.9)
  return loss, accuracy = mean(argmax(logits) == y)
}
END

# what a limit does to a program: images, concatenations, rows and stacks in parts, beside a bounded axis and along it
cat >tiles.g <<'END'
entry train(x : f32[n <= 6, 2, 8, 8], y : u8[n]) {
  h = concat([relu(conv(x, 36, 3) as a), tanh(conv(x, 3, 3) as b)], axis = 1)
  h = max_pool(relu(conv(h, 34, 3) as c), 2)
  loss = mean(xent(linear(flatten(h), 3) as d, y))
  minimize loss with sgd(0.1)
  return loss
}
entry words(ids : u8[n <= 6, 512], y : u8[n, 512]) {
  p = linear(tanh(linear(embed(ids, 3, 4) as e, 5) as up), 7) as down
  loss = mean(xent(p, y))
  minimize loss with sgd(0.1)
  return loss, hit = mean(argmax(p) == y)
}
entry turns(x : f32[n <= 6, 3, 24], y : f32[n, 24]) { # a weight has more bytes than all rows
  h, loss = zeros([n, 24]), zeros([])
  scan i in 0..3 {
    h = rnn(x[:, i], h * h + h) as cell
    loss = loss + mean((h - y) ** 2)
  }
  minimize loss with sgd(0.1)
  return loss
}
END
whole=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
tiled="$whole,row-tiles{rows=1024},concat-split{all=1},image-tiles{all=1},shared-stacks{all=1}"
planned=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify

files() { # the inputs of all entries, of N rows
  "$mkdata" npy f32 "$1,6,8" 1 rows_x.npy && "$mkdata" npy u8 "$1" 2 rows_ids.npy && cp rows_x.npy steps_x.npy &&
    "$mkdata" npy f32 "$1,7" 1 dense_x.npy && "$mkdata" npy f32 "$1,3" 2 dense_y.npy &&
    "$mkdata" npy f32 "$1,2,9,9" 1 images_x.npy && "$mkdata" npy u8 "$1" 3 images_y.npy &&
    "$mkdata" npy f32 "$1,24" 1 wide_x.npy && "$mkdata" npy u8 "$1" 2 wide_ids.npy &&
    "$mkdata" npy u8 "$1,2" 3 wide_at.npy && "$mkdata" npy f32 "$1,12" 4 wide_y.npy &&
    "$mkdata" npy f32 "$1,2,20,20" 1 pictures_x.npy && cp images_y.npy pictures_y.npy &&
    "$mkdata" npy f32 "$1,2,8,8" 1 tiles_x.npy && cp images_y.npy tiles_y.npy && "$mkdata" npy f32 "$1,3,24" 1 turns_x.npy &&
    "$mkdata" npy f32 "$1,24" 2 turns_y.npy &&
    "$mkdata" npy u8 "$1,512" 1 words_ids.npy && "$mkdata" npy u8 "$1,512" 2 words_y.npy &&
    "$mkdata" npy f32 "$1,5" 1 long_x.npy && "$mkdata" npy f32 "$1" 2 long_y.npy || fail 'no data could be made'
}

trained='--no-shuffle --epochs 3 --save OUT.safetensors'
check() { # check PROGRAM EXTENT
  exact "$1" "n=$2"
  files "$2"
  case $1 in
  ops)
    names="z s few c p o u r w t m top least v i part g d"
    compare ops rows "--x rows_x.npy --ids rows_ids.npy$(outputs $names)" $(printf '%s.npy ' $names)
    compare ops steps "--x steps_x.npy$(outputs h last mean)" h.npy last.npy mean.npy
    ;;
  long)
    compare long sums "--x long_x.npy --y long_y.npy$(outputs s v g t u c)" s.npy v.npy g.npy t.npy u.npy c.npy
    compare long train "--x long_x.npy --y long_y.npy $trained" safetensors
    ;;
  wide)
    names="w far total top most order run best noise picked hot long rms dropped least t own"
    compare wide sums "--x wide_x.npy --ids wide_ids.npy --at wide_at.npy$(outputs $names)" $(printf '%s.npy ' $names)
    compare wide train "--ids wide_ids.npy --at wide_at.npy --y wide_y.npy $trained" safetensors
    ;;
  tiles)
    compare tiles train "--x tiles_x.npy --y tiles_y.npy $trained" safetensors
    compare tiles words "--ids words_ids.npy --y words_y.npy $trained" safetensors
    compare tiles turns "--x turns_x.npy --y turns_y.npy $trained" safetensors
    ;;
  pictures) compare pictures train "--x pictures_x.npy --y pictures_y.npy --steps 1 --save OUT.safetensors" safetensors ;;
  *) compare "$1" train "--x $1_x.npy --y $1_y.npy $trained" safetensors ;;
  esac
}

small='1 6' large='700'
[ "${GC_TEST_LEVEL-}" = full ] && small='1 2 3 4 5' large='1 2 63 64 65 255 256 257 511 513 1023 1024 1025 1280 1300'
levels=-O2 programs='ops dense images long tiles'
[ "${GC_TEST_LEVEL-}" = full ] && programs="$programs wide pictures"
if [ -n "$fake" ] && [ "${GC_TEST_LEVEL-}" != full ]; then
  programs='ops dense'
  for program in images long tiles wide pictures; do is_drawn "extents of $program" 4 && programs="$programs $program"; done
fi
[ "${GC_TEST_LEVEL-}" = full ] && levels='-O0 -O1 -O2 -O3'
for level in $levels; do
  for program in $programs; do
    passes=
    [ $program = tiles ] && passes="--passes=$tiled,$planned"
    run 0 "$gc" $program.g $level $passes $target -o $program
    extents=$small
    [ $program = long ] && extents=$large
    [ $program = wide ] && extents="1 ${large% *} 2700"
    [ $program = images ] && extents=$(echo "$extents" | sed 's/6/3/')
    [ $program = pictures ] && extents=8
    for k in $extents; do check $program $k; done
  done
done

# ---- a gradient of one row is rounded as a sum of more is ----
if [ -z "$fake" ]; then
  level='-O2 --precision=bf16'
  run 0 "$gc" dense.g $level -o dense
  check dense 1
fi

# ---- on tensor cores the sums are those of the same kernels for that extent ----
if [ -n "$fake" ] && [ "${GC_TEST_LEVEL-}" = full ]; then
  cat >halves.g <<'END'
entry train(x : f32[n <= 200, 128], y : f32[n, 64]) {
  h = gelu(linear(x, 192) as one)
  p = linear(h, 64) as two
  loss = mean((p - y) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
def heads(x) { return transpose(reshape(x, [dim(x, 0), 24, 2, 16]), [0, 2, 1, 3]) }
entry attend(x : f32[n <= 200, 24, 32]) {
  q, k, v = split(linear(x, 96) as qkv, 3, axis = -1)
  z = attention(heads(q), heads(k), heads(v), true)
  s = x @ transpose(x, [0, 2, 1])
  return z, s
}
END
  for cc in 8.0 9.0; do
    export FAKECUDA_CC=$cc
    arch=$([ $cc = 8.0 ] && echo compute_80 || echo compute_90a)
    run 0 "$gc" halves.g --precision=bf16 --target=cuda,cpu --arch=$arch -o halves
    for k in 3 70 131; do
      { echo "let n = $k" && sed 's/n <= 200/n/' halves.g; } >halves-exact.g
      run 0 "$gc" halves-exact.g --precision=bf16 --target=cuda,cpu --arch=$arch -o halves-exact
      "$mkdata" npy f32 $k,128 1 x.npy && "$mkdata" npy f32 $k,64 2 y.npy && "$mkdata" npy f32 $k,24,32 3 a.npy ||
        fail 'no data could be made'
      for p in halves halves-exact; do
        poison=$([ $p = halves ] && echo --poison)
        run 0 ./$p train --x x.npy --y y.npy --no-shuffle --epochs 2 --save $p.safetensors --device cuda --quiet $poison
        run 0 ./$p attend --x a.npy --z $p.z.npy --s $p.s.npy --device cuda --quiet $poison
      done
      for file in safetensors z.npy s.npy; do same halves.$file halves-exact.$file "bf16 on $arch at $k"; done
    done
  done
  # in four parts, of which the last may be empty: wgmma has the sums of mma.sync
  before=gather-matmul,fold,hoist,cse,dce
  for p in bf16 tf32; do
    saved=$([ $p = bf16 ] && echo bf16 || echo f32)
    run 0 "$gc" halves.g --passes="$before,autodiff{saved=$saved},precision{products=$p},fold,hoist,cse,dce,microbatch{parts=4},$planned" \
      --target=cuda --arch=compute_80,compute_90a -o halves
    for k in 3 131; do
      "$mkdata" npy f32 $k,128 1 x.npy && "$mkdata" npy f32 $k,64 2 y.npy || fail 'no data could be made'
      for cc in 8.0 9.0; do
        export FAKECUDA_CC=$cc
        run 0 ./halves train --x x.npy --y y.npy --no-shuffle --save $cc.safetensors --device cuda --quiet --poison
      done
      same 8.0.safetensors 9.0.safetensors "$p in parts at $k"
    done
  done
  unset FAKECUDA_CC
fi

# ---- on a GPU the next batch is queued while one runs, with an extent of its own ----
if [ -n "$fake" ]; then
  files 20
  for device in cpu cuda; do
    run 0 ./dense train --x dense_x.npy --y dense_y.npy --epochs 2 --save $device.safetensors --device $device --quiet
  done
  same cuda.safetensors cpu.safetensors 'batches of 9, 9 and 2 rows'
  finish
fi

# ---- files of any number of rows: the last batch is shorter, and every row counts once ----
cat >count.g <<'END'
entry count(x : f32[n <= 4]) { return m = mean(x), y = x * 2, sum = sum(x) }
entry shapes(s : f32[4], w : f32[2, 3], m : f32[1, t <= 8], k : f32[t, 2], z : f32[1, 2, 3]) {
  return all = sum(s) + sum(w) + sum(m), rows = sum(k), same = sum(z) }
entry many(s : f32[4], w : f32[2, 3], z : f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3]) {
  return y = sum(s) * sum(w), back = reshape(z, [2, 3]) }
entry masked(x : f32[b <= 4, t <= 5], m : f32[t]) { return y = sum(x * m, 1) }
entry even(x : f32[b <= 4, 2 * h <= 6]) { return y = sum(x, 1) }
END
run 0 "$gc" count.g -o count
run 0 ./count info count
holds out.txt 'extent   n                        1 to 4'
holds out.txt 'f32[n <= 4]'
"$gc" count.g --dump-plan=json >plan.json || fail 'no plan'
holds plan.json '"extents": [{"name": "n", "bound": 4}],'
"$mkdata" raw f32 10 1 x.raw && "$mkdata" npy f32 10 1 x.npy || fail 'no data could be made'
run 0 ./count count --x x.npy --y y.npy --sum sums.npy
holds out.txt 'm = -0.0234'
[ $((($(wc -c <y.npy) - 40) % 64)) = 0 ] || fail 'y.npy is not a header of whole lines and ten rows'
run 0 ./count count --x 'x.raw[0:9]' --y y.npy
run 0 ./count count --x x.npy --y y.npy --drop-last
holds out.txt '2 of 10 rows were left out'
says 1 'error: x.npy: has 3 rows, but one batch takes 4' ./count count --x 'x.npy[0:3]' --drop-last
holds out.txt 'hint: --drop-last leaves the only batch out: give more rows, or no --drop-last'

# ---- an input without a batch is the whole file, of its axes but for those of one element ----
for shape in 1 1,2 4 2,3 1,2,3 6 3,2 1,5 5 5,1 5,2 2,5 10; do "$mkdata" npy f32 $shape 1 a$shape.npy || fail 'no data could be made'; done
printf '1,2,3\n4,5,6\n' >wide.csv && printf '1,4\n2,5\n3,6\n' >high.csv && printf '1\n2\n3\n4\n5\n6\n' >one.csv
shapes() { # shapes W M K
  set -- ./count shapes --s a4.npy --w "$1" --m "$2" --k "$3" --z "${z:-a2,3.npy}" --csv-header no --all all.npy --rows rows.npy --quiet
  "$@"
}
run 0 shapes a2,3.npy a1,5.npy a5,2.npy
cp all.npy want.npy
run 0 shapes a1,2,3.npy a5.npy a5,2.npy
same want.npy all.npy 'inputs with other axes of one element'
run 0 shapes wide.csv a5.npy a5,2.npy
run 0 shapes one.csv a5.npy a5,2.npy
z=wide.csv
run 0 shapes a2,3.npy a5.npy a5,2.npy
same want.npy all.npy 'a table for an input with an axis of one element'
z=
run 0 shapes a2,3.npy a1.npy a1,2.npy # an extent of one element
run 0 ./count many --s a4.npy --w a2,3.npy --z a2,3.npy --expect back=a2,3.npy --rtol 0 --atol 0 # of 42 axes
for w in 6 3,2; do
  says 1 "error: a$w.npy: holds f32[$(echo $w | sed "s@,@, @")], but the input w is f32[2, 3]" shapes a$w.npy a5.npy a5,2.npy
  holds out.txt 'hint: give a file of that shape'
done
says 1 'error: high.csv: 3 rows of 2 are chosen, but the input w is f32[2, 3]' shapes high.csv a5.npy a5,2.npy
holds out.txt 'hint: give a table of that shape, or one column or row of all elements'
says 1 'error: a2,5.npy: holds f32[2, 5], but the input m is f32[1, t <= 8]' shapes a2,3.npy a2,5.npy a5,2.npy
says 1 'error: a10.npy: holds f32[10], but the input k is f32[t <= 8, 2]' shapes a2,3.npy a5.npy a10.npy
says 1 'error: a2,5.npy: holds f32[2, 5], but the input k is f32[t <= 8, 2]' shapes a2,3.npy a5.npy a2,5.npy
says 1 'error: a2,5.npy: holds f32[2, 5], but the input x is f32[b <= 4, 2 * h <= 6]' ./count even --x a2,5.npy
holds out.txt 'hint: axis 1 of the file has 5 elements, and the input takes a multiple of 2 there: leave some out, or add some'
says 2 'error: this program has no entry: sums' ./count sums
holds out.txt 'hint: its entries: count, shapes, many, masked, even; --help describes them'
says 1 'error: a4.npy: t of the input m is 4, but x.raw has no axis that says t, which is then at its bound, 5' ./count masked --x x.raw --m a4.npy
holds out.txt 'hint: give x.raw as an .npy array'

# ---- one row times a matrix in panels, several of which it meets at a time, has the bits of the first of two rows ----
cat >panels.g <<'END'
def net(x) {
  h = silu(linear(x, 900) as wide)
  return linear(h, 644, bias = false) as plain, x + linear(h, 1500, bias = false) as sum, linear(x, 333) as deep
}
entry rows(x : f32[n <= 2, 1500]) {
  a, b, c = net(x) as net
  return y = concat([a, b, c], axis = 1)
}
entry one(x : f32[1, 1500]) {
  a, b, c = net(x) as net
  return y = concat([a, b, c], axis = 1)
}
END
run 0 "$gc" panels.g -O2 -o panels
run 0 "$gc" panels.g -O2 --print-schedules
holds out.txt 'streams=4'
"$mkdata" npy f32 2,1500 5 x2.npy || fail 'no data could be made'
run 0 ./panels rows --x x2.npy --seed 3 --y y2.npy
data() { tail -c +129 "$1" | head -c 9908; } # 2,477 numbers behind the header
data y2.npy >y.want
for entry in rows one; do
  for threads in 1 3; do
    rm -f y1.npy
    run 0 ./panels $entry --x 'x2.npy[0:1]' --seed 3 --threads $threads --y y1.npy
    data y1.npy >y.got
    same y.got y.want "$entry on $threads threads"
  done
done

# ---- a library: the extent is an argument, checked, and arrays have the shape of the call ----
cat >twice.g <<'END'
entry twice(x : f32[n <= 4, 3], k : u8[n]) { return y = x * 2, m = mean(x), t = transpose(x), e = gather(iota(9), k), n }
END
cat >call.c <<'END'
#include "twice.h"
#include <stdio.h>
int main(void) {
  twice *m = twice_open(1, 0);
  float x[12], y[12], mean, t[12];
  uint8_t k[4] = {1, 2, 200, 4};
  int32_t e[4], n;
  for (int i = 0; i < 12; i++) x[i] = i;
  for (int c = 0; c < 6; c++)
    if (twice_twice(m, c, x, k, y, &mean, t, e, &n))
      printf("%d: mean %g, y %g, t %g %g, e %d\n", n, mean, y[3 * n - 1], t[1], t[3 * n - 1], e[n - 1]);
    else
      printf("%s\n", twice_error(m));
  twice_close(m);
}
END
run 0 "$gc" twice.g --emit=lib -o libtwice.so
run 0 cc call.c ./libtwice.so -Wl,-rpath,"$PWD" -o call
run 0 ./call
cat >want.txt <<'END'
twice: n is 0, which is not in 1 to 4
1: mean 1, y 4, t 1 2, e 1
2: mean 2.5, y 10, t 3 5, e 2
twice: row 2 of the input k holds 200, which is not in 0 to 8
twice: row 2 of the input k holds 200, which is not in 0 to 8
twice: n is 5, which is not in 1 to 4; compile the program with a larger bound of n
END
same out.txt want.txt 'the calls of a library'
# inputs that nothing but pads read are read where the caller has them, and long arrays are copied by all threads
cat >grow.g <<'END'
entry grow(past : f32[2, n <= 700, 300], row : f32[2, 1, 300], seen : bool[2, n, 3], new : bool[2, 1, 3]) {
  return present = concat([past, row], axis = 1), s = sum(past), all = concat([seen, new], axis = 1)
}
entry make_longer(past : f32[2, n <= 700, 300], row : f32[2, 1, 300], seen : bool[2, n, 3], new : bool[2, 1, 3]) {
  return present = concat([past, row], axis = 1), all = concat([seen, new], axis = 1)
}
END
cat >grow.c <<'END'
#include "grow.h"
#include <stdio.h>
#include <string.h>
enum { ROW = 300, MOST = 701 };
static float past[2 * MOST * ROW], present[2 * MOST * ROW], row[2 * ROW], sum;
static bool seen[2 * MOST * 3], all[2 * MOST * 3], new[6];
static float number(int h, int t, int k) { return (float)(h * 1000000 + t * ROW + k); }
static unsigned char truth(int h, int t, int k) { return (h + t + k) % 2 ? 0 : 7; } /* as other languages have it */
/* n rows of each half, from row t on */
static void fill(float *x, bool *s, int t, int n) {
  for (int i = 0; i < 2 * n * ROW; i++) x[i] = number(i / ROW / n, t + i / ROW % n, i % ROW);
  for (int i = 0; i < 2 * n * 3; i++) memset(&s[i], truth(i / 3 / n, t + i / 3 % n, i % 3), 1);
}
static bool right(int n) {
  bool same = true;
  for (int i = 0; i < 2 * n * ROW; i++) same &= present[i] == number(i / ROW / n, i / ROW % n, i % ROW);
  for (int i = 0; i < 2 * n * 3; i++) same &= all[i] == (truth(i / 3 / n, i / 3 % n, i % 3) != 0);
  return same;
}
int main(void) {
  grow *m = grow_open(2, 0);
  for (int n = 1; n < MOST; n += 233) {
    fill(past, seen, 0, n), fill(row, new, n, 1);
    bool longer = grow_make_longer(m, n, past, row, seen, new, present, all) && right(n + 1);
    memset(present, 0, sizeof present);
    printf("%d %d %d\n", n, longer, grow_grow(m, n, past, row, seen, new, present, &sum, all) && right(n + 1));
    memcpy(present, past, sizeof present); /* an output in the place of the input */
    printf("%d\n", grow_make_longer(m, n, present, row, seen, new, present, all) && right(n + 1));
  }
  grow_close(m);
}
END
run 0 "$gc" grow.g --emit=lib -o libgrow.so
run 0 cc grow.c ./libgrow.so -Wl,-rpath,"$PWD" -o grow
run 0 ./grow
printf '%s\n' '1 1 1' 1 '234 1 1' 1 '467 1 1' 1 '700 1 1' 1 >want.txt
same out.txt want.txt 'a cache that is made longer'
run 0 "$gc" grow.g --emit=c -o grown.c
checks=$((checks + 1))
[ "$(grep -c 'compact = true' grown.c)" = 3 ] || fail 'not three inputs are compact: both of make_longer, and what grow sums is not'
finish
