# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=2}" --emit=ir | FileCheck-14 %s
# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=8}" --emit=ir 2>&1 | FileCheck-14 %s --check-prefix=ONE

# An axis that joins the batch with a length is split by rows, in either order; of a share of one row the length is left.
entry train(x : i32[n <= 8, t <= 6]) {
  h = dropout(linear(embed(x, 9, 4) as e, 5) as d, 0.5)
  loss = mean(tanh(linear(reshape(transpose(h, [1, 0, 2]), [t * n, 5]), 3) as o) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry train(%x : i32[n<=4,t<=6]) training ranks 2
# CHECK: dropout {{.*}}row_elements = 30} : f32{{.}}[[JOINED:.*n<=4.*]],5]
# CHECK: transpose {{.*}} : f32[t<=6,n<=4,5]
# CHECK: matmul {{.*}} : f32{{.}}[[JOINED]],3]
# CHECK: sum {{.*}} : f32[]
# CHECK: all_reduce {{.*}} : f32[]
# ONE: warning: the batch of the entry train has all 8 rows, not fewer: a rank's share of it is one row
# ONE: entry train(%x : i32[1,t<=6]) training ranks 8
# ONE: dropout {{.*}} : f32[t<=6,5]
# ONE: matmul {{.*}} : f32[t<=6,3]
