#!/bin/sh
# The numbers of optimizers and schedules after five steps, against their formulas as they are published: every one of
# the prelude; and with gradients clipped by the norm of all params together, or averaged over two runs. Each run has
# another target, by its number.
. "$(dirname "$0")/common.sh"
cat >o.g <<'END'
def weights() {
  param v : f32[1] = const(1)
  param w : f32[2] = const(1)
  return concat([v, w])
}
def target() { return where(iota(3) == 1, 1.5, f32(iota(3)) * 2 - 1) * (1 + f32(step) / 4) }
entry show() { return w = weights() }
END
cat >rules <<'END'
plain sgd(0.1)
nesterov sgd(0.1, momentum = 0.9, nesterov = true, decay = 0.01)
momentum sgd(0.1, momentum = 0.9, decay = 0.01)
moments adam(0.05, b1 = 0.8, b2 = 0.9, eps = 0.1, decay = 0.2)
apart adamw(0.05, b1 = 0.8, b2 = 0.9, eps = 0.1, decay = 0.2)
rms rmsprop(0.05, alpha = 0.9, momentum = 0.5, decay = 0.01)
still rmsprop(0.05, alpha = 0.9, eps = 0.1)
ada adagrad(0.3, decay = 0.01)
signs lion(0.02, b1 = 0.9, b2 = 0.95, decay = 0.1)
half_cosine sgd(cosine(0.2, 6, warmup = 2, least = 0.1))
linear sgd(linear_decay(0.2, 4, least = 0.25))
warmed sgd(linear_decay(0.2, 6, warmup = 3))
stepwise sgd(step_decay(0.2, 2, factor = 0.5))
clipped sgd(0.6, clip = 2.5)
late_clipped adam(0.3, eps = 1, clip = 2)
averaged sgd(linear_decay(0.2, 4), momentum = 0.9, accumulate = 2)
averaged_clipped adamw(0.3, eps = 1, clip = 2, accumulate = 2)
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
def adam(p, g, s, t, rate=0.3, b1=0.9, b2=0.999, eps=1.0, decay=0.0, apart=0.0):
    g += decay * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    m, v = s["m"] / (1 - b1 ** (t + 1)), s["v"] / (1 - b2 ** (t + 1))
    return p - rate * apart * p - rate * m / (math.sqrt(v) + eps)
def rmsprop(p, g, s, t, mu=0.0, eps=1e-8, decay=0.0):
    g += decay * p
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    s["m"] = mu * s.get("m", 0) + g / (math.sqrt(s["v"]) + eps)
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
def steps(name, rule, limit=math.inf, runs=1):
    p, states, sums, clipped = [1.0] * 3, [{}, {}, {}], [0.0] * 3, set()
    for t in range(5):
        sums = [s + (q - x * (1 + t / 4)) / runs for s, q, x in zip(sums, p, (-1.0, 1.5, 3.0))]
        if (t + 1) % runs == 0:
            scale = limit / math.sqrt(sum(g * g for g in sums))
            clipped.add(scale < 1)
            p = [rule(q, g * min(scale, 1), s, t // runs) for q, g, s in zip(p, sums, states)]
            sums = [0.0] * 3
    print(name, *p)
    return clipped
steps("plain", sgd)
steps("nesterov", lambda *a: sgd(*a, mu=0.9, nesterov=True, decay=0.01))
steps("momentum", lambda *a: sgd(*a, mu=0.9, decay=0.01))
steps("moments", lambda *a: adam(*a, rate=0.05, b1=0.8, b2=0.9, eps=0.1, decay=0.2))
steps("apart", lambda *a: adam(*a, rate=0.05, b1=0.8, b2=0.9, eps=0.1, apart=0.2))
steps("rms", lambda *a: rmsprop(*a, mu=0.5, decay=0.01))
steps("still", lambda *a: rmsprop(*a, eps=0.1))
steps("ada", adagrad)
steps("signs", lion)
steps("half_cosine", lambda *a: sgd(*a, rate=cosine))
steps("linear", lambda *a: sgd(*a, rate=lambda t: 0.2 * (1 - 0.75 * min(t / 4, 1))))
steps("warmed", lambda *a: sgd(*a, rate=lambda t: 0.2 * (1 - max(t - 3, 0) / 3) * min((t + 1) / 3, 1)))
steps("stepwise", lambda *a: sgd(*a, rate=lambda t: 0.2 * 0.5 ** (t // 2)))
both = steps("clipped", lambda *a: sgd(*a, rate=lambda t: 0.6), limit=2.5)
assert both == {True, False}, "steps above the limit and below it are wanted"
steps("late_clipped", adam, limit=2)
# a schedule stands outside of the rule, so it counts runs
steps("averaged", lambda *a: sgd(*a, mu=0.9, rate=lambda t: 0.2 * (1 - (2 * t + 1) / 4)), runs=2)
steps("averaged_clipped", lambda *a: adam(*a, apart=0.01), limit=2, runs=2)
END
while read -r name a b c; do
  run 0 ./o "$name" --steps 5 --save w.safetensors --quiet
  run 0 ./o show --load w.safetensors --quiet
  got=$(sed -n 's/^w = \[\(.*\)\]$/\1/p' out.txt)
  [ -n "$got" ] || fail "$name: no weights are shown"
  at_most "$(echo "$got $a $b $c" | awk '{for (i = 1; i <= 3; i++) {d = $i - $(i + 3); if (d < 0) d = -d; if (d > w) w = d}} END {print w + 0}')" 1e-5 "the error of $name"
done <expected
[ "$(wc -l <expected)" = "$(wc -l <rules)" ] || fail 'not every rule was looked at'
finish
