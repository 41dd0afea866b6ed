# RUN: %gc -march=x86-64-v3 --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=900K --remarks=remat --dump-plan %s > %t.txt 2> %t.err
# RUN: FileCheck-14 %s < %t.txt
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.err
# RUN: %gc -O2 -march=x86-64-v3 --dump-plan %s | FileCheck-14 %s --check-prefix=WHOLE
# RUN: not-14 %gc -O2 -march=x86-64-v3 --memory-limit=900K --emit=plan -o /dev/null %s --passes=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,cheap-remat,fuse,layout,order,remat,liveness,inplace,share 2>&1 | FileCheck-14 %s --check-prefix=LEAST
# The first layer is 64 channels wide, of 3, and soon a quarter as large. Some images at a time are convolved and
# pooled; in the backward pass some channels at a time of the gradient by that layer come to theirs of the filters.
entry train(x : f32[16, 3, 16, 16], t : i32[16]) {
  a = max_pool(relu(conv(x, 64, 3) as a), 2)
  loss = mean(xent(linear(flatten(a), 10) as head, t))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: arena (optimal) 852,736
# CHECK-NOT: f32[16,64,16,16]
# CHECK: conv+add+relu {{.*}} f32[2,64,16,16] 131,072
# CHECK: max_pool_index {{.*}} u8[2,64,8,8]
# CHECK: dynamic_update {{.*}} f32[16,64,8,8] {{.*}} in place of
# CHECK: max_pool_grad {{.*}} f32[16,16,16,16] 262,144
# WHY: %8 of relu (1,048,576) is never whole: it is made some images at a time
# WHY: of max_pool_grad (1,048,576) is never whole: it is made some channels at a time
# WHOLE: arena (optimal) 1,425,536
# WHOLE: conv+add+relu {{.*}} f32[16,64,16,16]
# LEAST: does not fit into 921,600 bytes: the minimum found is 1,376,384 bytes
