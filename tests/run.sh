#!/bin/sh
# Installs what is missing, builds gc and its tests in build-tests/, and passes the tests of a level:
#   sh tests/run.sh [quick|default|full] [--costs] [ctest options]
#   quick     static checks, messages, text and unit tests, one program as a user runs it: a minute
#   default   everything, the long parts in samples: ten minutes on 2 cores, behind a build of two
#   full      everything at full strength, without any cache: for the night
# Half of all random programs come from fixed seeds, half from the commit's hash; GC_TEST_SEED=N repeats a run's.
# A test that is skipped says why, and the end repeats it. If GC_NO_SKIP is set, only the reasons in
# tests/may_skip.txt are good ones. --costs writes tests/costs.txt, by which CTest starts the longest tests first.
# Prints the tests that took most, what could not be tested here, and last ctest's summary line.
set -eu
cd "$(dirname "$0")/.."
level=default costs=
case ${1-} in quick | default | full) level=$1 && shift ;; esac
[ "${1-}" = --costs ] && costs=1 && shift
began=$(date +%s)
sh docs/install.sh tests
build=$PWD/build-tests
# make waits at the end of each library and starts two processes more a file; a folder is one generator's
generator='Unix Makefiles' quiet='-DCMAKE_RULE_MESSAGES=OFF -DCMAKE_TARGET_MESSAGES=OFF' ninja=
if command -v ninja >/dev/null; then generator=Ninja quiet='' ninja='-- --quiet'; fi
grep -qx "CMAKE_GENERATOR:INTERNAL=$generator" "$build/CMakeCache.txt" 2>/dev/null || rm -rf "$build"
cross=$(sh tests/cross.sh "$build/arm64") || cross= # its own message says what is not tested
fast=-DGCRT_UNOPTIMISED=ON # the emulated runtime: its optimiser takes longer than its programs
[ "$level" = full ] && fast=-DGCRT_UNOPTIMISED=OFF
# the options are several words
# shellcheck disable=SC2086
cmake -S . -B "$build" -G "$generator" $quiet -DCMAKE_BUILD_TYPE=Release -DGC_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DGC_CROSS="${cross:+aarch64-linux-gnu}" -DGC_CROSS_ROOT="$cross" -DGC_CROSS_OPTIONS=$fast >/dev/null

# numpy and safetensors, other readers of the files that programs write, come while gc is built. Debian's numpy serves where
# PyPI is out of reach.
venv=$build/python installs=
from_pypi() {
  { [ -x "$venv/bin/pip" ] || python3 -m venv --system-site-packages "$venv"; } && "$venv/bin/pip" install --quiet --upgrade "$@" ||
    echo "PyPI is out of reach: tests that need $* are skipped" >&2
}
if ! python3 -c 'import numpy, safetensors' 2>/dev/null &&
  ! "$venv/bin/python3" -c 'import numpy, safetensors' 2>/dev/null; then
  from_pypi numpy safetensors &
  installs=$!
fi
echo "building gc and its tests: minutes, without a word"
jobs=$(($(nproc) + 1)) # one more than there are processors: compilers wait for disks, tests also for ranks and timers
# Large pages: fewer faults, as a compiler touches most of its memory once; and what it frees stays at hand.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.tcache_count=60000
# shellcheck disable=SC2086
cmake --build "$build" -j "$jobs" $ninja
if [ "$level" != quick ]; then # and gc once more, watched by AddressSanitizer and UndefinedBehaviorSanitizer
  # clang takes half of gcc's time for it; cc links, as Debian's clang comes without a runtime of its sanitizers.
  # Checks for NULL and of alignment are a quarter of that: AddressSanitizer sees the first, and the level full both.
  unwatched=-fno-sanitize=null,alignment
  [ "$level" = full ] && unwatched=
  grep -q 'clang-16$' "$build/sanitized/CMakeCache.txt" 2>/dev/null || rm -rf "$build/sanitized" # another compiler's
  # shellcheck disable=SC2086
  cmake -S . -B "$build/sanitized" -G "$generator" $quiet -DCMAKE_BUILD_TYPE=Release -DGC_SANITIZE=ON \
    -DCMAKE_C_COMPILER=clang-16 -DGC_UNWATCHED=$unwatched \
    -DCMAKE_C_LINK_EXECUTABLE='cc <FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>' >/dev/null
  # shellcheck disable=SC2086
  cmake --build "$build/sanitized" -j "$jobs" --target gc $ninja
  rm -rf "$build/sanitized/lib/gc" && mkdir -p "$build/sanitized/lib"
  ln -s "$build/lib/gc" "$build/sanitized/lib/gc" # the runtime of its programs is no part of what is watched
fi
unset GLIBC_TUNABLES
built=$(date +%s)

# NVRTC from PyPI, where no CUDA toolkit has one, so that the CUDA half is tested on every machine. gc looks for it in
# VIRTUAL_ENV.
if [ -n "$installs" ]; then wait $installs || true; fi
VIRTUAL_ENV=$venv "$build/bin/gc" --version | grep -q 'cuda (NVRTC' || from_pypi 'nvidia-cuda-nvrtc==13.0.*'
export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
# Programs are compared as they are without a GPU; tests/gpu/run.sh is for one.
export CUDA_VISIBLE_DEVICES= GC_TEST_LEVEL="$level"
if [ -z "${GC_TEST_SEED-}" ]; then # 7 digits of the hash, and room for the seeds counted from it
  hash=$(git rev-parse --verify --quiet HEAD 2>/dev/null || date +%Y%m%d | sha1sum)
  GC_TEST_SEED=$(printf '%d0000' "0x$(echo "$hash" | cut -c1-7)")
fi
export GC_TEST_SEED
echo "level $level, GC_TEST_SEED=$GC_TEST_SEED"

case $level in
quick) set -- -L '^quick$' "$@" ;;
full) set -- -C full "$@" ;;
esac
[ "$level" = full ] && rm -rf "$build/cache"
export XDG_CACHE_HOME="$build/cache" # tests leave the user's alone
mkdir -p "$XDG_CACHE_HOME"
rm -f "$build/test_times.txt"
code=0
: >"$build/summary.txt"
ctest --test-dir "$build" --no-tests=error --output-on-failure -j "$jobs" "$@" >"$build/summary.txt" 2>&1 &
ctest=$!
tail --pid=$ctest -n +1 -f "$build/summary.txt" | grep -av '^ *Start ' || true
wait $ctest || code=$?

# ---- what took most: CPU seconds, which other work on the machine does not change ----
echo
awk '{ cpu += $1 } END { printf "%d CPU seconds in %d tests; the longest (CPU s, clock s, MB):\n", cpu, NR }' "$build/test_times.txt"
sort -rn "$build/test_times.txt" | head -n 20
if [ -n "$costs" ]; then
  { echo '# CPU seconds of the tests that take one or more (sh tests/run.sh --costs)'
    sort -k4 "$build/test_times.txt" | awk '$1 >= 1 { printf "%6.1f %s\n", $1, $4 }'; } >tests/costs.txt
fi

# ---- what was not tested, and whether it may be so ----
# Tests say "NOT TESTED: what: why" of a part of theirs, or of all of it; one that is skipped without it fails.
log=$build/Testing/Temporary/LastTest.log
awk 'FNR == NR { if (/\*\*\*Skipped/) skipped[$4] = 1; next }
     /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
     /^NOT TESTED: / { delete skipped[name]; sub(/^NOT TESTED: /, ""); print name ": " $0 }
     END { for (name in skipped) print name ": SILENTLY" }' "$build/summary.txt" "$log" >"$build/not_tested.txt"
if [ -s "$build/not_tested.txt" ]; then
  printf '\nNot tested on this machine:\n'
  sed 's/^/  /' "$build/not_tested.txt"
fi
grep -v '^#' tests/may_skip.txt >"$build/may_skip.txt"
if grep ': SILENTLY$' "$build/not_tested.txt" ||
  { [ -n "${GC_NO_SKIP-}" ] && grep -vEf "$build/may_skip.txt" "$build/not_tested.txt"; }; then
  echo '  ^ not tested, and for no reason of tests/may_skip.txt' >&2
  code=1
fi
ended=$(date +%s)
printf '\nbuild %d s, tests %d s\n' $((built - began)) $((ended - built))
grep -a '% tests passed' "$build/summary.txt" || code=1
exit $code
