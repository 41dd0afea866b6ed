#!/bin/sh
# Installs what is missing, builds gc in build/, and passes every test. Ends with ctest's summary, and with
# what could not be tested here, and why.
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
# Programs are compared as they are without a GPU; tests/gpu/run.sh is for one.
export CUDA_VISIBLE_DEVICES=
code=0
ctest --test-dir build --no-tests=error --output-on-failure -j "$(nproc)" "$@" || code=$?

# Tests say "NOT TESTED: what: why" of a part of theirs, or of all of it, for want of data or of a machine.
awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3 }
     /^NOT TESTED: / { if (!n++) print "\nNot tested on this machine:"; sub(/^NOT TESTED: /, ""); print "  " name ": " $0 }' \
  build/Testing/Temporary/LastTest.log
exit $code
