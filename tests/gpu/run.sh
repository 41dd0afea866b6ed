#!/usr/bin/env bash
# All that only a GPU can show, meant for less than nine minutes: builds, replays the tests' kernels on the device,
# looks for bad accesses, trains, breaks things, and measures beside PyTorch and cuBLAS.
#   tests/gpu/run.sh [--out DIR] [--build DIR | --prebuilt DIR] [--minutes N] [--dry]
# --build: an existing or new build folder (default build-gpu); --prebuilt: what tests/gpu/carry.sh made,
# for a machine without flex, bison or cmake. --dry: small sizes and no peers, to try this script on the
# driver of tests/ptx, found by LD_LIBRARY_PATH. --minutes: when it has ended, 9 by default: each part may take its
# share of the time that is left, and what finds no time is a failure.
# Writes DIR/results.json (one object a line within a list), DIR/results.md and DIR/log; each result is there
# as soon as it is known. Exit code 1: something failed; what is left out is said, and is no failure.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=gpu-results build=build-gpu prebuilt='' dry='' minutes=9
while [ $# -gt 0 ]; do
  case $1 in
  --out) out=$2 && shift ;;
  --build) build=$2 && shift ;;
  --prebuilt) prebuilt=$2 && shift ;;
  --minutes) minutes=$2 && shift ;;
  --dry) dry=1 ;;
  *) echo "run.sh: what is '$1'?" >&2 && exit 2 ;;
  esac
  shift
done
if [ -n "$dry" ]; then
  here=$root
  . "$root/tests/optimised.sh"
  unoptimised 6 2 # fixed seeds have it at other times: much is compiled
  export FAKECUDA_CHECK=none # other tests look at the same kernels
fi
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
work=$(mktemp -d) && cd "$work" || exit 2
trap 'rm -rf "$work"' EXIT
: >"$out/log"
: >"$out/lines"
bad=0 began=$SECONDS
ends=$((began + 60 * minutes - 10)) part_ends=$ends # 10 s for what is being ended, and for the table
cores=$(nproc)
part() { part_ends=$((SECONDS + (ends - SECONDS) * $1 / 100)); } # PERCENT of the time that is left
left() { # SECONDS: these, or what the part has left; at least 1, since 0 is no limit to timeout
  local left=$((part_ends > SECONDS ? part_ends - SECONDS : 1))
  echo $((left < $1 ? left : $1))
}

# ---- results ----
escape() { sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/ /g' | tr '\n' ' '; }
line() { # a JSON object
  echo "$1" >>"$out/lines"
  { echo '['; sed '$!s/$/,/' "$out/lines"; echo ']'; } >"$out/results.json"
}
record() { # CHECK passed|FAILED|left-out DETAIL
  printf '%5ds  %-28s %-9s %s\n' $((SECONDS - began)) "$1" "$2" "$3" | tee -a "$out/log"
  line "{\"check\": \"$1\", \"result\": \"$2\", \"detail\": \"$(printf '%s' "$3" | escape)\"}"
  [ "$2" = FAILED ] && bad=1
  return 0
}
# try NAME SECONDS COMMAND…: passes where the command exits with 0; its last line is the detail
try() {
  local name=$1 limit code=0
  limit=$(left "$2")
  shift 2
  [ "$SECONDS" -lt "$part_ends" ] || { record "$name" FAILED 'no time was left'; return 1; }
  echo "+ $*" >>"$out/log"
  timeout "$limit" "$@" >text 2>&1 || code=$?
  cat text >>"$out/log"
  case $code in
  0) record "$name" passed "$(tail -n 1 text)" ;;
  77) record "$name" left-out "$(tail -n 1 text)" ;;
  124) record "$name" FAILED "it took longer than $limit s" ;;
  *) record "$name" FAILED "exit code $code: $(grep -m1 -iE 'error|fail|differ' text || tail -n 1 text)" ;;
  esac
  return $code
}

# ---- the machine, and gc ----
if command -v nvidia-smi >/dev/null && [ -z "$dry" ]; then
  record machine passed "$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader | head -n 1), $cores cores"
else
  record machine left-out "no nvidia-smi: $(uname -m), $cores cores"
fi
if [ -n "$prebuilt" ]; then
  build=$(cd "$prebuilt" && pwd) || exit 2
  record build left-out "made elsewhere, carried here"
else
  mkdir -p "$build" && build=$(cd "$build" && pwd) || exit 2
  part 50
  sh "$root/docs/install.sh" tests >>"$out/log" 2>&1 || record packages left-out "$(tail -n 1 "$out/log")"
  try configure 60 cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGC_TESTS=ON || exit 1
  try build 240 cmake --build "$build" -j "$cores" --target gc gcrt cuda_programs cuda_products cuda_primitives || exit 1
fi
gc=$build/bin/gc runtime=$build/lib/gc
[ -z "$dry" ] || has_nvrtc mid # whoever finds none says so
sizes() { [ -n "$dry" ] && echo "$1" || echo "$2"; }
# gc's default is this machine's GPU; the interpreter's driver runs PTX alone
read -ra target <<<"$(sizes '--target=cuda,cpu --arch=compute_80' '')"
compile() { # NAME FILE OPTIONS…
  local name=$1 file=$2
  shift 2
  try "compile $name" 120 "$gc" "$file" -o "$name" "$@"
}
native=$("$gc" --version | tail -n 1)
record NVRTC passed "$native"

# ---- the tests' kernels on the device ----
part 25
try primitives 60 "$build/bin/cuda_primitives" "$root/tests/cuda/primitives.cu"
modules=$(sizes 1 50)
seq 1 "$modules" | timeout "$(left 150)" xargs -P "$cores" -I{} sh -c \
  "'$build/bin/cuda_programs' '$runtime' --gpu random {} 10 >random.{} 2>&1" || true
cat random.* >>"$out/log"
good=$(grep -lx '10 programs, 0 failures' random.* 2>/dev/null | wc -l)
if [ "$good" -eq "$modules" ]; then
  record 'random programs' passed "$((10 * modules)) programs, the CPU's bits"
else
  record 'random programs' FAILED "$good of $modules modules of 10; $(cat random.* | grep -v ' 0 failures' | head -n 1)"
fi
part 30
kernels() { # FILE: as the tests run it, the large ones small, since the CPU's program does the same on one thread
  local name small
  name=$(basename "$1" .g)
  small=$(sed -n "s/^$name //p" "$root/tests/cuda/small_examples")
  # shellcheck disable=SC2086
  "$build/bin/cuda_programs" "$runtime" --gpu "$1" $small >"kernels.$name" 2>&1
  echo $? >"code.$name"
}
export -f kernels
export root build runtime
files=$(sizes "$root/docs/examples/trap.g $root/docs/examples/vae.g" \
  "$(echo "$root"/docs/examples/*.g) $root/tests/codegen/programs/forms.g")
# shellcheck disable=SC2086
printf '%s\n' $files | timeout "$(left 150)" xargs -P "$cores" -I{} bash -c 'kernels {}' || true
part 100 # reading what they said takes none
for file in $files; do
  name=$(basename "$file" .g)
  try "kernels of $name" 10 sh -c "cat kernels.$name; exit \$(cat code.$name 2>kernels.err || echo 124)"
done
[ -z "$dry" ] && try 'products on tensor cores' 90 "$build/bin/cuda_products" "$runtime" --gpu

part 25
try 'a model as a library' 120 "$root/tests/cuda/library.sh" "$gc" "$root" - "$work/library"

# ---- data ----
npy() { # FILE SHAPE TYPE MODULUS: numbers that look random
  python3 - "$@" <<'PY'
import struct, sys
path, shape, kind, top = sys.argv[1], eval(sys.argv[2]), sys.argv[3], int(sys.argv[4])
n, x, values = 1, 1, []
for d in shape:
    n *= d
for _ in range(n):
    x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    values.append((x >> 33) % top)
body = bytes(values) if kind == "|u1" else b"".join(
    struct.pack("<i" if kind == "<i4" else "<f", v if kind == "<i4" else (v - top // 2) / (top / 16)) for v in values)
head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
PY
}
rows=$(sizes 128 6400)
npy image.npy "($rows, 784)" '|u1' 256 && npy label.npy "($rows,)" '|u1' 10
npy context.npy "($rows, 16)" '|u1' 128 && npy next.npy "($rows,)" '|u1' 128

# ---- elementary functions and rows: each output of each entry, the CPU's bits ----
n=$(sizes 64 65536) r=$(sizes 8 64) c=$(sizes 70 20000)
npy x.npy "($n,)" '<f4' 40000 && npy y.npy "($n,)" '<f4' 777 && npy xr.npy "($r, $c)" '<f4' 999
npy a.npy "($r, $c)" '<f4' 999 && npy b.npy "($c, $r)" '<f4' 555 && npy table.npy "($r, $c)" '<f4' 333
npy ids.npy "($n,)" '<i4' 1000 && npy lab.npy "($r,)" '|u1' 50
outputs() { "$1" info "$2" | awk '/^entry/ {n++} n == 1 && $1 == "output" {print $2}'; }
same_entry() { # EXE ENTRY INPUTS…
  local exe=$1 entry=$2 to_cpu='' to_gpu='' o
  shift 2
  rm -f cpu.*.npy gpu.*.npy # another entry's, which outputs do not replace
  for o in $(outputs "$exe" "$entry"); do
    to_cpu="$to_cpu --$o cpu.$o.npy" to_gpu="$to_gpu --$o gpu.$o.npy"
  done
  # shellcheck disable=SC2086
  "$exe" "$entry" "$@" $to_cpu --device cpu --quiet && "$exe" "$entry" "$@" $to_gpu --device cuda --quiet || return 1
  for o in $(outputs "$exe" "$entry"); do
    cmp "cpu.$o.npy" "gpu.$o.npy" || { echo "output $o differs"; return 1; }
  done
  echo "$(outputs "$exe" "$entry" | wc -l) outputs, the CPU's bits"
}
export -f same_entry outputs
if compile functions "$root/tests/gpu/functions.g" --exact "${target[@]}" -D N="$n" -D R="$r" -D C="$c"; then
  entry() { try "entry $1" 60 bash -c "same_entry ./functions $*"; }
  entry functions --x x.npy --y y.npy
  entry halves --x x.npy --y y.npy
  entry rows --x xr.npy --label lab.npy
  entry moves --table table.npy --ids ids.npy
  entry draws
  entry products --a a.npy --b b.npy
fi

# ---- training: three runs with the same bits, those of the CPU; a kill, and on from the checkpoint ----
part 40
for precision in $(sizes f32 'f32 tf32 bf16'); do
  compile "mnist-$precision" "$root/docs/examples/mnist.g" -D N="$(sizes 8 64)" --precision="$precision" "${target[@]}"
  [ -z "$dry" ] && compile "chars-$precision" "$root/docs/examples/chars.g" --precision="$precision" "${target[@]}"
done
steps=$(sizes 2 200)
train() { # MODEL OPTIONS…
  local model=$1
  shift
  case $model in
  mnist*) "./$model" train --image image.npy --label label.npy --quiet "$@" ;;
  *) "./$model" train --context context.npy --next next.npy --quiet "$@" ;;
  esac
}
export -f train
three() { # MODEL
  for i in 1 2 3; do train "$1" --steps "$steps" --device cuda --save "w$i" || return 1; done
  cmp w1 w2 && cmp w1 w3 || return 1
  [ "${1#*-}" = f32 ] || { echo "$steps steps, three times the same bits"; return; }
  train "$1" --steps "$steps" --device cpu --save w0 && cmp w0 w1 && echo "$steps steps, three times the CPU's bits"
}
killed() { # MODEL: --checkpoint each 5 steps, SIGKILL, --resume; as if never interrupted
  rm -f k.ckpt
  setsid bash -c "train $1 --steps $((50 * steps)) --device cuda --checkpoint k.ckpt:$(sizes 1 5)" &
  local pid=$! waited=0
  until [ -s k.ckpt ] || [ $((waited++)) -gt 600 ]; do sleep 0.05; done
  kill -9 -- "-$pid"
  wait "$pid" 2>/dev/null
  local more=$((50 * steps))
  train "$1" --steps "$more" --device cuda --resume k.ckpt --save k1 &&
    train "$1" --steps "$more" --device cuda --save k2 && cmp k1 k2 && echo "killed, resumed: the bits of $more steps"
}
export -f three killed sizes
export steps dry
for model in mnist chars; do
  [ -n "$dry" ] && [ $model = chars ] && continue
  for precision in $(sizes f32 'f32 tf32 bf16'); do
    [ -x "$model-$precision" ] && try "train $model $precision" 60 bash -c "three $model-$precision"
  done
done
[ -x mnist-f32 ] && [ -z "$dry" ] && try 'kill and resume' 60 bash -c 'killed mnist-f32'

# ---- what goes wrong: its message, its exit code, no file touched ----
part 30
says() { # CODE TEXT COMMAND…
  local want=$1 text=$2 code=0
  shift 2
  rm -f broken
  "$@" >said 2>&1 || code=$?
  grep -F -- "$text" said | head -n 1
  [ "$code" -eq "$want" ] && grep -qF -- "$text" said && [ ! -e broken ] || { cat said; return 1; }
}
export -f says
if [ -x mnist-f32 ]; then
  data='--image image.npy --label label.npy --save broken'
  hidden=$(sizes FAKECUDA_DEVICES=0 CUDA_VISIBLE_DEVICES=)
  try 'no device' 60 bash -c "says 3 'finds no device' env $hidden ./mnist-f32 train $data --device cuda"
  try 'no such device' 60 bash -c "says 3 'there is no device cuda:99' ./mnist-f32 train $data --device cuda:99"
  if [ -n "$dry" ]; then
    try 'too little memory' 60 bash -c "says 3 'bytes on the device' env FAKECUDA_MEMORY=1M ./mnist-f32 train $data --device cuda"
  else
    compile huge "$root/tests/gpu/products.g" -D E=$((1 << 36))
    [ -x huge ] && try 'too little memory' 60 bash -c "says 3 ' bytes o' ./huge stream --device cuda"
    compile newer "$root/docs/examples/mnist.g" --target=cuda,cpu --arch=sm_120
    [ -x newer ] && try 'code for another device' 60 bash -c "says 3 'holds code for' ./newer train $data --device cuda"
  fi
fi

# ---- bad accesses, races, reads of what nobody wrote ----
part 40
if [ -n "$dry" ] || ! command -v compute-sanitizer >/dev/null; then
  record compute-sanitizer left-out "$([ -n "$dry" ] && echo 'a dry run' || echo 'it is not installed')"
else
  for tool in memcheck racecheck initcheck synccheck; do
    timeout "$(left 60)" compute-sanitizer --tool "$tool" --error-exitcode 9 ./mnist-f32 train --image image.npy \
      --label label.npy --steps 2 --device cuda --quiet >text 2>&1
    code=$?
    cat text >>"$out/log"
    if grep -qi 'device not supported' text; then
      record "sanitizer $tool" left-out "$(grep -i -m1 'not supported' text)"
    elif [ $code -eq 0 ]; then
      record "sanitizer $tool" passed "$(grep 'ERROR SUMMARY' text | tail -n 1)"
    else
      record "sanitizer $tool" FAILED "exit code $code: $(grep -m1 '=========' text)"
    fi
  done
fi

# ---- speed ----
part 100
measured() { # WHAT PRECISION HOW MICROSECONDS LEAST EXTRA
  printf '%5ds  %-28s %-5s %-26s %10s us, least %s\n' $((SECONDS - began)) "$1" "$2" "$3" "$4" "$5" | tee -a "$out/log"
  line "{\"what\": \"$1\", \"precision\": \"$2\", \"how\": \"$3\", \"microseconds\": $4, \"least\": $5$6}"
}
bench() { # WHAT PRECISION EXTRA COMMAND…: the times of gc's --bench
  local what=$1 precision=$2 extra=$3 text median least
  shift 3
  text=$(timeout "$(left 60)" "$@" --device cuda 2>>"$out/log") || { record "bench $what" FAILED "exit code $?"; return 0; }
  echo "$text" >>"$out/log"
  median=$(echo "$text" | sed -n 's/.*median \([0-9.]*\) us.*/\1/p')
  least=$(echo "$text" | sed -n 's/.*least \([0-9.]*\) us.*/\1/p')
  [ -n "$median" ] || { record "bench $what" FAILED "$text"; return 0; }
  case $extra in
  flop:*) extra=", \"tflops\": $(awk "BEGIN {print 1e-6 * ${extra#flop:} / $median}")" ;;
  bytes:*) extra=", \"gigabytes\": $(awk "BEGIN {print 1e-3 * ${extra#bytes:} / $median}")" ;;
  esac
  measured "$what" "$precision" gc "$median" "$least" "$extra"
}
peer() { # what PyTorch says, line by line
  timeout "$(left 120)" python3 "$root/tests/gpu/torch_step.py" "$@" >text 2>>"$out/log" ||
    { record "PyTorch $*" left-out "$(tail -n 1 "$out/log")"; return 0; }
  while read -r row; do
    echo "        $row" | tee -a "$out/log"
    line "$row"
  done <text
}
times=$(sizes 2 2000)
for precision in $(sizes f32 'f32 tf32 bf16'); do
  bench 'mnist step' "$precision" '' "./mnist-$precision" train --image image.npy --label label.npy --bench "$times"
  [ -n "$dry" ] && continue
  peer step mnist "$precision"
  bench 'chars step' "$precision" '' "./chars-$precision" train --context context.npy --next next.npy --bench "$times"
  peer step chars "$precision"
done
for size in $(sizes '64x64x64' '4096x4096x4096 64x256x784 128x512x512'); do
  IFS=x read -r m n k <<<"$size"
  for precision in $(sizes f32 'f32 tf32 bf16'); do
    timeout "$(left 60)" "$gc" "$root/tests/gpu/products.g" -o product --precision="$precision" "${target[@]}" -D M="$m" \
      -D N="$n" -D K="$k" -D E="$(sizes 1024 67108864)" >>"$out/log" 2>&1 ||
      { record "compile product $size" FAILED "see the log"; continue; }
    bench "product $size" "$precision" "flop:$((2 * m * n * k))" ./product product --bench "$(sizes 2 200)"
    [ -z "$dry" ] && peer product "$m" "$n" "$k" "$precision"
  done
done
[ -x product ] && bench 'relu(0.5 x + y)' f32 "bytes:$((12 * $(sizes 1024 67108864)))" ./product stream --bench "$(sizes 2 200)"
[ -z "$dry" ] && peer copy 67108864

# ---- the table ----
{
  echo "| what | precision | how | us | least | TFLOP/s or GB/s |"
  echo "|---|---|---|---|---|---|"
  sed -n 's/^{"what": "\([^"]*\)", "precision": "\([^"]*\)", "how": "\([^"]*\)", "microseconds": \([0-9.]*\), "least": \([0-9.]*\)\(, "[a-z]*": \([0-9.e+-]*\)\)\{0,1\}}$/| \1 | \2 | \3 | \4 | \5 | \7 |/p' "$out/lines"
  echo
  echo "| check | result | detail |"
  echo "|---|---|---|"
  sed -n 's/^{"check": "\([^"]*\)", "result": "\([^"]*\)", "detail": "\(.*\)"}$/| \1 | \2 | \3 |/p' "$out/lines"
} >"$out/results.md"
echo "$((SECONDS - began)) s; $out/results.json, results.md, log"
exit $bad
