#!/bin/sh
# Convolutions in a scan: by the kernels of those outside of it, with the bits of plain loops. A recurrent cell that trains, carries
# that lie as images, loops in loops, images from outside, strides, groups, bounded heights, a limit of memory, f64 and bf16.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
def cell(x, h) {
  z = sigmoid(conv(concat([x, h], axis = 1), 9, 3) as z)
  return (1 - z) * h + z * tanh(conv(concat([x, z * h], axis = 1), 9, 3) as n)
}
entry train(x : f32[n <= 3, 4, 3, 2 * h <= 6, w <= 7], y : i32[n]) {
  s = zeros([n, 9, 2 * h, w])
  e = conv(s + 1, 9, 1) as outside
  scan i in 0..4 { s = cell(x[:, i], max_pool(s + e, 3, stride = 1, pad = 1)) as cell }
  loss = mean(xent(linear(mean(s, axis = [2, 3]), 5) as out, y))
  minimize loss with adamw(1e-2)
  return loss
}
entry nested(x : f32[2, 17, 9, 7]) {
  s = zeros([2, 17, 9, 7])
  scan a in 0..3 {
    y = conv(x, 17, 3) as a
    scan b in 0..2 { y = relu(conv(y + x, 17, [3, 1]) as b) - (groupnorm(y, 1) as g) }
    s = s + y
    x = bn(x) as bn
  }
  return s
}
entry strided(x : f32[2, 5, 8, 12]) {
  ys = scan a in 0..3 {
    y = conv(x, 33, 3, stride = 2) as d
    x = relu(conv_transpose(y, 5, k = 2, stride = 2) as u) + x * (conv(x, 5, 3, groups = 5) as w)
    yield y
  }
  return ys, s = x
}
entry shared(x : f32[2, 5, 8, 12]) {
  p = relu(conv(x, 16, 1) as p)
  s = zeros([2, 16, 8, 12])
  scan i in 0..3 { s = relu(conv(s + p, 16, 3) as sa) + (conv(p * f32(i), 16, 3) as sb) }
  scan i in 0..2 { s = s + max_pool(p, 3, stride = 1, pad = 1) * (conv(s * p, 16, 3) as sc) }
  return ys = conv(p + s, 7, 1) as q, s
}
entry dtypes(x : f32[2, 5, 8, 12]) {
  param w : bf16[5, 5, 3, 3] = normal(std = 0.1)
  param v : f64[5, 5, 3, 3] = normal(std = 0.1)
  h, d = bf16(x), f64(x)
  scan i in 0..3 {
    h = conv2d(h, w, pad = 1)
    d = relu(conv2d(d, v, pad = 1)) + d
  }
  return ys = f32(h), s = d
}
END
plain=$("$gc" --list-passes | sed -n 's/^-O2  guard,//p' | sed 's/,layout//')
run 0 "$gc" net.g --passes="$plain" -o plain
run 0 "$gc" net.g -O2 --print-schedules -o fast
grep -E '^cpu k[0-9]+_conv' out.txt | grep -E ' (conv|conv_input_grad|conv_filter_grad) elements ' | grep -vE '_combine|entries=dtypes|depthwise' &&
  fail 'a convolution is computed element by element'
count=$(grep -cE '^cpu k[0-9]+_conv.* (conv|filter) .*entries=(train|nested|strided|shared)' out.txt)
at_least "$count" 15 'convolutions by their own kernels'
# under a limit iterations are recomputed before their backward pass
run 0 "$gc" net.g -O2 --memory-limit=80% --remarks=remat -o limited
holds out.txt 'each iteration of scan is recomputed before its backward pass'
for shape in 3,4,3,6,7 1,4,3,2,5; do
  "$mkdata" npy f32 $shape 1 x.npy && "$mkdata" npy i32 ${shape%%,*} 5 y.npy || fail 'no data could be made'
  for threads in 1 2; do
    for net in plain fast limited; do
      rm -f $net.st
      run 0 ./$net train --x x.npy --y y.npy --steps 3 --seed 2 --threads $threads --poison --save $net.st
    done
    same plain.st fast.st "training on $shape"
    same plain.st limited.st "training on $shape under a limit"
  done
done
"$mkdata" npy f32 2,17,9,7 3 nested.npy && "$mkdata" npy f32 2,5,8,12 4 strided.npy || fail 'no data could be made'
ln -s strided.npy shared.npy && ln -s strided.npy dtypes.npy
for entry in nested strided shared dtypes; do
  [ $entry = nested ] && ys= || ys=--ys
  for net in plain fast; do
    run 0 ./$net $entry --x $entry.npy --s s_$net.npy ${ys:+$ys ys_$net.npy} --poison
  done
  same s_plain.npy s_fast.npy "$entry"
  [ $entry = nested ] || same ys_plain.npy ys_fast.npy "$entry, the other output"
  rm -f s_*.npy ys_*.npy
done
finish
