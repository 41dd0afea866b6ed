#!/bin/sh
# From a bare Debian machine to a trained model: installs what is missing, builds gc, trains a
# next-character model on this project's own documentation, lets it write, and shows its memory plan.
#   sh docs/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
sh docs/install.sh
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build -j "$(nproc)" --target gc gcrt
out=build/quickstart
mkdir -p "$out"

say() { printf '\n== %s\n' "$1"; }

# The prose of the pages: without programs, tables and runs of blanks, of which there is much to copy
# and little to learn.
cat README.md docs/*.md | sed '/^```/,/^```/d; /^|/d; /^<!--/d; s/  */ /g' | cat -s >"$out/text.txt"
say "gc docs/examples/chars.g: one executable, every byte of its memory placed"
build/bin/gc docs/examples/chars.g -O2 -o "$out/chars"
"$out/chars" info train

# A row is 16 characters and the one after them: rows begin one character apart (~1), and what
# follows the first row is character 16 (+16).
say "training on $(wc -c <"$out/text.txt") characters of documentation"
"$out/chars" train --context "$out/text.txt~1" --next "$out/text.txt+16" --epochs 12 --save "$out/chars.safetensors"

say "300 characters of its own"
"$out/chars" write --load "$out/chars.safetensors" --temperature 0.3 --steps 300 --text char
echo

say "the memory plan of one training step"
build/bin/gc docs/examples/chars.g -O2 --dump-plan >"$out/plan.txt"
build/bin/gc docs/examples/chars.g -O2 --dump-plan=json >"$out/plan.json"
sed -n '1,/^entry validate/p' "$out/plan.txt" | sed '$d'
cat <<EOF
program   $out/chars               (try: $out/chars --help)
weights   $out/chars.safetensors   (tensors by name; Python's safetensors opens them)
plan      $out/plan.txt            (this table, for all entries)
          $out/plan.json           (the same for tools; docs/memory.md explains both)
EOF
