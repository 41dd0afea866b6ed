#!/bin/sh
# A recurrent model on text: it learns and writes; as a loop it does what it does unrolled, in
# memory that grows with the steps by what the backward pass needs of each.
. "$(dirname "$0")/common.sh"
lightly_optimised
source=$here/docs/examples/lstm.g
small='-D B=8 -D T=12 -D D=16 -D H=32'
prose 20001
rows="--chars text.txt~12[0:1600] --next text.txt+1~12[0:1600]"

# ---- it learns, as it does unrolled ----
run 0 "$gc" "$source" $small -O2 -o loop
sed 's/= scan i in/= for i in/' "$source" >unrolled.g
grep -q '= for i in' unrolled.g || fail 'the unrolled program is the same'
run 0 "$gc" unrolled.g $small -O2 -o unrolled
for v in loop unrolled; do
  run 0 ./$v train $rows --steps 150 --seed 5 --save $v.safetensors --log $v.csv --threads 2 --quiet
done
sed 1d loop.csv | cut -d, -f3 >a.txt
sed 1d unrolled.csv | cut -d, -f3 >b.txt
apart() { # the worst relative difference among the first $1 losses
  paste a.txt b.txt | head -n "$1" |
    awk '{d = ($1 - $2) / $2; if (d < 0) d = -d; if (d > w) w = d} END {print w + 0}'
}
echo "worst difference of a loss: $(apart 3) in 3 steps, $(apart 150) in 150"
# Rounding grows with the steps; before it has, the losses are the same.
at_most "$(apart 3)" 0.000001 'the difference of the first 3 losses between scan and for'
at_most "$(apart 150)" 0.001 'the difference of a loss between scan and for'
at_least "$(head -1 a.txt)" 4.5 'the first loss'
at_most "$(tail -20 a.txt | awk '{s += $1} END {print s / NR}')" 3.45 'the mean of the last 20 of 150 losses'
run 0 ./loop write --load loop.safetensors --steps 50 --text char --quiet
cp out.txt written.txt
run 0 ./loop write --load loop.safetensors --steps 50 --text char --quiet --threads 3 --poison
same out.txt written.txt 'the same text on three threads, poisoned'

# ---- memory ----
# Of each step the backward pass has four gates, c and h before the step for each of two layers, the
# gradient of what the second one gives and of what comes to it from below, and the character: B rows of
# each. What the second layer reads is the h before the next step.
arena() { # of entry $1 with T=$2, of program $3
  "$gc" "${3:-$source}" -D T="$2" -O2 -march=x86-64-v3 --dump-plan=json --emit=plan -o /dev/null |
    tr -d '\n' | sed "s/.*\"name\": \"$1\", \"training\"//; s/\"arena_bytes\": \([0-9]*\).*/\n\1/; s/.*\n//"
}
# The batch may be shorter in a run, and is not the outermost axis of the loops: copies of rows that lie apart are made
# again for the backward pass, so it takes what a batch of that many rows takes.
sed 's/u8\[n <= B, T\]/u8[B, T]/; s/u8\[n, T\]/u8[B, T]/' "$source" >static.g
bounded=$(arena train 64) static=$(arena train 64 static.g)
[ "$bounded" = "$static" ] || fail "the arena of a bounded batch has $bounded bytes, that of a static one $static"
step=$((($(arena train 128) - $(arena train 64)) / 64))
want=$((32 * (4 * (2 * 6 * 256 + 256 + 4 * 256) + 1)))
[ "$step" = "$want" ] || fail "the arena grows by $step bytes a step, not by $want"
said=$(sed -n 's/.*saves \([0-9,]*\) bytes per iteration.*/\1/p' "$here/docs/memory.md" | tr -d ,)
[ "$said" = "$want" ] || fail "docs/memory.md says ${said:-nothing} of the $want bytes per iteration"
# Without it, what a layer makes of all characters at once, which the loop reads where the product leaves it, and the
# layer's outputs.
bounded=$(arena validate 64) static=$(arena validate 64 static.g)
[ "$bounded" = "$static" ] || fail "the arena of validate has $bounded bytes, that of a static one $static"
step=$((($(arena validate 128) - bounded) / 64))
want=$((32 * 4 * (4 * 256 + 256)))
[ "$step" = "$want" ] || fail "the arena of validate grows by $step bytes a step, not by $want"
cat >last.g <<'END'
let T = 64
entry last(x : f32[T, 4, 8]) {
  h = zeros([4, 16])
  c = zeros([4, 16])
  scan i in 0..T { h, c = lstm(x[i], h, c) as cell }
  return h
}
END
source=last.g
[ "$(arena last 64)" -gt 0 ] || fail 'no arena'
[ "$(arena last 64)" = "$(arena last 1000)" ] || fail 'the memory of inference depends on T'
finish
