#!/bin/bash
# limits.sh BUILD: what a byte limit costs on ten training steps: arena, added arithmetic, the least that any
# plan in its order adds, by a linear program, and seconds of a processor. "more" marks what is above 1.3 times
# that bound and one percent. Limits are shares, per cent or such as 1/6, of the bytes that the same steps take in MB where nothing is
# recomputed, not even element by element, and every weight's gradient is consumed at once. Exit code 1 if a row is
# above that, or refused without a `?` behind its share.
set -eu
bad=0
gc=$1/bin/gc
here=$(dirname "$0")
examples=$here/../../docs/examples
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed 's/with adamw(.*$/with sgd(lr)/' "$examples/gpt2.g" > "$tmp/gpt2.g"

net() { # FILE MB OPTIONS SHARES…
  for share in none "${@:4}"; do
    may_refuse=
    case $share in *\?) may_refuse=1 share=${share%\?} ;; esac
    limit= part=$share/100
    case $share in */*) part=$share ;; esac
    [ "$share" = none ] || limit=--memory-limit=$(($2 * $part))M
    printf '%-16s %5s  ' "$(basename "$1")" "$share"
    # shellcheck disable=SC2086
    if (TIMEFORMAT=%U; time "$gc" "$1" -O2 -march=x86-64-v3 $3 $limit --remarks=remat --dump-plan=json \
        > "$tmp/plan" 2> "$tmp/error") 2> "$tmp/time"; then
      python3 - "$tmp/plan" "$(tail -1 "$tmp/time")" "$tmp/error" <<'END' || bad=1
import json, re, sys
e = next(e for e in json.load(open(sys.argv[1]))["entries"] if e["training"])
again = e["recompute_flops"]
added = 100 * again / (e["flops"] - again)
said = re.findall(f"entry '{e['name']}' takes .* no plan takes less than ([0-9.]+) %", open(sys.argv[3]).read())
bound = f", bound {said[-1]} %" + (" more" if added > 1.3 * float(said[-1]) + 1 else "") if said else ""
print(f'{e["arena_bytes"] / 2**20:8.1f} MB  + {added:.2f} %{bound}  {sys.argv[2]} s')
sys.exit("more" in bound)
END
    else
      [ -n "$may_refuse" ] || bad=1
      echo "refused after $(tail -1 "$tmp/time") s: $(sed -n 's/.*error: //p' "$tmp/error")"
    fi
  done
}

net "$examples/inception_bn.g" 1232 "" 57 50 30
net "$examples/resnet50.g" 2573 "" 50 30
net "$here/limits/densenet.g" 3838 "" 50 30
net "$here/limits/residual.g" 4692 "" 50 30 1/6
net "$tmp/gpt2.g" 3264 "-D T=1024" 50 30
net "$here/limits/unet.g" 1535 "" 50 30
net "$examples/vgg.g" 1533 "" 50 30
net "$here/limits/chain.g" 106 "" 50 30
net "$here/limits/lstm.g" 429 "" 70 50 30
net "$here/limits/lstm_scan.g" 429 "" 70 50 45 30?
exit $bad
