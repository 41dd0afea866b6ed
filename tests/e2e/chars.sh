#!/bin/sh
# A next-character model on real text: the loss falls, and it writes.
. "$(dirname "$0")/common.sh"
text=$data/text/tinyshakespeare.txt
need "$text"
cc=${CC:-cc}
# clang takes more than a minute over weights of 8 bits with -O1, so these have gcc
is_optimised chars.sh || { cc=$here/tests/cc-O1 && export CC="$cc cc"; }
run 0 env CC="$cc" "$gc" "$here/docs/examples/chars.g" -O2 -o chars
head -c 110016 "$text" >text.txt
rows="--context text.txt~1[0:100000] --next text.txt+16~1[0:100000]"
held="--context text.txt~1[100016:110000] --next text.txt+16~1[100016:110000]" # no row of training has a character of these
last() { tail -1 "$1" | cut -d, -f3; }

# ---- it learns ----
run 0 ./chars train $rows --steps 500 --seed 3 --save w.safetensors --log log.csv --threads 2
loss=$(sed -n '2,$p' log.csv | tail -50 | awk -F, '{s += $3} END {print s / NR}')
exactly "$loss" 2.10747 'the mean loss of the last 50 of 500 steps'
at_least "$(sed -n 2p log.csv | cut -d, -f3)" 4 'the loss of the first step'
run 0 ./chars validate $held --load w.safetensors --quiet
exactly "$(sed -n 's/^loss = //p' out.txt)" 2.13578 'the loss on text that it has not seen'

# ---- with weights of 8 and 4 bits, and activations of 8, the perplexity on that text stays within 0.5 and 3 percent ----
near() { # near LOSS_OF_FLOATS PERCENT
  awk -v a="$1" -v b="$(sed -n 's/^loss = //p' out.txt)" -v most="$2" 'BEGIN {
    p = 100 * (exp(b - a) - 1); printf "perplexity: %+.3f %%\n", p; exit !(b > 0 && p <= most && p >= -most) }' ||
    fail "the perplexity is not within $2 percent"
}
quantized() { # quantized LOSS_OF_FLOATS WEIGHTS ROWS PROGRAM OPTIONS…
  loss=$1 weights=$2 text=$3
  shift 3
  for form in q8 q4 w8a8 w4a8; do
    is_drawn "quantized $form" 4 || continue # a quarter of it on a commit
    run 0 "$gc" "$@" -O2 "--weights=$form" -o quantized
    run 0 ./quantized validate $text --load "$weights" --quiet
    case $form in *8a8 | q8) near "$loss" 0.5 ;; *) near "$loss" 3 ;; esac
    case ${GC_TEST_LEVEL-},$form in full,q*) ;; *) continue ;; esac
    rounded=$(sed -n 's/^loss = //p' out.txt) # with activations of 16 bits
    run 0 "$gc" "$@" -O2 "--weights=w${form#q}" -o quantized
    run 0 ./quantized validate $text --load "$weights" --quiet
    near "$rounded" 0.01
  done
}
quantized 2.13578 w.safetensors "$held" "$here/docs/examples/chars.g"
[ "${GC_TEST_LEVEL-}" = full ] && {
  set -- "$here/docs/examples/gpt.g" -D drop=0
  rows='--context text.txt[0:1500] --next text.txt+1[0:1500]'
  run 0 "$gc" "$@" -O2 -o gpt
  run 0 ./gpt train $rows --steps 400 --seed 3 --save gpt.safetensors --quiet
  rows='--context text.txt[1500:1700] --next text.txt+1[1500:1700]'
  run 0 ./gpt validate $rows --load gpt.safetensors --quiet
  quantized "$(sed -n 's/^loss = //p' out.txt)" gpt.safetensors "$rows" "$@"
  set -- "$here/docs/examples/lstm.g" -D B=16
  run 0 "$gc" "$@" -O2 -o lstm
  run 0 ./lstm train --chars 'text.txt[0:1500]' --next 'text.txt+1[0:1500]' --steps 250 --seed 3 --save lstm.safetensors --quiet
  rows='--chars text.txt[1500:1700] --next text.txt+1[1500:1700]'
  run 0 ./lstm validate $rows --load lstm.safetensors --quiet
  quantized "$(sed -n 's/^loss = //p' out.txt)" lstm.safetensors "$rows" "$@"
}

# ---- it writes 300 characters ----
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet
size=$(wc -c <out.txt)
[ "$size" = 300 ] || [ "$size" = 301 ] || fail "$size characters, not 300 (and perhaps a newline)"
cp out.txt written.txt
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet --threads 3
same out.txt written.txt 'the same text on three threads'
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet --seed 9
cmp -s out.txt written.txt && fail 'another seed writes the same text'
run 0 ./chars write --load w.safetensors --steps 100 --text char --quiet --temperature 0
cp out.txt likeliest.txt
run 0 ./chars write --load w.safetensors --steps 100 --text char --quiet --temperature 0 --seed 9
same out.txt likeliest.txt 'the likeliest characters with another seed'
finish
