#!/bin/sh
# Memory limits by their figures: a curve falls from row to row and adds at least what the bound asks;
# each of its arenas is a limit that can be met, and the plan is no larger, in one stream and in two; what
# a refusal names as the least can be met, too; initial values have their rows; strategies are compared by the figures of their plans.
. "$(dirname "$0")/common.sh"

# rows ENTRY: arena, added FLOPs and bound of each line of curve.txt, without commas
rows() {
  awk -v entry="'$1'" '/^memory curve/ { here = $NF == entry; next }
    here && $1 ~ /^[0-9]/ { gsub(",", ""); print $1, $3, $5 }' curve.txt
}

# arena ENTRY: of the plan in out.txt, in bytes
arena() { python3 -c 'import json, sys
print([e["arena_bytes"] for e in json.load(open("out.txt"))["entries"] if e["name"] == sys.argv[1]][0])' "$1"; }

# seq2seq as it is takes minutes of searching in all: shorter windows and a fifth of the search, but at the level full
effort='{effort=20}' windows='-D T=5' rows_of_seq2seq=5
[ "${GC_TEST_LEVEL-}" = full ] && effort='' windows='' rows_of_seq2seq=6
o2=--passes=$("$gc" --list-passes | sed -n "s/^-O2  //p" | sed "s/,remat,/,remat$effort,/")
case $o2 in *",remat$effort,"*) ;; *) fail "the passes of -O2 have no remat: $o2" ;; esac
# falls FILE ENTRY ROWS [OPTIONS]: the curve has so many rows at least, each of them a limit; two streams by -O2's
# passes alone
falls() {
  example=$here/$1 how=${4:-$o2} at=1
  case $how in "$o2"*) at='1 2' ;; esac
  # options are several words
  # shellcheck disable=SC2086
  run 0 "$gc" "$example" $how --memory-curve
  cp out.txt curve.txt
  rows "$2" >rows.txt
  at_least "$(wc -l <rows.txt)" "$3" "rows of $1's curve"
  awk 'NR > 1 && $1 >= last { print; exit 1 } { last = $1 }' rows.txt || fail "$1: the curve does not fall"
  awk '$3 ~ /^[0-9]/ && $2 + 0.005 < $3 { print; exit 1 }' rows.txt || fail "$1: less is added than the bound"
  awk 'NR == 1 && $2 != 0 { print; exit 1 }' rows.txt || fail "$1: the first row adds something"
  row=0
  for limit in $(awk '{ print $1 }' rows.txt); do
    row=$((row + 1))
    some=$at # of two, one in turn
    [ "${GC_TEST_LEVEL-}" = full ] || [ "$at" = 1 ] || some=$((row % 2 + 1))
    for streams in $some; do
      # shellcheck disable=SC2086
      run 0 "$gc" "$example" $how --memory-limit="$limit" --streams=$streams --dump-plan=json
      at_most "$(arena "$2")" "$limit" "$1 in $streams streams under the limit $limit"
    done
  done
}
falls docs/examples/mnist.g train 2
falls docs/examples/seq2seq.g train $rows_of_seq2seq "$o2 $windows"

# least: what the refusal in out.txt names for entry train, in bytes
least() { sed -n "s/.*entry 'train' .*the minimum found is \([0-9,]*\) bytes.*/\1/p" out.txt | tr -d ,; }

# ---- images between convolutions and pools in blocks: the gradient of VGG-A's first pool whole takes 539,492,352 ----
run 0 "$gc" "$here/docs/examples/vgg.g" -O2 --memory-limit=460M --dump-plan=json
at_most "$(arena train)" $((460 << 20)) "VGG-A's arena under 30 %"
at_most "$(python3 -c 'import json
print(max(100 * e["recompute_flops"] // e["flops"] for e in json.load(open("out.txt"))["entries"]))')" 0 'per cent of VGG-A that are recomputed'

# ---- a stacked recurrent net, unrolled: the sums of one layer's weight gradients are open at a time ----
run 0 "$gc" "$here/tests/bench/limits/lstm.g" -O2 -D T=12 -D H=64 -D N=16 -D V=32 --memory-limit=700K --dump-plan=json
at_most "$(python3 -c 'import json
print(max(100 * e["recompute_flops"] // (e["flops"] - e["recompute_flops"]) for e in json.load(open("out.txt"))["entries"]))')" 20 \
  'per cent of an unrolled LSTM that are recomputed'

# ---- a curve knows what a limit would do to the program: parts of the batch, chunks of rows, parts of a concat ----
whole=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
planned=shared-stacks,cheap-remat,fuse,layout,order,remat$effort,liveness,inplace,streams,share,plan-verify
for name in microbatch row_tiles concat_split; do
  how=$o2
  [ $name = microbatch ] || how=--passes=$whole,row-tiles,concat-split,image-tiles,$planned
  falls tests/plan/$name.g train 2 "$how"
  run 1 "$gc" "$here/tests/plan/$name.g" "$how" --memory-limit=20K --dump-plan=json
  at_most "$(tail -1 rows.txt | cut -d' ' -f1)" $(($(least) / 100 * 102)) "the last row of $name.g's curve"
done

# ---- the least of a refusal ----
# shellcheck disable=SC2086
run 1 "$gc" "$here/docs/examples/seq2seq.g" "$o2" $windows --memory-limit=500K --dump-plan=json
least=$(least)
# shellcheck disable=SC2086
run 0 "$gc" "$here/docs/examples/seq2seq.g" "$o2" $windows --memory-limit="$least" --dump-plan=json
at_most "$(arena train)" "$least" 'the minimum found'

# ---- it is no more than what can be met; minutes: at the level full ----
if [ "${GC_TEST_LEVEL-}" = full ]; then
sed 's/with adamw(.*$/with sgd(lr)/' "$here/docs/examples/gpt2.g" >gpt2.g
set -- gpt2.g -O2 -D T=1024 -D L=4 -D C=192 -D H=4 -D V=12800 --dump-plan=json
run 1 "$gc" "$@" --memory-limit=30M
least=$(least)
run 1 "$gc" "$@" --memory-limit=$((least / 100 * 93))
fi

# ---- initial values take their bytes in the same arena, where they are not made in place ----
cat >ragged.g <<'END'
entry train(x : f32[4,1000], t : f32[4,1000]) {
  loss = mse(linear(x, 1000) as fc, t)
  minimize loss with sgd(0.1)
  return loss
}
END
sed 's/1000/1024/g' ragged.g >whole.g
run 0 "$gc" ragged.g -O2 --memory-curve
floor=$(awk '/^memory curve/ { here = /initial values/ } here && $1 ~ /^[0-9]/ { gsub(",", ""); n = $1 } END { print n }' out.txt)
at_least "$floor" 4000000 'the bytes of initial values in panels with a tail'
says 1 'the initial values do not fit into' "$gc" ragged.g -O2 --memory-limit=$((floor - 1)) -o ragged
absent ragged
run 0 "$gc" ragged.g -O2 --memory-limit="$floor" --dump-plan=json
run 0 "$gc" whole.g -O2 --memory-curve
grep -q 'initial values' out.txt && fail 'initial values in whole panels take bytes of the arena'

# ---- the rows of the report are the arenas of the strategies ----
cp "$here/docs/examples/mnist.g" .
run 0 "$gc" mnist.g -O2 --memory-report
awk '/^entry/ { here = $2 == "train:" } here { print }' out.txt | tr -d , >report.txt
for pair in 'without_sharing none' 'in_place inplace' 'arena pack'; do
  set -- $pair
  figure=$(sed 's/^ *\(without\|in\) /\1_/' report.txt | awk -v k="$1" '$1 == k { print $2; exit }')
  run 0 "$gc" mnist.g -O2 --memory="$2" --dump-plan=json
  [ "$figure" = "$(arena train)" ] || fail "the report gives $figure bytes for $1, --memory=$2 takes $(arena train)"
done
finish
