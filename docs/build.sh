#!/bin/sh
# Installs what is missing and builds gc in build/. The build's own lines go to build/build.log, and are shown if it fails.
#   sh docs/build.sh
set -eu
cd "$(dirname "$0")/.."
sh docs/install.sh
printf '\n== building gc, about a minute if it is the first time\n'
mkdir -p build
{ cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j "$(nproc)" --target gc gcrt; } >build/build.log 2>&1 || {
  code=$?
  cat build/build.log >&2
  exit "$code"
}
