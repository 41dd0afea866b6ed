#!/bin/sh
# From a bare Debian machine to a trained model: installs what is missing, builds gc, trains a small
# transformer on this project's own documentation, lets it write, and shows its memory plan.
#   sh docs/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
sh docs/build.sh
out=build/quickstart
mkdir -p "$out"

say() { printf '\n== %s\n' "$1"; }

# The prose of the pages, without programs, tables and runs of blanks. The last tenth is held out for validation.
cat README.md docs/*.md | sed '/^```/,/^```/d; /^|/d; /^<!--/d; s/  */ /g' | cat -s >"$out/text.txt"
known=$(($(wc -c <"$out/text.txt") * 9 / 10))
head -c "$known" "$out/text.txt" >"$out/known.txt"
tail -c +$((known + 1)) "$out/text.txt" >"$out/unseen.txt"
# Two layers instead of four, and no dropout in so few steps.
small="-D L=2 -D drop=0"
say "gc docs/examples/gpt.g $small: one executable, every byte of its memory placed"
# the words of $small are options
# shellcheck disable=SC2086
build/bin/gc docs/examples/gpt.g -O2 $small -o "$out/gpt"
"$out/gpt" info train | grep -E 'as planned|without sharing|parameters$'

# The context is 64 characters; the targets are the same text shifted by one (+1). Rows begin at every character (~1).
say "training on $known characters of documentation"
"$out/gpt" train --context "$out/known.txt~1" --next "$out/known.txt+1~1" --steps 400 --lr 3e-3 --save "$out/gpt.safetensors"

say "validation loss on unseen text, in nats per character"
"$out/gpt" validate --load "$out/gpt.safetensors" --context "$out/unseen.txt" --next "$out/unseen.txt+1" --quiet

say "300 generated characters"
"$out/gpt" write --load "$out/gpt.safetensors" --temperature 0.5 --steps 300 --text char
echo

say "the memory plan of one training step, its first lines"
# shellcheck disable=SC2086
build/bin/gc docs/examples/gpt.g -O2 $small --dump-plan >"$out/plan.txt"
# shellcheck disable=SC2086
build/bin/gc docs/examples/gpt.g -O2 $small --dump-plan=json >"$out/plan.json"
sed -n '1,12p' "$out/plan.txt"

say "the result"
cat <<EOF
program   $out/gpt               (try: $out/gpt --help)
weights   $out/gpt.safetensors   (tensors by name; Python's safetensors opens them)
plan      $out/plan.txt          (the whole table, for all entries)
          $out/plan.json         (the same for tools; docs/plan.md explains both)
compiler  build/bin/gc                   (try: build/bin/gc --help)
EOF
