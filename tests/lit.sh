#!/usr/bin/env bash
# Runs one text test: the RUN lines of a file, each a pipeline that must succeed as a whole.
#   tests/lit.sh GC FILE SCRATCH
# In a RUN line %gc is the compiler, %s the file, %S its folder, %t a scratch path of its own. RUN lines
# stand in comments ("# RUN:", "; RUN:" or "// RUN:"); a line ending in \ goes on in the next RUN line.
# FileCheck, not and split-file are LLVM's. Programs are compiled without an optimiser, as optimised.sh says.
set -euo pipefail
gc=$1 file=$2 scratch=$3
name=$(basename "$file")
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/optimised.sh"
is_optimised "$name" || export CC="$here/tests/cc-O0"
mkdir -p "$scratch"
t=$scratch/$name.tmp
rm -rf "$t" "$t".*

lines=$(sed -nE 's/^[[:space:]]*(#|;|\/\/)[[:space:]]*RUN:[[:space:]]*(.*)$/\2/p' "$file" |
  sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta')
if [ -z "$lines" ]; then
  echo "$file: no RUN line: this test would test nothing" >&2
  exit 1
fi
while IFS= read -r line; do
  line=${line//%gc/$gc} line=${line//%s/$file} line=${line//%S/$(dirname "$file")} line=${line//%t/$t}
  if ! (cd "$scratch" && bash -o pipefail -c "$line" </dev/null); then
    echo "failed: $line" >&2
    exit 1
  fi
done <<<"$lines"
