#!/bin/sh
# A residual net with batch norms on made-up images: it learns them by heart, with the same bits at every
# level of optimisation and on any number of threads, and remembers its running moments.
. "$(dirname "$0")/common.sh"
lightly_optimised # large
optimiser=${CC:-cc}
unoptimised
source=$here/docs/examples/resnet20.g
small="-D N=16 -D S=8 -D depth=1"
"$mkdata" idx u8 64,3,8,8 1 images.idx && "$mkdata" idx u8 64 2 labels.idx || fail 'no data could be made'
rows="--image images.idx --label labels.idx"

for level in 0 1 2; do
  run 0 "$gc" "$source" $small -O$level -o r$level
  run 0 ./r$level train $rows --steps 6 --lr 0.05 --seed 3 --save w$level.safetensors
  same w0.safetensors w$level.safetensors "weights of -O0 and -O$level"
done
run 0 "$gc" "$source" $small -O2 --memory=none -o apart
run 0 ./apart train $rows --steps 6 --lr 0.05 --seed 3 --threads 3 --poison --save wa.safetensors
same w0.safetensors wa.safetensors 'weights without sharing, on 3 threads, poisoned'

# ---- labels of made-up images are learnt by heart: the loss falls far below the logarithm of 10 ----
# All images make one batch. The moments of small batches differ, and while weights change the running ones
# lag behind, so nothing could be said about what they are good for.
# It trains for long: optimised, it is compiled and run sooner.
run 0 env CC="$optimiser" "$gc" "$source" -D N=64 -D S=8 -D depth=1 -O2 -o whole
run 0 ./whole train $rows --epochs 120 --lr 0.05 --seed 3 --log losses.csv --save learnt.safetensors
loss=$(tail -n 1 losses.csv | cut -d, -f3)
exactly "$loss" 0.00060103834 'the last loss'

# ---- weights at rest: the running moments become those of the batch, and both name the same images ----
run 0 ./whole train $rows --epochs 80 --lr 0 --seed 3 --load learnt.safetensors --log rest.csv --save rest.safetensors
run 0 ./whole test $rows --load rest.safetensors --quiet
accuracy=$(sed -n 's/^accuracy = //p' out.txt)
exactly "$accuracy" 1 'accuracy with running moments'
[ "$accuracy" = "$(tail -n 1 rest.csv | cut -d, -f4)" ] || fail 'running moments name other images than those of the batch'

# ---- the whole net has the published number of parameters ----
run 0 "$gc" "$source" -O0 --emit=ir -o whole.ir
parameters=$(python3 -c 'import math, re
print(sum(math.prod(map(int, d.split(","))) for d in re.findall(r"^param @\S+ : f32\[([\d,]*)\]", open("whole.ir").read(), re.M)))')
exactly "$parameters" 272282 'parameters'
finish
