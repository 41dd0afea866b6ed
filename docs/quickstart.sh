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

cat docs/*.md README.md >"$out/text.txt"
say "gc docs/examples/chars.g: one executable, every byte of its memory placed"
build/bin/gc docs/examples/chars.g -O2 -o "$out/chars"
"$out/chars" info train

say "training on $(wc -c <"$out/text.txt") characters of documentation"
"$out/chars" train --context "$out/text.txt~1" --next "$out/text.txt+16" --epochs 1 --save "$out/chars.safetensors"

say "300 characters of its own"
"$out/chars" write --load "$out/chars.safetensors" --steps 300 --text text
echo

say "the memory plan"
build/bin/gc docs/examples/chars.g -O2 --dump-plan | head -40
build/bin/gc docs/examples/chars.g -O2 --dump-plan=json >"$out/plan.json"
cat <<EOF

program   $out/chars        (try: $out/chars --help)
weights   $out/chars.safetensors
plan      $out/plan.json    (build/bin/gc docs/examples/chars.g -O2 --dump-plan shows it whole)
EOF
