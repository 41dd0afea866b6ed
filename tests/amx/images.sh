#!/bin/sh
# Convolutions of bf16 in tile registers, as a user compiles and runs them: images of bounded numbers, heights and widths
# have the bits of exact ones, with any number of threads, forward and in a training step.
#   images.sh GC DATA SCRATCH MKDATA EMULATOR
what=convolutions
. "$(dirname "$0")/common.sh"

# strides, taps that no pixel of some phases has, dilation, groups; a first layer and a depthwise one that stay as they are
cat >net.g <<'END'
hyper lr = 0.05
def net(x) {
  x = relu(conv(x, 40, 3) as a)
  x = relu(conv(x, 34, [3, 2], stride = 2, pad = 1) as b)
  x = x + sigmoid(conv(x, 34, 3, dilation = 2, pad = 2) as c)
  x = relu(conv(x, 34, 3, groups = 34) as d)
  x = relu(conv(x, 96, 1, stride = [2, 1], pad = 0) as e)
  x = conv(x, 48, 3, groups = 3) as f
  return x
}
entry run(x : f32[n <= 7, 3, 4 * h <= 20, 2 * w <= 26]) { return y = net(x) }
entry wide(x : f32[7, 3, 20, 26]) { return y = net(x) }
entry small(x : f32[2, 3, 8, 6]) { return y = net(x) }
entry flat(x : f32[5, 3, 4, 22]) { return y = net(x) }
entry train(x : f32[n <= 7, 3, 4 * h <= 20, 2 * w <= 26]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
entry train_wide(x : f32[7, 3, 20, 26]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
entry train_flat(x : f32[5, 3, 4, 22]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
# rows that are cut at their bound, and of which some are whole where the program is compiled for them
def sound(x) { return conv(x, 24, [1, 5], stride = [1, 2], pad = [0, 2]) as g }
entry sounds(x : f32[n <= 3, 40, 1, 2 * t <= 700]) { return y = sound(x) }
entry short(x : f32[2, 40, 1, 340]) { return y = sound(x) }
entry long(x : f32[3, 40, 1, 662]) { return y = sound(x) }
END
"$mkdata" npy f32 2,40,1,340 6 short.npy && "$mkdata" npy f32 3,40,1,662 7 long.npy && "$mkdata" npy f32 7,3,20,26 3 wide.npy && "$mkdata" npy f32 2,3,8,6 4 small.npy &&
  "$mkdata" npy f32 5,3,4,22 5 flat.npy || fail 'no data could be made'
CC=$amx run 0 "$gc" net.g -O2 --precision=bf16 -march=x86-64-v4 --print-schedules
for channels in 'depth=40 width=34 back=no' 'depth=34 width=40 back=yes' 'depth=34 width=96 back=no' 'depth=16 width=32 back=yes'; do
  grep -q " amx_conv .* $channels " out.txt || fail "not in tile registers: $channels"
done
grep -q ' filter nr=.* row=40 .* amx=yes ' out.txt || fail 'no gradient with respect to filters in tile registers'
grep -q ' filter nr=.* row=9 .* amx=no ' out.txt || fail 'a gradient of 3 input channels in tile registers'
for channels in 'depth=3 width=40 back=no'; do
  grep -q " conv n=.* $channels .*pairs=no" out.txt || fail "in tile registers: $channels"
done
compile_net
first_run train --x wide.npy --save first.st

for size in wide small flat; do
  results_agree $size images
done
for size in short long; do
  run 0 ./tiles $size --x $size.npy --load first.st --y $size.exact.npy
  run 0 ./tiles sounds --x $size.npy --load first.st --y $size.again.npy --threads 3 --poison
  same $size.exact.npy $size.again.npy "$size bounded rows"
done
for size in wide flat; do
  run 0 ./tiles train_$size --x $size.npy --load first.st --epochs 2 --no-shuffle --save exact.st --threads 3
  run 0 ./tiles train --x $size.npy --load first.st --epochs 2 --no-shuffle --save again.st --threads 2 --poison
  same exact.st again.st "weights of $size bounded images"
done
CC=$amx run 0 "$gc" net.g -O2 -march=x86-64-v4 -o floats
run 0 ./floats --version
grep -q amx out.txt && fail 'a program without such convolutions asks for tile registers'
finish
