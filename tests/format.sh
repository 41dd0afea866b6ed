#!/bin/sh
# Are all C sources laid out as .clang-format says?   tests/format.sh [--fix]
# --fix lays them out. Texts of generated programs have a .clang-format of their own and stay as they are.
set -eu
cd "$(dirname "$0")/.."
if [ "${1-}" = --fix ]; then mode=-i; else mode="--dry-run -Werror"; fi
# Outside of git (a release's archive) all sources are those that lie here.
sources=$(git ls-files '*.c' '*.h' 2>/dev/null || find . -name '*.[ch]' ! -path './build*' | sort)
[ -n "$sources" ] || { echo "no sources were found" >&2; exit 1; }
# the mode is one or two options
# shellcheck disable=SC2086
printf '%s\n' "$sources" | xargs -d '\n' "${CLANG_FORMAT:-clang-format}" --style=file $mode
