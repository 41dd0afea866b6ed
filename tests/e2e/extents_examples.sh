#!/bin/sh
# Every example with its batch as an extent: for each extent every entry that has the batch gives the bits of the
# example compiled for it (-D). With the folder of a driver as a fifth argument: the same of the GPU's code, on the
# interpreter. At the level full all examples, at 20 extents, and so those that are named behind the driver, which may
# be ''; else some of them, at two. Prints a row for each entry, as docs/results/sweep.csv has them.
. "$(dirname "$0")/common.sh"
unoptimised 20
fake=${5-} named= target= level=-O2 bound=5 extents='1 4' names='mnist gpt resnet20'
hows='--poison --threads 2'
[ -n "$fake" ] || names="$names lstm"
if [ -n "$fake" ]; then
  has_nvrtc mid || { not_tested 'extents of examples on a GPU: there is no NVRTC' && exit 77; }
  target='--target=cuda,cpu --arch=compute_80' hows='--device cuda --poison'
fi
# One commit in two on the CPU in bf16, some without convolutions.
[ -n "$fake" ] || [ "${GC_TEST_LEVEL-}" = full ] || [ $# -gt 5 ] || ! is_drawn extents_in_halves 2 ||
  { level='-O2 --precision=bf16' && names='mnist gpt lstm vit'; }
export LD_LIBRARY_PATH="$fake"
[ $# -le 5 ] || named=$(shift 5 && echo "$*")
if [ "${GC_TEST_LEVEL-}" = full ] || [ -n "$named" ]; then
  bound=20 extents='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'
  names='bert chars dcgan gpt gpt2 inception_bn lenet llama lstm mnist resnet20 resnet50 seq2seq vae vgg vit'
  names=${named:-$names}
fi

# sizes NAME BATCH: options that make it small, but for its batch. The gradients of the weights of seq2seq.g are sums of
# the same order at all extents if all rows of its loops, B T at the bound, are no more than those of any weight
# (docs/language.md).
sizes() {
  case $1 in
  seq2seq) echo '-D T=2 -D D=40 -D H=40' ;;
  *) sed -n "s/^$1 //p" "$here/tests/cuda/small_examples" | tr ' ' '\n' | grep -v "^$2=" | sed 's/^/-D /' | tr '\n' ' ' ;;
  esac
}

# static NAME BATCH: no entry's batch is an extent: of those that have one it is `n`
static() {
  sed "/^entry [^{]*\[n <= $2[],]/,/}\$/{
    /^entry /s/\[n <= $2\([],]\)/[$2\1/
    s/\[n\([],]\)/[$2\1/g
  }" "$here/docs/examples/$1.g" >"$1-exact.g"
}

# bounded NAME BATCH: every entry's first dims of the batch are an extent, `rows`
bounded() {
  sed "/^entry [^{]*\[$2[],]/,/}\$/{
    /^entry /s/\[$2\([],]\)/[rows <= $2\1/
    s/\[$2\([],]\)/[rows\1/g
  }" "$1-exact.g" >"$1.g"
  grep -q 'rows <= ' "$1.g" || fail "$1.g has no batch that can be an extent"
}

# inputs ENTRY: makes a file of each input that info.txt names, and gives their options; a length t is at its bound
inputs() {
  length=$(sed -n 's/.*[[ ]t <= \([0-9]*\)\].*/\1/p' info.txt | head -1)
  sed -n 's/^  input  *\([^ ]*\)  *\([a-z0-9]*\)\[\(.*\)\].*/\1 \2 \3/p' info.txt | sed "s/t <= //; s/\bt\$/$length/; s/,//g" |
    while read -r input dtype dims; do
      "$mkdata" npy "$dtype" "$(echo "$dims" | tr ' ' ,)" 1 "$1.$input.npy" && printf ' --%s %s.%s.npy' "$input" "$1" "$input"
    done
}

# taken EXAMPLE: the extents that it is compared at; on a GPU one of them, on the next commit another, but at the level full
taken() {
  if [ -z "$fake" ] || [ -n "$named" ] || [ "${GC_TEST_LEVEL-}" = full ]; then
    echo "$extents"
  elif is_drawn "$1 on a GPU" 2; then
    echo "${extents%% *}"
  else
    echo "${extents##* }"
  fi
}

for example in $names; do
  batch=$(sed -n 's/^let \([NB]\) = .*/\1/p' "$here/docs/examples/$example.g" | head -1) small=$(sizes "$example" "$batch")
  static "$example" "$batch" && bounded "$example" "$batch"
  run 0 "$gc" "$example.g" $level $target -D "$batch=$bound" $small -o "$example"
  wanted=$(sed -n 's/^entry \([a-z_]*\)(.*rows <= .*/\1/p' "$example.g")
  for lets in $(taken "$example"); do
    run 0 "$gc" "$example-exact.g" $level --target=cpu -D "$batch=$lets" $small -o "$example-exact"
    for one in $wanted; do
      before=$failures
      "./$example-exact" info "$one" >info.txt 2>/dev/null
      if grep -q "^entry $one (training)" info.txt; then
        compare "$example" "$one" "$(inputs "$one") --no-shuffle --epochs 2 --save OUT.safetensors" safetensors
      else
        results=$(sed -n 's/^  output  *\([^ ]*\) .*/\1/p' info.txt)
        compare "$example" "$one" "$(inputs "$one")$(outputs $results)" $(printf '%s.npy ' $results)
      fi
      echo "$example,$one,$lets,$((failures > before))" >>rows
    done
  done
done
# a row for each entry: its extents, and at how many of them it is equal
awk -F, -v target="${fake:+cuda}" -v bound=$bound '
  { key = $1 "," $2; if (!(key in all)) order[++n] = key; all[key]++; equal[key] += !$4 }
  END { for (i = 1; i <= n; i++) printf "%s,%s,%d,%d,%d\n", order[i], target ? target : "cpu", bound, all[order[i]], equal[order[i]] }' rows
finish
