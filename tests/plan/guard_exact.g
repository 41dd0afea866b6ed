# RUN: %gc -march=x86-64-v3 -O0 --dump-plan=json %s > %t.0
# RUN: %gc -march=x86-64-v3 -O2 --exact --remarks=fuse --dump-plan=json %s > %t.2 2> %t.why
# RUN: FileCheck-14 %s < %t.why
# RUN: tr ',' '\n' < %t.0 | sed -n 's/.*"arena_bytes": *//p' > %t.written; tr ',' '\n' < %t.2 | sed -n 's/.*"arena_bytes": *//p' > %t.optimized
# RUN: paste -d ' ' %t.optimized %t.written | awk '$1 > $2 { print; exit 1 } END { exit NR != 2 }'
# RUN: %gc -march=x86-64-v3 -O2 --dump-plan=json %s | cmp - %t.2
# RUN: %gc -march=x86-64-v3 -O2 --reassociate --dump-plan=json %s | tr ',' '\n' | sed -n 's/.*"arena_bytes": *//p' | paste -d ' ' - %t.written | awk '$1 > $2 { print; exit 1 } END { exit NR != 2 }'
# Passes in front of autodiff decide how gradients are added up: they are left out last, and with --exact never. Variants that leave
# out others, or recompute little, are tried until one needs no more than the program as it is written. Here --exact changes nothing.
# CHECK-NOT: gradients are added up
# CHECK-NOT: no optimization
# CHECK: remark: 'first' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: fusion within the live bytes of the program's order [fuse-limited]
# CHECK: remark: 'second' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: recomputation within the bytes of the program as it is written [fuse-limited]
# CHECK-NOT: no optimization
entry first(x : f32[n <= 40, 16], ids : u8[n]) {
  v1 = x * sum(x ** 2, axis = -1, keep = true)
  v3 = reshape(linear(reshape(x, [n, 16]), 16) as l2, [n, 16])
  v4 = dropout(v1, 0.3)
  v10 = reshape(linear(reshape(v4, [n, 16]), 16) as l9, [n, 16])
  loss = mean((linear(v10, 3) as out) ** 2) + mean(v3 * v3) * 0.01 + mean(xent(linear(v10, 9) as cls, ids))
  minimize loss with adam(0.01)
  return loss
}
entry second(x : f32[n <= 40, 8], ids : u8[n]) {
  v2 = rms_norm(x)
  v3 = v2 * sum(v2 ** 2, axis = -1, keep = true)
  v5 = reshape(linear(reshape(v3, [n, 8]), 8) as l4, [n, 8])
  loss = mean((linear(v5, 3) as out2) ** 2) + mean(x * x) * 0.01 + mean(xent(linear(v5, 9) as cls2, ids))
  minimize loss with adam(0.01)
  return loss
}
