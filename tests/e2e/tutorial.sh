#!/bin/sh
# The tutorial's digits: the figures that its page shows are those of its commands, digit for digit.
. "$(dirname "$0")/common.sh"
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
need "$images" "$labels"
page=$here/docs/tutorial.md
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -o mnist
run 0 ./mnist train --image "$images[0:8000]" --label "$labels[0:8000]" --epochs 5 --save mnist.safetensors
sed -n 's/^\(epoch [0-9]*\/5  step [0-9]*  loss [0-9.]*  accuracy [0-9.]*\) .*/\1/p' out.txt >said.txt
run 0 ./mnist test --load mnist.safetensors --image "$images[8000:10000]" --label "$labels[8000:10000]"
cat out.txt >>said.txt
run 0 ./mnist predict --load mnist.safetensors --image "$images[8000:8002]"
cat out.txt >>said.txt
[ "$(wc -l <said.txt)" -ge 13 ] || fail "the commands said too little: $(cat said.txt)"
while IFS= read -r line; do holds "$page" "$line"; done <said.txt
cat said.txt
finish
