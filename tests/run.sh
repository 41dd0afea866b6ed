#!/bin/sh
# Installs what is missing, builds gc in build/, and passes every test. Ends with ctest's summary.
#   sh tests/run.sh [ctest options]
set -eu
cd "$(dirname "$0")/.."
sh docs/install.sh tests
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DGC_TESTS=ON >/dev/null
cmake --build build -j "$(nproc)"

# Other readers of the files that programs write: numpy and safetensors, from PyPI.
PATH=$PWD/build/python/bin:$PATH
if ! python3 -c 'import numpy, safetensors' 2>/dev/null; then
  { python3 -m venv build/python && build/python/bin/pip install --quiet numpy safetensors; } ||
    echo "NOT TESTED: PyPI is out of reach, so numpy and safetensors do not read what programs write" >&2
fi
exec ctest --test-dir build --no-tests=error --output-on-failure -j "$(nproc)" "$@"
