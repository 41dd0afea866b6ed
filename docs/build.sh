#!/bin/sh
# Installs what is missing and builds gc in build/. The build's own lines go to build/build.log, and are shown if it fails.
#   sh docs/build.sh
set -eu
cd "$(dirname "$0")/.."
sh docs/install.sh
cores=$(nproc)
printf '\n== building gc: if it is the first time, about %s s on idle cores (%s)\n' $((150 / cores + 15)) "$cores"
mkdir -p build

# Lines of cmake to the log; of those that say how far it is, "[ 12%]" or "[12/300]", each tenth to the terminal.
follow() {
  last=0
  while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    case $line in
    '['*'%]'*) now=${line%%'%]'*} && now=${now##*[!0-9]} ;;
    '['[0-9]*/[0-9]*']'*) now=${line#'['} && now=$((100 * ${now%%/*} / $(echo "${now%%']'*}" | cut -d/ -f2))) ;;
    *) continue ;;
    esac
    [ $((now / 10)) -gt $((last / 10)) ] || continue
    last=$now
    printf ' %s %%' "$now"
  done 3>build/build.log
  echo
}
{
  code=0
  { cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build -j "$cores" --target toolchain; } 2>&1 || code=$?
  echo "$code" >build/build.code
} | follow
code=$(cat build/build.code)
if [ "$code" = 0 ]; then
  build/bin/gc --version | grep '^targets' # without NVRTC the CPU alone
else
  cat build/build.log >&2
fi
exit "$code"
