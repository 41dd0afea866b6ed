#!/bin/sh
# Real digits: a two-layer perceptron learns 8,000 of them and is tested on 2,000 others: the figure, and the
# same weights and the same figure whatever the threads.
. "$(dirname "$0")/common.sh"
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
need "$images" "$labels"
source=$here/docs/examples/mnist.g
train="--image $images[0:8000] --label $labels[0:8000]"
test="--image $images[8000:10000] --label $labels[8000:10000]"

run 0 "$gc" "$source" -O2 -o mnist

# ---- it learns, within 15 epochs ----
run 0 ./mnist train $train --epochs 12 --seed 1 --save w.safetensors --threads 1
run 0 ./mnist test $test --load w.safetensors --quiet
cp out.txt figure.txt
accuracy=$(sed -n 's/^accuracy = //p' figure.txt)
exactly "$accuracy" 0.961694 accuracy

# ---- the same bytes on any number of threads, and again ----
for threads in 1 2 3 5; do
  run 0 ./mnist train $train --epochs 12 --seed 1 --save "w$threads.safetensors" --threads $threads
  same w.safetensors "w$threads.safetensors" "$threads threads"
  run 0 ./mnist test $test --load "w$threads.safetensors" --threads $threads --quiet
  same out.txt figure.txt "the figure on $threads threads"
done
finish
