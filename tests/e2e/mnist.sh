#!/bin/sh
# Real digits: a two-layer perceptron learns 8,000 of them and is tested on 2,000 others: the figure, and the
# same weights and the same figure whatever the threads.
. "$(dirname "$0")/common.sh"
lightly_optimised
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
need "$images" "$labels"
source=$here/docs/examples/mnist.g
train="--image $images[0:8000] --label $labels[0:8000]"
test="--image $images[8000:10000] --label $labels[8000:10000]"

run 0 "$gc" "$source" -O2 -o mnist

# ---- it learns, within 15 epochs ----
run 0 ./mnist train $train --epochs 12 --seed 1 --save w.safetensors --threads 2
run 0 ./mnist test $test --load w.safetensors --quiet
cp out.txt figure.txt
accuracy=$(sed -n 's/^accuracy = //p' figure.txt)
exactly "$accuracy" 0.962 accuracy

# ---- every row counts: 31 batches of 64 and one of 6 of the 1,990 rows ----
sed 's/^entry predict(image : u8\[1, 784\])/entry predict(image : u8[n <= 64, 784])/' "$source" >bounded.g
run 0 "$gc" bounded.g -O2 -o bounded
rows="--image $images[8000:9990]"
run 0 ./bounded test $rows --label "$labels[8000:9990]" --load w.safetensors --quiet
counted=$(sed -n 's/^accuracy = //p' out.txt)
run 0 ./bounded predict $rows --load w.safetensors --digit digit.npy --quiet
right=$(python3 - "$labels" <<'END'
import gzip, sys
labels = gzip.open(sys.argv[1]).read()[8 + 8000:8 + 9990]
digits = open("digit.npy", "rb").read()[-4 * 1990:]
hits = sum(int.from_bytes(digits[4 * i:4 * i + 4], "little") == l for i, l in enumerate(labels))
print(hits, len(labels), "%.6f" % (hits / len(labels)))
END
)
exactly "${right#* }" "1990 $counted" 'rows, and the accuracy of all of them'
run 0 ./bounded test $rows --label "$labels[8000:9990]" --load w.safetensors --quiet --drop-last
holds out.txt 'accuracy = 0.96'
# a validation counts all rows, whatever training leaves out
run 0 ./bounded train $train --steps 1 --lr 0 --load w.safetensors --drop-last --validate test --validate.image "$images[8000:9990]" --validate.label "$labels[8000:9990]"
holds out.txt "accuracy $counted"

# ---- the same bytes on any number of threads, and again ----
run 0 ./mnist train $train --epochs 2 --seed 1 --save short.safetensors --threads 1
for threads in 1 2 3 5; do
  run 0 ./mnist train $train --epochs 2 --seed 1 --save "w$threads.safetensors" --threads $threads
  same short.safetensors "w$threads.safetensors" "$threads threads"
  run 0 ./mnist test $test --load w.safetensors --threads $threads --quiet
  same out.txt figure.txt "the figure on $threads threads"
done
finish
