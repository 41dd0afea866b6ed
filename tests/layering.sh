#!/usr/bin/env bash
# Fails where an include crosses a floor upwards: ir < passes < codegen < lang; the runtime stands
# alone, and nothing of the compiler includes it. The checker of plans includes nothing of the planner. Rooms of a
# floor use those that rooms.txt lists, and no files of different rooms include each other in a circle.
#   tests/layering.sh SOURCE_DIR
set -euo pipefail
cd "$1"
bad=0
# The rule of paths and patterns, which programs and options share, and that of control groups.
shared_header='^((lang/elab/elab_impl.h|passes/simplify/quantize_choice.c):[0-9]*:#include "runtime/base/paths.h"|lang/driver/host_memory.c:[0-9]*:#include "runtime/base/groups.h")'
check() { # floor, then the floors it may not include
  local floor=$1
  shift
  for other in "$@"; do
    if grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]+\"(\.\./)*$other/" "$floor" --include='*.[chly]' --include='*.def' | grep -vE "$shared_header"; then
      echo "  ^ $floor must not include $other" >&2
      bad=1
    fi
  done
}
check ir passes codegen lang runtime tests
check passes codegen lang runtime tests
check codegen lang runtime tests
check lang runtime tests
check runtime ir passes codegen lang tests
if grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' passes/verify/*.[ch] |
  grep -vE '"(ir/.*|passes/(passes|manager/pass_list|verify/verify_impl)\.h)"'; then
  echo "  ^ the checker of plans must not include the planner" >&2
  bad=1
fi
# A plan is the same on every machine: no decision by what a libm rounds in its own way.
if grep -nHE '(^|[^a-zA-Z0-9_])(exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|sin|cos|tan|tanh|hypot)f?\(' $(find passes -name '*.[ch]') |
  grep -vE '^[^:]*:[0-9]+:( \*|/\*|[^"]*/\* )'; then
  echo "  ^ passes must not decide by libm: see passes/analysis/search_math.h" >&2
  bad=1
fi
# A Backend is a struct of functions: what targets share asks the table of codegen/backends.def and names none, but in
# the help of options that are about one.
shared="codegen/program codegen/print codegen/schedule codegen/build codegen/text lang/driver"
if grep -rnE '\b(cpu|cuda|gpu)\b|\b(cpu|cuda|gpu)_[a-z]|CUDA|NVRTC|nvrtc|PTX|\bptx\b|cubin|\bsm_[0-9]' $shared --include='*.[ch]' --include='*.def' |
  grep -vE 'cpu_set_t|^lang/driver/options.def:[0-9]*:OPTION\((TARGET|ARCH|SAVE_TEMPS),' ||
  grep -nE '\b(cpu|cuda|gpu)_[a-z]' codegen/*.[ch]; then
  echo "  ^ only a target's own folder and codegen/backends.def name a target" >&2
  bad=1
fi
# A Device is a struct of functions: what is not one kind's own names no kind, but in the table of them and the help of --device.
if grep -rniE 'cuda|nvidia' runtime --include='*.[ch]' --include='*.def' --exclude-dir=cuda --exclude=devices.def |
  grep -v '^runtime/program/options.def:[0-9]*:OPT(DEVICE,'; then
  echo "  ^ only runtime/cuda and runtime/program/devices.def name this device" >&2
  bad=1
fi
python3 tests/rooms.py . || bad=1
extra=$( (git ls-files 2>/dev/null || find . -mindepth 1 -maxdepth 1 ! -name 'build*' -printf '%f\n') | cut -d/ -f1 | sort -u |
  grep -vE '^(\..*|CMakeLists\.txt|README\.md|LICENSE|lang|ir|passes|codegen|runtime|tests|docs)$' || true)
if [ -n "$extra" ]; then
  echo "at the top level, but not part of the house: $extra" >&2
  bad=1
fi
exit $bad
