#!/bin/sh
# Installs what is missing, builds gc in build/, and passes every test. Ends with ctest's summary.
#   sh tests/run.sh [ctest options]
set -eu
cd "$(dirname "$0")/.."
sh docs/install.sh tests
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build build -j "$(nproc)"
exec ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
