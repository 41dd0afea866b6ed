#!/bin/sh
# The examples at each precision: bf16 and tf32 learn as f32 does, with the same bytes on any number of
# threads and at every level, and the files of weights are f32 files that any of the programs loads.
. "$(dirname "$0")/common.sh"
lightly_optimised
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
text=$data/text/tinyshakespeare.txt
need "$images" "$labels" "$text"
train="--image $images[0:4000] --label $labels[0:4000]"
test="--image $images[8000:10000] --label $labels[8000:10000]"
head -c 60016 "$text" >text.txt
rows="--context text.txt~1[0:60000] --next text.txt+16~1[0:60000]"
mean() { sed -n '2,$p' "$1" | tail -40 | awk -F, '{s += $3} END {print s / NR}'; }

for p in f32 tf32 bf16; do
  run 0 "$gc" "$here/docs/examples/mnist.g" --precision=$p -o "mnist_$p"
  run 0 "./mnist_$p" train $train --epochs 4 --seed 1 --save "m_$p.safetensors" --log "m_$p.csv"
  run 0 "./mnist_$p" test $test --load "m_$p.safetensors" --quiet
  accuracy=$(sed -n 's/^accuracy = //p' out.txt)
  echo "mnist at $p: accuracy $accuracy"
  at_least "$accuracy" 0.88 "accuracy at $p"
  run 0 "$gc" "$here/docs/examples/chars.g" -D B=64 -D H=128 --precision=$p -o "chars_$p"
  run 0 "./chars_$p" train $rows --steps 240 --seed 3 --save "c_$p.safetensors" --log "c_$p.csv"
  echo "chars at $p: loss $(mean "c_$p.csv")"
done
for p in tf32 bf16; do # near f32, but not the same
  for net in m c; do
    off=$(awk -v x="$(mean ${net}_$p.csv)" -v y="$(mean ${net}_f32.csv)" 'BEGIN {print x < y ? y - x : x - y}')
    at_most "$off" 0.03 "distance of the loss of ${net} at $p from that at f32"
    cmp -s ${net}_$p.safetensors ${net}_f32.safetensors && fail "$net at $p has the weights of f32"
  done
done
# ---- what the backward pass reads takes half the bytes ----
for p in f32 bf16; do
  run 0 "$gc" "$here/docs/examples/mnist.g" -D N=1024 --precision=$p --emit=plan -o "plan_$p.json"
  grep -o '"arena_bytes": [0-9]*' "plan_$p.json" | head -1 | grep -o '[0-9]*' >"arena_$p"
done
echo "arena at N = 1024: $(cat arena_f32) at f32, $(cat arena_bf16) at bf16"
at_most "$(cat arena_bf16)" $(($(cat arena_f32) * 6 / 10)) 'arena at bf16 against f32'

# ---- the files are f32 ----
run 0 ./mnist_f32 test $test --load m_bf16.safetensors --quiet
run 0 ./mnist_tf32 test $test --load m_bf16.safetensors --quiet

# ---- but for states that entries read in bf16 alone, which any of the programs loads, too ----
trained=${CC:-cc}
unoptimised
echo 'entry read(x : f32[1, 1, 8]) { return y = mha_step(x, 2, 1, 4) as a }' >cache.g
"$mkdata" npy f32 1,1,8 3 x.npy || fail 'no data could be made'
for p in f32 bf16; do run 0 "$gc" cache.g --precision=$p -O0 -o "cache_$p"; done
run 0 ./cache_f32 read --x x.npy --save cache.safetensors
run 0 ./cache_bf16 read --x x.npy --load cache.safetensors --save cache.safetensors
grep -aq '"a.keys":{"dtype":"BF16"' cache.safetensors || fail 'the state is not kept in bf16'
run 0 ./cache_f32 read --x x.npy --load cache.safetensors
run 0 ./cache_f32 read --x x.npy --load cache.safetensors --save cache_f32.safetensors
mv out.txt f32.txt
run 0 "$gc" cache.g --precision=bf16 -O0 --weights=cache_f32.safetensors -o cache_own
run 0 ./cache_own read --x x.npy
run 0 "$gc" cache.g --weights=cache.safetensors -O0 -o cache_own
run 0 ./cache_own read --x x.npy
head -2 f32.txt | cmp -s - out.txt || fail 'a state of a file of another precision'

# ---- the same bytes on three threads, and at every level ----
export CC="$trained"
run 0 ./mnist_bf16 train $train --epochs 1 --seed 1 --save one.safetensors --threads 1
run 0 ./mnist_bf16 train $train --epochs 1 --seed 1 --save three.safetensors --threads 3 --poison
same one.safetensors three.safetensors 'bf16 on three threads'
for level in 0 1; do
  run 0 "$gc" "$here/docs/examples/mnist.g" -O$level --precision=bf16 -o plain
  run 0 ./plain train $train --epochs 1 --seed 1 --save plain.safetensors
  same one.safetensors plain.safetensors "bf16 at -O$level"
done
finish
