# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce,fuse" --emit=ir | FileCheck-14 %s

# The number of all ranks' rows is there when the entry begins. In the kernel of the mean loss the gradient of the loss would
# wait for that mean, and the loss and its gradient would pass over the rows once each.
entry train(x : f32[n <= 8, 4], label : u8[n]) {
  loss = mean(xent(linear(x, 3) as net, label))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry train
# CHECK-NEXT: extent
# CHECK-NEXT: all_reduce {{.*}} : i32[]
# CHECK: kernel {{.*}}name = "xent+xent_grad{{.*}}
