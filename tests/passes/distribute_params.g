# RUN: %gc %s --target=cpu --data-parallel=mpi --ranks=2 --shard=optimizer --precision=bf16 --print-after=master-weights --verify-each --emit=plan -o /dev/null 2>&1 | FileCheck-14 %s
# RUN: %gc %s --target=cpu --data-parallel=mpi --ranks=2 --shard=optimizer --dump-plan --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=PLAN
# RUN: %gc %s --passes="autodiff,distribute{ranks=2,shard=optimizer}" --emit=ir >%t.ir && %gc -x ir %t.ir --passes=dce --emit=ir >%t.1 && %gc -x ir %t.1 --passes=dce --emit=ir | cmp - %t.1
# RUN: %gc -x ir %t.ir --target=cpu --passes= --emit=ir | diff - %t.ir

# A param is in slices where its optimizer's state is. A step gathers it in front of its first reader and leaves it in
# the copy that other entries read, whose bytes it has; nothing is gathered behind the update. If products alone read it,
# halves are gathered; rows are read out of the table of embeddings as floats. A param whose new value the step reads is
# gathered at its end, and one that ranks cannot share is whole. The moving average of a param in slices is in slices.
# CHECK: param @kept : f32[64]
# CHECK: param @net.odd : f32[3]
# CHECK: param @net.embed.w : f32[256] of f32[16,32]
# CHECK: param @net.wide.w : f32[1024] of f32[32,64]
# CHECK: state @ema.net.wide.w : f32[1024] of f32[32,64]
# CHECK: param @net.embed.w.gathered : f32[16,32] copy @net.embed.w
# CHECK: param @net.wide.w.gathered : bf16[32,64] copy @net.wide.w
# CHECK: gather {
# CHECK-NEXT: [[X:%[0-9]+]] = load @net.embed.w
# CHECK: entry train
# CHECK: [[W:%net.wide.w[.0-9]*]] = load @net.wide.w : f32[1024]
# CHECK-NEXT: [[H:%[0-9]+]] = convert [[W]] : bf16[1024]
# CHECK-NEXT: [[A:%net.wide.w[.0-9]*]] = all_gather [[H]] : bf16[2048]
# CHECK-NEXT: [[B:%[0-9]+]] = reshape [[A]] : bf16[32,64]
# CHECK-NEXT: store @net.wide.w.gathered, [[B]]
# CHECK: backward
# CHECK-NOT: all_gather
# CHECK: %kept{{.*}} = all_gather
# CHECK-NOT: all_gather
# CHECK: entry test
# CHECK-NOT: all_gather
# CHECK: load @net.wide.w.gathered : bf16[32,64]
# CHECK-NOT: all_gather
# PLAN: %net.wide.w.1 {{ *}}all_gather {{.*}} in @net.wide.w.gathered
# PLAN: gathering of parameters: arena
let N = 8
hyper lr = 0.01
state ema = like params("net.wide.w")
def net(ids : u8[n]) {
  param odd : f32[3] = ones()
  return linear(linear(embed(ids, 16, 32) as embed, 64) as wide, 64, bias = false) as out * sum(odd)
}
entry train(ids : u8[N], y : f32[N, 64]) {
  param kept : f32[64] = ones()
  loss = mse(net(ids) * kept, y)
  minimize loss with adamw(lr)
  ema := 0.9 * ema + 0.1 * params("net.wide.w")
  return loss, sum = sum(kept)
}
entry test(ids : u8[N], y : f32[N, 64]) { return mse(net(ids), y) }
