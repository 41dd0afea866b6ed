# RUN: %gc %s --passes="autodiff,distribute{ranks=4}" --emit=ir | FileCheck-14 %s

# What is the same in all rows, also behind functions of its elements, is made for the two of eight rows that a rank has.
entry train(x : f32[8, 4]) {
  w = linear(zeros([4]), 4) as net
  loss = mean(x * cos(f32(bf16(broadcast(w, [8, 4])))))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry train(%x : f32[2,4]) training ranks 4
# CHECK-NOT: [8,
# CHECK: broadcast {{.*}} : f32[2,4]
# CHECK-NOT: first_row
# CHECK: cos {{.*}} : f32[2,4]
# CHECK: return
