# RUN: %gc -march=x86-64-v3 --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=480K --remarks=remat --dump-plan %s > %t.txt 2> %t.err
# RUN: FileCheck-14 %s < %t.txt
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.err
# RUN: %gc -O2 -march=x86-64-v3 --dump-plan %s | FileCheck-14 %s --check-prefix=WHOLE
# RUN: not-14 %gc -march=x86-64-v3 --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=400K --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=LEAST
# A net that goes down and up again: where it comes back, what is concatenated has two parts of the size of the
# first layer. Written part after part it needs a part and itself at a time, not both parts; its gradient is
# never there. The concat itself needs 524,288 bytes.
entry train(x : f32[4, 3, 32, 32], t : f32[4, 1, 32, 32]) {
  past = relu(conv(x, 8, 3) as a)
  low = relu(conv(max_pool(past, 2), 16, 3) as b)
  up = conv_transpose(low, 8, 2, 2) as grow
  loss = mse(conv(relu(conv(concat([past, up], axis = 1), 8, 3) as c), 1, 1) as d, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: arena (optimal) 4{{[0-9][0-9],[0-9][0-9][0-9]}}
# CHECK: pad {{.*}} f32[4,16,32,32] 262,144 ws+0x[[AT:[0-9a-f]+]] {{.*}} {{new|reuses}}
# CHECK: dynamic_update {{.*}} f32[4,16,32,32] 262,144 ws+0x[[AT]] {{.*}} in place of
# CHECK-NOT: conv_input_grad {{.*}} f32[4,16,32,32]
# WHY: concat_split.g:13:29: remark: %{{[0-9]+}} of concat is written part after part [remat]
# WHY: concat_split.g:13:24: remark: %d.c.w of conv_filter_grad is made for the parts of what is concatenated [remat]
# WHY: concat_split.g:13:29: remark: %{{.+}} of slice is made without the gradient that it is part of [remat]
# WHY: concat_split.g:13:29: remark: %d.up of slice is made without the gradient that it is part of [remat]
# WHOLE: concat {{.*}} f32[4,16,32,32]
# WHOLE: conv_input_grad {{.*}} f32[4,16,32,32]
# LEAST: does not fit into 409,600 bytes: the minimum found is 4{{[56][0-9],[0-9]+}} bytes
# LEAST: dynamic_update holds it there
