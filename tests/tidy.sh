#!/bin/sh
# clang-tidy over the compiler and the runtime, or over the files given:   tests/tidy.sh BUILD [FILE...]
# BUILD is configured with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON and built once (generated headers).
set -eu
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
# names of sources have no blanks
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(find ir passes codegen lang runtime -name '*.c' | sort)
[ $# -gt 0 ] || { echo "no sources were found" >&2; exit 1; }
[ -f "$build/compile_commands.json" ] || { echo "$build has no compile_commands.json" >&2; exit 1; }
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 "${CLANG_TIDY:-clang-tidy}" -p "$build" --quiet
