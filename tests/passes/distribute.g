# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce" --emit=ir | FileCheck-14 %s
# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce" --remarks=comm --emit=ir 2>&1 >/dev/null | FileCheck-14 --check-prefix=REMARK %s

# A rank has two of eight rows. What is summed over rows is reduced once, where it is made; products of rows and
# weights are the rank's own; the rows of a mask of dropout are numbered in the batch; a count is the ranks' together.
hyper lr = 0.1
entry train(x : f32[n <= 8, 4], label : u8[n]) {
  y = linear(dropout(x, 0.5), 3) as net
  loss = mean(xent(y, label))
  minimize loss with adamw(lr)
  return loss
}
# CHECK: entry train(%x : f32[n<=2,4], %label : u8[n<=2]) training ranks 4
# CHECK-NEXT: extent {name = "n", bound = 2}
# CHECK-NEXT: all_reduce {{.*}} : i32[]
# CHECK: dropout %x {{.*}}row_elements = 4
# CHECK: matmul {{.*}} : f32[n<=2,3]
# CHECK: [[B:%d.net.b]] = sum
# CHECK-NEXT: all_reduce [[B]] : f32[3]
# CHECK: [[W:%d.net.w]] = matmul {{.*}}ta = 1
# CHECK-NEXT: all_reduce [[W]] : f32[4,3]
# CHECK-NOT: all_reduce {{.*}}f32[{{[0-9]}}
# CHECK: return

# Rows that are returned are every rank's: the entry stays whole.
entry predict(x : f32[n <= 8, 4]) { return y = linear(x, 3) as net }
# CHECK: entry predict(%x : f32[n<=8,4]) {{.*}}{

# Statistics of batch norm are of all rows, by one message: the mean and the squares of each rank, and their number of
# rows. A loop keeps the sums of its gradients to itself.
entry loop(x : f32[8, 5, 4]) {
  h = zeros([8, 6])
  hs = scan i in 0..5 {
    h = tanh(linear(x[:, i], 6) as below + linear(h, 6, bias = false) as hidden)
    yield h
  }
  z = reshape(transpose(hs, [1, 0, 2]), [8, 30]) |> bn as n
  loss = mean(z ** 2)
  minimize loss with sgd(lr)
  return loss
}
# CHECK: entry loop(%x : f32[2,5,4]) training ranks 4
# CHECK-NOT: all_reduce {{.*}}f32[8,
# CHECK-NOT: {{^    .*}}all_reduce
# CHECK: {{^  [^ ]}}{{.*}}all_gather {{.*}} : f32[244]
# CHECK-COUNT-2: {{^  [^ ]}}{{.*}}all_reduce {{.*}} : f32[30]
# CHECK-NOT: all_reduce {{.*}} : f32[30]

# REMARK: remark: all_reduce of f32[3]: 12 bytes on each rank [comm]
