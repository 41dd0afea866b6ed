# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=2,shard=optimizer},fold,cse,dce,microbatch{parts=2,scatter=1}" --emit=ir | FileCheck-14 %s
# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=2,shard=optimizer},fold,cse,dce,microbatch{parts=2}" --emit=ir | FileCheck-14 %s --check-prefix=WHOLE
# RUN: for s in "" ",scatter=1"; do \
# RUN:   %gc %s -D N=1024 -march=x86-64-v3 --passes="fold,cse,dce,autodiff,distribute{ranks=4,shard=optimizer},fold,cse,dce,microbatch{parts=4$s},accumulate,layout,order,liveness,inplace,share,plan-verify" --emit=plan | \
# RUN:   grep -o '"arena_bytes": [0-9]*'; done | FileCheck-14 %s --check-prefix=BYTES
# RUN: %gc %s -O2 --data-parallel=mpi --ranks=2 --shard=gradients --dump-plan -march=x86-64-v3 >%t.2
# RUN: %gc %s -O2 --data-parallel=mpi --ranks=2 --shard=optimizer --dump-plan -march=x86-64-v3 >%t.1
# RUN: cmp %t.1 %t.2

# The gradient of each micro-batch is scattered, and its slices are added up. Without scatter=1 the sum of both is
# scattered once; without micro-batches --shard=gradients is --shard=optimizer.
# CHECK: entry train
# CHECK: [[A:%[0-9]+]] = reduce_scatter %d.l.3.w : f32[288]
# CHECK: [[B:%[0-9]+]] = reduce_scatter %d.l.3.w.2 : f32[288]
# CHECK-NEXT: add [[A]], [[B]] : f32[288]
# WHOLE: entry train
# WHOLE-COUNT-4: reduce_scatter
# WHOLE-NOT: reduce_scatter

# Activations, gathered params, and the sums of all gradients or the slices of them and one gradient:
# BYTES: "arena_bytes": 185216
# BYTES: "arena_bytes": 70720
let N = 8
entry train(x : f32[N, 24]) {
  h = x
  for i in 0..4 { h = relu(linear(h, 24, bias = false) as l[i]) }
  loss = mean(h ** 2)
  minimize loss with sgd(0.1, momentum = 0.9)
  return loss
}
