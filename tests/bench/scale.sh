#!/usr/bin/env bash
# Measures how planning grows with the program: a dense net of N layers, unrolled, with its backward pass
# and AdamW, at about 1,000, 10,000 and 100,000 ops. Prints ops, CPU seconds and MiB of one `gc -O2 --dump-plan`.
#   tests/bench/scale.sh BUILD_DIR [N …]
# A machine under load shows in the seconds, but less than in elapsed time.
set -euo pipefail
gc=$(cd "$1" && pwd)/bin/gc
shift
[ $# -gt 0 ] || set -- 25 250 2500
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "  layers      ops   steps  user s   MiB"
for n in "$@"; do
  cat >"$work/deep.g" <<G
let N = $n
def layer(x) {
  param w : f32[32, 32] = glorot()
  param b : f32[32] = zeros()
  return relu(x @ w + b)
}
entry train(x : f32[8, 32], label : u8[8]) {
  h = x
  for i in 0..N { h = layer(h) as l[i] }
  p = softmax(h)
  loss = -sum(log(p) * one_hot(label, 32))
  minimize loss with adamw(lr = 0.001)
  return loss
}
G
  ops=$("$gc" "$work/deep.g" --passes=fold,cse,dce,autodiff,fold,cse,dce --emit=ir -o - | grep -c ' = ')
  python3 - "$gc" "$work/deep.g" "$n" "$ops" <<'PY'
import json, resource, subprocess, sys
gc, path, n, ops = sys.argv[1:]
out = subprocess.run([gc, path, "-O2", "--dump-plan=json"], stdout=subprocess.PIPE, check=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
steps = json.loads(out)["entries"][0]["steps"]
print(f"{n:>8} {ops:>8} {steps:7d} {used.ru_utime:7.2f} {used.ru_maxrss / 1024:5.0f}")
PY
done
