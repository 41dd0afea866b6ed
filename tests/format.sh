#!/bin/sh
# Are all C sources laid out as .clang-format says?   tests/format.sh [--fix]
# --fix lays them out. Texts of generated programs have a .clang-format of their own and stay as they are.
set -eu
cd "$(dirname "$0")/.."
if [ "${1-}" = --fix ]; then mode=-i; else mode="--dry-run -Werror"; fi
# the mode is one or two options
# shellcheck disable=SC2086
git ls-files -z '*.c' '*.h' | xargs -0 "${CLANG_FORMAT:-clang-format}" --style=file $mode
