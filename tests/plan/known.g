# What a trial of another pass has found out about this program is done again, not searched for: the plan is that of a
# search which begins where the trials end.
# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=780000 --print-after=image-tiles --dump-plan=json %s > %t.known 2> %t.ir
# RUN: %gc -x ir -march=x86-64-v3 --passes=autodiff,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=780000 --remarks=remat --dump-plan=json %t.ir > %t.new 2> %t.why
# RUN: FileCheck-14 %s < %t.why
# RUN: sed 's/"loc": "[^"]*"//; s/"scope": "[^"]*"//; s/"source": "[^"]*"//' %t.known > %t.1
# RUN: sed 's/"loc": "[^"]*"//; s/"scope": "[^"]*"//; s/"source": "[^"]*"//' %t.new | cmp - %t.1
# CHECK: is recomputed before
entry train(x : f32[16, 3, 16, 16], t : i32[16]) {
  a = max_pool(relu(conv(x, 64, 3) as a), 2)
  loss = mean(xent(linear(flatten(a), 10) as head, t))
  minimize loss with sgd(0.1)
  return loss
}
entry test(x : f32[16, 3, 16, 16], t : i32[16]) {
  a = max_pool(relu(conv(x, 64, 3) as a), 2)
  return accuracy = mean(argmax(linear(flatten(a), 10) as head) == t)
}
