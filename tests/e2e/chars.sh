#!/bin/sh
# A next-character model on real text: the loss falls, and it writes.
. "$(dirname "$0")/common.sh"
text=$data/text/tinyshakespeare.txt
need "$text"
run 0 "$gc" "$here/docs/examples/chars.g" -O2 -o chars
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
