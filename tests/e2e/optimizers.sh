#!/bin/sh
# The numbers of optimizers and schedules after five steps, against their formulas as they are published.
. "$(dirname "$0")/common.sh"
cat >o.g <<'END'
def weights() {
  param w : f32[3] = const(1)
  return w
}
def target() { return where(iota(3) == 1, 1.5, f32(iota(3)) * 2 - 1) }
entry show() { return w = weights() }
END
cat >rules <<'END'
nesterov sgd(0.1, momentum = 0.9, nesterov = true, decay = 0.01)
momentum sgd(0.1, momentum = 0.9, decay = 0.01)
rms rmsprop(0.05, alpha = 0.9, momentum = 0.5, decay = 0.01)
ada adagrad(0.3, decay = 0.01)
signs lion(0.02, b1 = 0.9, b2 = 0.95, decay = 0.1)
half_cosine sgd(cosine(0.2, 6, warmup = 2, least = 0.1))
linear sgd(linear_decay(0.2, 4, least = 0.25))
stepwise sgd(step_decay(0.2, 2, factor = 0.5))
END
while read -r name rule; do
  printf 'entry %s() {\n  loss = sum((weights() - target()) ** 2) / 2\n  minimize loss with %s\n  return loss\n}\n' "$name" "$rule"
done <rules >>o.g
run 0 "$gc" o.g -O2 -o o
python3 - >expected <<'END' || fail 'no numbers to compare with'
import math
def sgd(p, g, s, t, rate=lambda t: 0.1, mu=0.0, nesterov=False, decay=0.0):
    g += decay * p
    s["m"] = mu * s.get("m", 0) + g
    return p - rate(t) * (g + mu * s["m"] if nesterov else s["m"])
def rmsprop(p, g, s, t):
    g += 0.01 * p
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    s["m"] = 0.5 * s.get("m", 0) + g / (math.sqrt(s["v"]) + 1e-8)
    return p - 0.05 * s["m"]
def adagrad(p, g, s, t):
    g += 0.01 * p
    s["v"] = s.get("v", 0) + g * g
    return p - 0.3 * g / (math.sqrt(s["v"]) + 1e-10)
def lion(p, g, s, t):
    m = s.get("m", 0)
    u = 0.9 * m + 0.1 * g
    s["m"] = 0.95 * m + 0.05 * g
    return p * (1 - 0.02 * 0.1) - 0.02 * ((u > 0) - (u < 0))
def cosine(t):
    done = min(max((t - 2) / 4, 0), 1)
    return 0.2 * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2) * min((t + 1) / 2, 1)
rules = {
    "nesterov": lambda *a: sgd(*a, mu=0.9, nesterov=True, decay=0.01),
    "momentum": lambda *a: sgd(*a, mu=0.9, decay=0.01),
    "rms": rmsprop, "ada": adagrad, "signs": lion,
    "half_cosine": lambda *a: sgd(*a, rate=cosine),
    "linear": lambda *a: sgd(*a, rate=lambda t: 0.2 * (1 - 0.75 * min(t / 4, 1))),
    "stepwise": lambda *a: sgd(*a, rate=lambda t: 0.2 * 0.5 ** (t // 2)),
}
for name, rule in rules.items():
    out = []
    for target in (-1.0, 1.5, 3.0):
        p, s = 1.0, {}
        for t in range(5):
            p = rule(p, p - target, s, t)
        out.append(p)
    print(name, *out)
END
while read -r name a b c; do
  run 0 ./o "$name" --steps 5 --save w.safetensors --quiet
  run 0 ./o show --load w.safetensors --quiet
  got=$(sed -n 's/^w = \[\(.*\)\]$/\1/p' out.txt)
  [ -n "$got" ] || fail "$name: no weights are shown"
  at_most "$(echo "$got $a $b $c" | awk '{for (i = 1; i <= 3; i++) {d = $i - $(i + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print w + 0}')" 1e-5 "the error of $name"
done <expected
[ "$(wc -l <expected)" = 8 ] || fail 'not every rule was looked at'
finish
