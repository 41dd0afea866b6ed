#!/bin/sh
# clang-tidy over the compiler and the runtime, or over the files given:   tests/tidy.sh BUILD [FILE...]
# BUILD is configured with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON and built once (generated headers).
set -eu
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(git ls-files "ir/*.c" "passes/*.c" "codegen/*.c" "lang/*.c" "runtime/*.c")
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 "${CLANG_TIDY:-clang-tidy}" -p "$build" --quiet
