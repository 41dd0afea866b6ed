# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce,fuse,layout,buckets,order,liveness,inplace,streams,share,plan-verify" --remarks=comm --dump-plan 2>&1 | FileCheck-14 %s
# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce,fuse,layout,order,liveness,inplace,streams{overlap=0},share,plan-verify" --remarks=comm --dump-plan 2>&1 | FileCheck-14 --check-prefix=ALONE %s

# RUN: %gc %s --link=1000,10 --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce,layout,buckets" --emit=ir | FileCheck-14 --check-prefix=SLOW %s
# RUN: not-14 %gc %s --data-parallel=mpi --ranks=2 --link=20 2>&1 | FileCheck-14 --check-prefix=LINK %s
# RUN: not-14 %gc %s --link=20,1 2>&1 | FileCheck-14 --check-prefix=ALONE-LINK %s

# Small sums over the ranks are one message, whose parts lie side by side, each at a multiple of 64 bytes. A large one
# is a message of its own, which begins before the gradients behind it are there, and ends behind them.
hyper lr = 0.1
entry train(x : f32[n <= 8, 50], t : f32[n, 6]) {
  y = linear(linear(linear(x, 500) as a |> relu, 400) as b |> relu, 6) as c
  loss = mean((y - t) ** 2)
  minimize loss with sgd(lr)
  return loss
}
# CHECK: remark: all_reduce of %loss takes {{.*}} us: {{.*}} waits {{.*}} us for it
# CHECK: remark: collectives of {{.*}} us overlap with computation of {{.*}} us: {{.*}} us are waited for
# CHECK: entry train: training
# CHECK: {{%[^ ]*}} all_reduce {{.*}} f32[500,400] {{.*}} in place of
# CHECK: matmul+mul {{.*}} f32[50,500]
# CHECK: {{%[^ ]*}} all_reduce {{.*}} f32[] 4 ws+0x[[#%x,A:]] {{.*}} in place of
# CHECK: {{%[^ ]*}} all_reduce {{.*}} f32[500] 2,000 ws+0x[[#A+64]] {{.*}} in place of
# CHECK: {{%[^ ]*}} all_reduce {{.*}} f32[50,500] {{[^ ]*}} ws+0x[[#A+2112]] {{.*}} in place of
# ALONE-NOT: us are waited for
# ALONE: entry train: training
# ALONE-NOT: stream
# The latency of this link is worth more than the large one.
# SLOW-COUNT-1: = all_reduce {{.*}} : f32[], {{.*}}f32[500,400]
# SLOW-NOT: all_reduce {{.*}} : f32
# LINK: --link takes microseconds and GB a second, as 20,1.25, not '20'
# ALONE-LINK: --link says what a message between the ranks of --data-parallel takes, which is not given
