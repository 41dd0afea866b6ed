#!/bin/sh
# The memory plan of mnist.g as data: the keys of the JSON form to the letter, each strategy no larger
# than the one before and different where it should be, and the same figures in `info`.
. "$(dirname "$0")/common.sh"
cp "$here/docs/examples/mnist.g" . && source=mnist.g
run 0 "$gc" "$source" -O2 --dump-plan=json
cp out.txt plan.json
cat >check.py <<'END'
import json
plan = json.load(open("plan.json"))
assert list(plan) == ["gc", "source", "target", "globals_bytes", "entries"], list(plan)
assert plan["source"] == "mnist.g" and plan["target"] == "cpu", plan["source"]
entry_keys = ["name", "training", "steps", "streams", "naive_bytes", "inplace_bytes", "pool_bytes", "arena_bytes",
              "lower_bound_bytes", "inputs_bytes", "outputs_bytes", "unwritten_bytes", "recompute_flops", "flops", "values"]
value_keys = ["id", "op", "scope", "loc", "type", "bytes", "region", "offset", "first", "last", "stream", "how"]
entries = {e["name"]: e for e in plan["entries"]}
assert {"train", "test", "predict"} <= set(entries), set(entries)
assert entries["train"]["training"] is True and entries["test"]["training"] is False
def in_arena(e):
    return [v for v in e["values"] if v["region"] == "ws" and v["bytes"]]

for e in plan["entries"]:
    extents = ["extents"] if e["name"] in ("train", "test") else []
    assert list(e) == entry_keys[:4] + extents + entry_keys[4:], list(e)
    for v in e["values"]:
        assert list(v) in (value_keys, value_keys + ["of"]), list(v)
        assert v["how"] in ("new", "inplace", "reuse", "external"), v
        assert v["region"] in ("ws", "globals", "inputs", "hypers", "counts"), v
        assert (v["op"] == "input") == (v["region"] == "inputs") or v["how"] == "inplace", v
        assert v["first"] <= v["last"], v
    print(e["name"], *(e[k] for k in entry_keys[4:9]))
    assert e["lower_bound_bytes"] <= e["arena_bytes"] <= e["pool_bytes"] <= e["inplace_bytes"] <= e["naive_bytes"], e["name"]
t = entries["train"]
assert t["arena_bytes"] < t["pool_bytes"] < t["inplace_bytes"] < t["naive_bytes"]
assert all(any(v["how"] == how for v in t["values"]) for how in ("new", "inplace", "external"))
# an update is computed in the bytes of its parameter, whose offset says nothing without the region
assert any(v["region"] == "globals" and v["how"] == "inplace" for v in t["values"])
# two values that are alive at the same time share no byte, unless one stands in place of the other
for e in plan["entries"]:
    held = in_arena(e)
    for i, a in enumerate(held):
        assert a["offset"] + a["bytes"] <= e["arena_bytes"], a
        for b in held[:i]:
            apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
            dead = a["first"] > b["last"] or b["first"] > a["last"]
            touching = a["first"] == b["last"] and a["how"] == "inplace"
            touching = touching or (b["first"] == a["last"] and b["how"] == "inplace")
            assert apart or dead or touching, (e["name"], a, b)
for k in ("naive_bytes", "inplace_bytes", "pool_bytes", "arena_bytes", "lower_bound_bytes", "inputs_bytes"):
    print(k, t[k], file=open("figures.txt", "a"))
END
run 0 python3 check.py
cat out.txt
run 0 "$gc" "$source" -O2 -o mnist
run 0 ./mnist info train
total=$(awk '$1 == "total" {print $2}' out.txt)
[ "$(sed -n '3,4p' out.txt | awk '{print $1, $2}')" = "parameters 203,530
train $total" ] || fail 'info does not begin with parameters and bytes'
for row in 'without_sharing naive_bytes' 'in_place inplace_bytes' 'pool pool_bytes' 'arena arena_bytes' 'lower_bound lower_bound_bytes' 'inputs inputs_bytes'; do
  set -- $row
  want=$(awk -v k="$2" '$1 == k {print $2}' figures.txt)
  sed 's/,//g; s/lower bound/lower_bound/; s/without sharing/without_sharing/; s/in place/in_place/' out.txt | awk -v k="$1" '$1 == k {print $2; exit}' | grep -qx "$want" ||
    fail "info does not give $want for $1"
done
# ---- a quantity has one figure, of the plan and of the process ----
awk '$1 == "arena" { print $2 }' out.txt | uniq | wc -l | grep -qx 1 || fail 'info has two arenas'
sed 's/,//g' out.txt | awk '$1 ~ /^(param|state|optimizer)$/ { if ($3 == "bytes") sum += $2; else n++ }
  $1 == "globals" { has = $2 } END { exit !(sum <= has && has < sum + 64 * n) }' || fail 'globals has more than its parameters, states and optimizer, each aligned to 64 bytes'

# ---- each strategy by itself: its own figure is the arena's ----
for memory in none inplace pool pack; do
  run 0 "$gc" "$source" -O2 --memory=$memory --dump-plan=json
  python3 -c '
import json, sys
e = [e for e in json.load(sys.stdin)["entries"] if e["name"] == "train"][0]
print(e["arena_bytes"])' <out.txt >"arena_$memory"
  key=${memory}_bytes
  [ $memory = none ] && key=naive_bytes
  [ $memory = pack ] && key=arena_bytes
  grep -qx "$key $(cat arena_$memory)" figures.txt || fail "--memory=$memory gives an arena of $(cat arena_$memory)"
done

# ---- what is not kept: attention's weights, T by T, and the mask of dropout ----
cat >kept.g <<'END'
let T = 256
entry attends(x : f32[2, 4, T, 16]) {
  loss = mean(attention(linear(x, 16) as q, linear(x, 16) as k, linear(x, 16) as v, causal = true) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
entry drops(x : f32[T, 512]) {
  loss = mean(tanh(linear(dropout(tanh(linear(x, 512) as a), 0.5), 512) as b))
  minimize loss with sgd(0.1)
  return loss
}
entry keeps(x : f32[T, 512]) {
  loss = mean(tanh(linear(tanh(linear(x, 512) as a), 512) as b))
  minimize loss with sgd(0.1)
  return loss
}
END
for T in 256 512 1024; do
  run 0 "$gc" kept.g -D T=$T -O2 -march=x86-64-v3 --dump-plan=json
  tr -d "\n" <out.txt >kept_$T.txt
done
arena() { sed "s/.*\"name\": \"$1\"[^}]*\"arena_bytes\": \([0-9]*\).*/\1/" "kept_$2.txt"; } # of entry $1 with T=$2
once=$(($(arena attends 512) - $(arena attends 256))) twice=$(($(arena attends 1024) - $(arena attends 512)))
[ "$once" -gt 0 ] && [ "$twice" = $((2 * once)) ] ||
  fail "attention's arena grows by $once and $twice bytes, not with the length alone"
dropped=$(($(arena drops 1024) - $(arena keeps 1024)))
at_most "$dropped" $((1024 * 512 * 4 + 1024 * 512 / 16)) 'what dropout keeps: its result, and not a bit a number of a mask'
finish
