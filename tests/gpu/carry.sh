#!/bin/sh
# Puts what tests/gpu/run.sh runs into one folder, for a machine that cannot build gc:
#   tests/gpu/carry.sh BUILD DIR     then, there: tests/gpu/run.sh --prebuilt DIR
# A C compiler is still needed there, since gc calls one.
set -eu
build=$1 to=$2
mkdir -p "$to/bin" "$to/lib"
for name in gc cuda_programs cuda_products cuda_primitives; do cp "$build/bin/$name" "$to/bin/"; done
cp -r "$build/lib/gc" "$to/lib/"
du -sh "$to"
