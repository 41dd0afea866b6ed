#!/bin/sh
# Every example that trains, five steps of a batch of 16 rows on 1, 2, 4 and 8 ranks, over OpenMPI and MPICH in turn:
# losses are those of one process within 1e-6, and so are the weights: the norm of their difference is at most 1e-6 of
# theirs. It is so with both kinds of --shard, and bit for bit with --exact. Beyond that each tensor, moments too, is looked
# at by itself: within 1e-6 of its largest, or where a program magnifies rounding within a few times of what f32 does to it
# in one process; the ranks of that agree in f64. Each rank takes the memory that `info` says.
# As a fifth and sixth argument the folders of a driver and of a libnccl.so.2: the same on two GPUs of the interpreter.
# At the level full alone.
. "$(dirname "$0")/common.sh"
driver=${5-} nccl=${6-}
export CC="$here/tests/cc-O0" # 150 programs of five steps
# hwloc of MPICH asks for X displays by name, which takes ranks seconds each where nobody knows the host's name
export HWLOC_COMPONENTS=-gl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
batch=16
# Sums over the ranks are in another order: bounds of losses, and of the weights and moments of a checkpoint as shares of
# their tensor's largest. Elements whose gradients are rounding alone, as those of a bias of keys are, are left out.
# `whole` bounds the L2 norm of the difference of all params and states, as a share of theirs.
losses=1e-6 weights=1e-6 whole=1e-6 normed=
# Beyond them: an optimizer divides by the root of a moment where a gradient is nearly zero, and batch norm by the deviation
# of a channel that hardly varies. Then the differences of ranks from one process are at most so many times those of one
# process from the same program in f64, and the ranks of that agree to 1e-9.
times=4
# With most seeds an element of inception_bn.g stands within rounding of zero in front of a ReLU. Which way it goes changes the
# loss by 5e-6 to 8e-3, in one process whose rows come in another order, too. With this seed none does, in 24 orders.
seed() { if [ "$1" = inception_bn ]; then echo 13; else echo 5; fi; }
if [ -n "$driver" ]; then
  "$gc" --version | grep -q '^targets: cpu, cuda (NVRTC ' || { not_tested 'ranks of examples on GPUs: there is no NVRTC' && exit 77; }
  numbers=2 how='--data-parallel=nccl --arch=compute_80' losses=1e-5 weights=1e-4 whole=1e-5 normed='1e-4 2e-3'
else
  both=
  for mpi in openmpi mpich; do
    command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null && both="$both $mpi" && continue
    not_tested "ranks of examples over $mpi (sh docs/install.sh tests)"
  done
  [ -n "$both" ] || exit 77
  numbers='1 2 4 8' how=--data-parallel=mpi
fi

# sizes NAME: options that make it small, but for its batch
sizes() { sed -n "s/^$1 //p" "$here/tests/cuda/small_examples" | tr ' ' '\n' | grep -v '^[NB]=[0-9]*$' | sed 's/^/-D /' | tr '\n' ' '; }

# inputs ENTRY: makes a file of each input that info.txt names, and gives their options. Pixels differ: batch norm
# magnifies what rounding does to those that hardly do.
inputs() {
  sed -n 's/^  input  *\([^ ]*\)  *\([a-z0-9]*\)\[\(.*\)\].*/\1 \2 \3/p' info.txt | sed "s/, /,/g; s/[a-z]* *<= *//g" |
    while read -r input dtype dims; do
      python3 - "$1.$input.npy" "$dtype" "$dims" "$input" <<'END' && printf ' --%s %s.%s.npy' "$input" "$1" "$input"
import random, struct, sys
file, dtype, dims, name = sys.argv[1:]
dims = [int(d) for d in dims.split(",")]
n, r = 1, random.Random(name)
for d in dims:
    n *= d
code, form = {"u8": ("|u1", "B"), "i32": ("<i4", "i"), "f32": ("<f4", "f")}[dtype]
most = 256 if name == "image" else 2 if name == "learned" else 3
x = [r.random() * 2 - 1 if form == "f" else r.randrange(most) for _ in range(n)]
head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {tuple(dims)}, }}"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open(file, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{n}{form}", *x))
END
    done
}

# ranked N PROGRAM OPTIONS: its ranks, or fails with what they print
ranked() {
  n=$1
  shift
  checks=$((checks + 1)) code=0
  if [ -z "$driver" ]; then
    "mpirun.$mpi" -n "$n" "$@" >out.txt 2>&1 || code=$?
  else
    rm -f meet
    for rank in 1 0; do
      env GC_RANK=$rank GC_MASTER=./meet GC_WORLD_SIZE="$n" LD_LIBRARY_PATH="$driver:$nccl" "$@" >"out.$rank" 2>&1 &
      jobs="${jobs-} $!"
    done
    for job in $jobs; do wait "$job" || code=$?; done
    jobs=
    cat out.0 out.1 >out.txt
  fi
  [ "$code" = 0 ] || { fail "exit code $code: $n ranks of $*"; cat out.txt; }
}

# The implementation of MPI takes turns: of two examples one number of ranks has each.
next_mpi() {
  [ -z "$driver" ] || return 0
  # shellcheck disable=SC2086
  set -- $both
  turn=$((${turn-0} + 1))
  shift $((turn % $#))
  mpi=$1
  export MPICC="mpicc.$mpi"
}

# near ONE MANY WHAT [DOUBLE]: whether logs and weights of five steps are within the bounds, or within $times what those of
# ONE are from those of DOUBLE
near() {
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  python3 - "$1" "$2" $bounds "$whole" "$3" "${4-}" "$times" <<'END'
import csv, math, sys, weights
one, many, of_losses, of_weights, of_whole, what, double, times = sys.argv[1:]
def log(file):
    rows = list(csv.DictReader(open(file + ".csv")))
    return [{k: float(v) for k, v in row.items() if k and v and k not in ("seconds", "time", "rows/s")} for row in rows]
def lost(a, b):
    return weights.largest(abs(x[k] - y[k]) / (abs(x[k]) + 1e-3) for x, y in zip(a, b) for k in x
               if not (k in ("step", "epoch") or "second" in k or "/s" in k or "wait" in k))
x, y = weights.weights(one + ".st"), weights.weights(many + ".st")
most = {k: max(map(abs, x[k])) for k in x}
moment = {k.split(".m.", 1)[1]: most[k] for k in x if ".m." in k}
noise = 1e-6 * max(moment.values(), default=0)
def off(k, y): # an element of a param, or of a moment of it, goes by the first moment
    name = next((n for n in moment if k == n or k.endswith("." + n)), None)
    m = next((x[j] for j in x if j.endswith(".m." + name)), None) if name else None
    counts = [p - q for i, (p, q) in enumerate(zip(x[k], y[k])) if not m or m[i] == 0 or abs(m[i]) >= noise]
    return weights.largest(map(abs, counts)) / (most[k] + 1e-12)
a, b, z = log(one), log(many), weights.weights(double + ".st") if double else {}
loss, bound = lost(a, b), float(of_losses)
if double:
    bound = max(bound, float(times) * lost(a, log(double)))
ok = len(a) == len(b) == 5 and x.keys() == y.keys() and loss <= bound
print(f"{what}: losses off by {loss:.1e}{f' of {bound:.1e}' if double else ''}", end="")
largest, worst = (0, ""), (0, "")
# A tensor of few elements may be near that of f64 by chance: it has the median of all that are like it, too.
kind = lambda k: next((sign for sign in (".m.", ".v.") if sign in k), "")
rounding = {k: off(k, z) for k in x} if double else {}
like = {}
for k in rounding:
    like.setdefault(kind(k), []).append(rounding[k])
def bound_of(k):
    if not double:
        return float(of_weights)
    median = sorted(like[kind(k)])[len(like[kind(k)]) // 2]
    return max(float(of_weights), float(times) * max(rounding[k], median if len(x[k]) < 64 else 0))
for k in x:
    here, bound = off(k, y), bound_of(k)
    ok = ok and here <= bound
    largest, worst = max(largest, (here, k)), max(worst, (here / bound, k))
learned = [k for k in x if kind(k) == ""] # moments are the optimizer's
norm = lambda a, b, names: math.sqrt(sum((p - q) ** 2 for k in names for p, q in zip(a[k], b[k])))
zero = {k: [0.0] * len(x[k]) for k in x}
all_of_them = norm(x, y, learned) / norm(x, zero, learned)
ok = ok and all_of_them <= float(of_whole)
own, of = max((norm(x, y, [k]) / (norm(x, zero, [k]) + 1e-12), k) for k in learned)
print(f", weights by {all_of_them:.1e} of their norm, a tensor by {own:.1e} of its norm ({of})", end="")
print(f", by {largest[0]:.1e} of its largest ({largest[1]})", end="")
print(f", by {worst[0]:.2f} of the bound ({worst[1]})" if double else "")
sys.exit(not ok)
END
}

# The program of the example in f64, and five steps of it in one process, once for each entry: `one64`.
one_in_doubles() {
  [ ! -s one64.st ] || return 0
  # shellcheck disable=SC2086
  run 0 "$gc" "$here/docs/examples/$example.g" $options --passes= --emit=ir -o f32.ir
  python3 "$here/tests/e2e/doubles.py" <f32.ir >f64.ir || fail "$example in f64"
  run 0 "$gc" -x ir f64.ir -O2 --target=cpu -o one64
  # shellcheck disable=SC2086
  run 0 ./one64 $train --checkpoint one64.st --log one64.csv
}

# in_doubles N: the program of f64.ir in N ranks
in_doubles() {
  rm -f many64.st many64.csv
  # shellcheck disable=SC2086
  run 0 "$gc" -x ir f64.ir -O2 $how --ranks="$1" -o many64
  # shellcheck disable=SC2086
  ranked "$1" ./many64 $train --checkpoint many64.st --log many64.csv --threads 1
  bounds='1e-9 1e-9'
  [ ! -s many64.st ] || near one64 many64 "$example $entry in f64, $1 ranks" || fail "$example $entry, $1 ranks differ in f64"
}

trained=0
for example in ${EXAMPLES-$(grep -l '  minimize ' "$here"/docs/examples/*.g)}; do
  example=$(basename "$example" .g)
  let=$(sed -n 's/^let \([NB]\) = .*/\1/p' "$here/docs/examples/$example.g" | head -1)
  options="-D $let=$batch $(sizes "$example")"
  loose=
  [ -z "$driver" ] || ! grep -q 'bn\b' "$here/docs/examples/$example.g" || loose=$normed
  # shellcheck disable=SC2086
  run 0 "$gc" "$here/docs/examples/$example.g" -O2 $options --target=cpu -o one
  # shellcheck disable=SC2086
  run 0 "$gc" "$here/docs/examples/$example.g" -O2 --exact $options --target=cpu -o exact
  entries=$(sed -n '/^entry /h; /^  minimize /{g; s/^entry \([a-z_]*\).*/\1/p}' "$here/docs/examples/$example.g" | uniq)
  for entry in $entries; do
    trained=$((trained + 1))
    ./one info "$entry" >info.txt
    train="$entry $(inputs "$entry") --steps 5 --seed $(seed "$example") --lr 1e-4"
    rm -f one.st one.csv exact.st exact.csv one64.st one64.csv
    # shellcheck disable=SC2086
    run 0 ./one $train --checkpoint one.st --log one.csv
    # shellcheck disable=SC2086
    run 0 ./exact $train --checkpoint exact.st --log exact.csv
    next_mpi
    for n in $numbers; do
      next_mpi
      doubled=
      for way in plain --shard=optimizer --shard=gradients --exact; do
        [ "$n" != 1 ] || [ "${way#--shard}" = "$way" ] || continue
        from=one bounds=${loose:-$losses $weights}
        [ "$way" != --exact ] || from=exact
        # shellcheck disable=SC2086
        if ! "$gc" "$here/docs/examples/$example.g" -O2 $options $how --ranks="$n" ${way#plain} -o many >out.txt 2>&1; then
          # what is known to be refused, each for its reason
          case "$way $(cat out.txt)" in
          --exact*'whose extent n is known only at run time'* | --exact*'ranks on GPUs cannot exchange values in a loop'*) echo "$example: $way is refused" && continue ;;
          --shard*'changes nothing'*) continue ;;
          esac
          fail "$example, $n ranks, $way does not compile" && cat out.txt
          continue
        fi
        rm -f many.st many.csv
        # shellcheck disable=SC2086
        ranked "$n" ./many $train --checkpoint many.st --log many.csv --poison --threads 1
        [ -s many.st ] && [ -s many.csv ] || continue
        if ! near $from many "$example $entry, $n ranks, $way"; then
          if [ -z "$driver" ]; then
            one_in_doubles
            near $from many "$example $entry, $n ranks, $way, beside f64" one64 || fail "$example $entry, $n ranks, $way differs"
            [ -n "$doubled" ] || in_doubles "$n"
            doubled=1
          else
            fail "$example $entry, $n ranks, $way differs"
          fi
        fi
        [ "$way" != --exact ] || [ -n "$driver" ] || same exact.st many.st "the bits of $example $entry on $n ranks"
      done
    done
  done
done
[ -n "${EXAMPLES-}" ] || at_least "$trained" 17 'entries that train'

# A rank's memory is what is planned, in the processes' own account: the difference of two programs is that of `info`,
# and where MPI copies messages under way, theirs, too.
if [ -z "$driver" ] && [ -z "${EXAMPLES-}" ]; then
  next_mpi
  cat >wide.g <<'END'
let N = 16
entry train(x : f32[N, 1024]) {
  h = relu(linear(x, 8192) as up)
  loss = mean((linear(h, 1024) as down - x) ** 2)
  minimize loss with adamw(1e-3)
  return loss
}
END
  "$mkdata" npy f32 64,1024 3 x.npy || fail 'no data could be made'
  for way in plain --shard=optimizer; do
    # shellcheck disable=SC2086
    run 0 "$gc" wide.g -O2 --data-parallel=mpi --ranks=4 ${way#plain} -o wide
    ./wide info train >"info.$way"
    rm -f peak.*
    # shellcheck disable=SC2016
    "mpirun.$mpi" -n 4 sh -c '"$@" & id=$!
      while kill -0 $id 2>/dev/null; do grep VmHWM /proc/$id/status >hwm.$$ 2>/dev/null && [ -s hwm.$$ ] && cp hwm.$$ peak.$$; sleep 0.05; done; wait $id' - \
      ./wide train --x x.npy --epochs 3 --threads 1 --quiet >out.txt 2>&1 || { fail 'wide.g does not train' && cat out.txt; }
    cat peak.* | awk '{ if ($2 > most) most = $2 } END { print 1024 * most }' >"most.$way"
  done
  planned() { sed -n "s/^  $2 *\([0-9,]*\).*/\1/p" "info.$1" | tail -1 | tr -d ,; }
  awk -v a="$(cat most.plain)" -v b="$(cat most.--shard=optimizer)" -v p="$(planned plain total)" -v q="$(planned --shard=optimizer total)" \
    -v m="$(planned plain messages)" -v n="$(planned --shard=optimizer messages)" 'BEGIN {
    printf "a rank takes %.1f MB less with --shard=optimizer, planned are %.1f, and %.1f of messages\n", (a - b) / 1e6, (p - q) / 1e6, (m - n) / 1e6
    exit !(p > q && m >= n && a - b > 0.98 * (p - q) && a - b < 1.02 * (p - q + m - n)) }' || fail 'a rank takes other memory than planned'
fi
finish
