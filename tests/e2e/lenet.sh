#!/bin/sh
# Real digits: a small convolutional net learns 8,000 of them and is tested on 2,000 others.
. "$(dirname "$0")/common.sh"
lightly_optimised
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
need "$images" "$labels"
train="--image $images[0:8000] --label $labels[0:8000]"
test="--image $images[8000:10000] --label $labels[8000:10000]"

run 0 "$gc" "$here/docs/examples/lenet.g" -O2 -o lenet
run 0 ./lenet train $train --epochs 5 --seed 1 --save w.safetensors
run 0 ./lenet test $test --load w.safetensors --quiet
cp out.txt figure.txt
accuracy=$(sed -n 's/^accuracy = //p' figure.txt)
exactly "$accuracy" 0.979 accuracy

# ---- the same bytes on any number of threads ----
for threads in 1 3; do
  run 0 ./lenet train $train --steps 40 --seed 1 --save "w$threads.safetensors" --threads $threads
  run 0 ./lenet test $test --load w.safetensors --threads $threads --quiet
  same out.txt figure.txt "the figure on $threads threads"
done
same w1.safetensors w3.safetensors 'weights on 1 and 3 threads'
run 0 ./lenet train $train --steps 40 --seed 1 --save parts.safetensors --threads 2 --share-parts yes
same w1.safetensors parts.safetensors 'weights on 2 threads that share parts'
finish
