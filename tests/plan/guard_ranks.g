# RUN: %gc -march=x86-64-v3 -O0 --data-parallel=mpi --ranks=2 --shard=optimizer --dump-plan=json %s > %t.0
# RUN: %gc -march=x86-64-v3 -O2 --data-parallel=mpi --ranks=2 --shard=optimizer --remarks=fuse --dump-plan=json %s > %t.2 2> %t.why
# RUN: FileCheck-14 %s < %t.why
# RUN: for l in 0 2; do tr ',' '\n' < %t.$l | sed -n 's/.*"arena_bytes": *//p' | head -1 > %t.arena.$l; done
# RUN: paste -d ' ' %t.arena.2 %t.arena.0 | awk '{ print } $1 > $2 { exit 1 }'
# Optimized, the step would gather the second matrix while the first one is still there. It needs that room no more than the
# program as it is written does, and keeps all other passes.
# CHECK: remark: 'train' takes {{[0-9,]+}} bytes instead of {{[0-9,]+}}: no bytes for collectives that overlap [fuse-limited]
# CHECK: one matmul kernel of 3 ops: matmul+add+relu
entry train(x : f32[64, 729], t : f32[64, 31]) {
  h = relu(linear(x, 1023) as a)
  h = relu(linear(h, 1023) as b)
  loss = mean((linear(h, 31) as c - t) ** 2)
  minimize loss with adamw(1e-3)
  return loss
}
