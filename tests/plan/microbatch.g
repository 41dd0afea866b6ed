# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=500K --remarks=remat --dump-plan %s > %t.txt 2> %t.err
# RUN: FileCheck-14 %s < %t.txt
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.err
# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=1000K --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=TWO
# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=99% --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=FEW
# RUN: not-14 %gc -O2 -march=x86-64-v3 -D S=20 --memory-limit=300K --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=ODD
# RUN: not-14 %gc -O2 -march=x86-64-v3 -D M=0 --memory-limit=500K --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=NORM
# Two layers of which the backward pass reads all images. Sums over the batch go on from part to part, in place; the loss
# waits for the last part. With a mean over the batch in the midst (-D M=0) all behind it would have to wait.
let M = 1
let S = 32
def net(x) {
  y = conv(x, 24, 3) as a
  if M == 0 { y = bn(y) as norm }
  return conv(relu(y), 24, 3) as b
}
entry train(x : f32[8, 3, S, S], t : i32[8]) {
  loss = mean(xent(linear(flatten(max_pool(relu(net(x)), 8)), 10) as head, t))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: arena (optimal) {{4[0-9][0-9]|50[0-9]}},
# CHECK-NOT: f32[8,24,32,32]
# CHECK: %partial.d.net.b.w conv_filter_grad
# CHECK: %partial.d.net.b.w.1 conv_filter_grad {{.*}} in place of %partial.d.net.b.w
# CHECK: %partial.d.net.b.w.2 conv_filter_grad {{.*}} in place of %partial.d.net.b.w.1
# CHECK: %d.net.b.w conv_filter_grad {{.*}} in place of %partial.d.net.b.w.2
# WHY: microbatch.g:[[@LINE-11]]:7: remark: the batch of 8 is done in 4 parts of 2: 7,106,176 bytes are never whole [remat]
# TWO: the batch of 8 is done in 2 parts of 4
# FEW-NOT: the batch of 8
# ODD: the batch of 8 is whole: in 2 parts {{[0-9,]+}} of the {{[0-9,]+}} bytes that are made would be whole
# ODD: (307,200) is whole all the same: sum in line {{[0-9]+}} reads all of it: a part has 1,600 rows, and it adds up 256 at a time
# NORM: %y.1 of add ({{[0-9,]+}}) is whole all the same: sub in line {{[0-9]+}} reads all of it
# NORM: does not fit into 512,000 bytes: the minimum found is {{[12],}}
