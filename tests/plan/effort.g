# RUN: for l in 30 32; do for o in 2 3; do %gc -march=x86-64-v4 -O$o --memory-limit=$l% %s --dump-plan=json \
# RUN:   | grep -o '"recompute_flops": [0-9]*' | grep -o '[0-9]*$' > %t.$l.$o || exit 1; done; done
# RUN: test $(cat %t.32.3) -lt $(cat %t.32.2)
# RUN: test $(cat %t.30.3) -le $(cat %t.30.2)
# RUN: %gc -march=x86-64-v4 -O3 --memory-limit=32% %s --dump-plan=json > %t.once
# RUN: %gc -march=x86-64-v4 -O3 --memory-limit=32% %s --dump-plan=json | cmp %t.once
# -O3 searches again, for longer, where -O2 ends, and keeps the better plan of both: it never computes
# more, and here it computes less. So does -O2 with its two arguments.
# RUN: %gc -march=x86-64-v4 --memory-limit=32% %s --dump-plan=json --passes="$(%gc --list-passes | sed -n 's/^-O2  //p' \
# RUN:   | sed 's/,remat/&{effort=400}/; s/,share,/,share{effort=400},/')" | cmp %t.once
# Less effort is a beginning of more: the plan of 100 per cent computes no more than those of 7 and 25.
# RUN: for e in 7 25 100; do %gc -march=x86-64-v4 --memory-limit=30% %s --dump-plan=json \
# RUN:   --passes="$(%gc --list-passes | sed -n 's/^-O2  //p' | sed "s/,remat/&{effort=$e}/")" \
# RUN:   | grep -o '"recompute_flops": [0-9]*' | grep -o '[0-9]*$'; done > %t.efforts
# RUN: test $(wc -l < %t.efforts) = 3 && sort -nr -c %t.efforts
entry train(x : f32[64, 48]) {
  h = x
  a = x
  for l in 0..12 {
    scope s[l] {
      w = 48 + 16 * (l % 5)
      h = tanh(linear(h, w) as up)
      h = h * sigmoid(linear(h, w) as gate)
      h = tanh(linear(h, 48) as down) + a
      a = h if l % 3 == 0 else a
    }
  }
  loss = sum(h * h)
  minimize loss with sgd(0.1)
  return loss
}
