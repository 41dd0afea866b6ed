#!/bin/sh
# The tests of texts and of messages with a gc that AddressSanitizer and UndefinedBehaviorSanitizer watch. That one is
# built by tests/run.sh; exit code 77 where there is none.
#   sanitized.sh GC SCRATCH FILE...
set -u
gc=$1 scratch=$2 here=$(cd "$(dirname "$0")" && pwd)
shift 2
if [ ! -x "$gc" ]; then
  echo "NOT TESTED: gc under sanitizers: sh tests/run.sh builds one"
  exit 77
fi
# what a command leaves to the end of its process is no leak of it
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
failures=0 ran=0
for file; do
  case $file in
  */plan/effort.g | */plan/limit_gap.g | */plan/order_loops.g | */plan/concat_split.g) # a quarter of a minute each
    turn=$((${GC_TEST_SEED:-0} / 10000 + $(basename "$file" | cksum | cut -d' ' -f1)))
    [ "${GC_TEST_LEVEL-}" != full ] && [ $((turn % 24)) != 0 ] && continue ;;
  *) # of those that take long a tenth, of the others a quarter, of few files all; others on other commits, and all at
    # the level full
    of=4
    [ "$#" -gt 8 ] || of=1
    case $file in */plan/* | */lang/*many_*) of=10 ;; esac
    turn=$((${GC_TEST_SEED:-0} / 10000 + $(basename "$file" | cksum | cut -d' ' -f1)))
    [ "${GC_TEST_LEVEL-}" != full ] && [ $((turn % of)) != 0 ] && continue ;;
  esac
  ran=$((ran + 1))
  case $file in
  */bad/*) "$here/bad/run.sh" "$gc" "$file" ;;
  *) "$here/lit.sh" "$gc" "$file" "$scratch/$(basename "$file").dir" ;;
  esac >out.sanitized.$$ 2>&1 || {
    failures=$((failures + 1))
    echo "FAILED: $file"
    head -n 40 out.sanitized.$$
  }
  rm -f out.sanitized.$$
done
echo "$ran programs, $failures failures"
[ "$failures" = 0 ] && [ "$ran" -gt 0 ]
