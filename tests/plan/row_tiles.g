# RUN: %gc -march=x86-64-v3 --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=50% --remarks=remat --dump-plan %s > %t.txt 2> %t.err
# RUN: FileCheck-14 %s < %t.txt
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.err
# RUN: %gc --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=50% --print-after=row-tiles --emit=plan -o /dev/null %s 2> %t.ir
# RUN: FileCheck-14 %s --check-prefix=IR < %t.ir
# RUN: %gc -O2 -march=x86-64-v3 --dump-plan %s | FileCheck-14 %s --check-prefix=WHOLE
# RUN: not-14 %gc --passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,concat-split,image-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness,inplace,streams,share,plan-verify --memory-limit=50% --remarks=remat --emit=plan -o /dev/null -D R=4000 %s 2> %t.err
# RUN: FileCheck-14 %s --check-prefix=ROWS < %t.err
# Logits of 1,600 words, of which a limit holds 1,024 rows at a time, their gradient in the same bytes. What
# comes of the rows is added up in chunks of 1,024 anyway, and sums of columns in runs of 256.
let R = 4096
hyper lr = 0.1
def net(x) { return linear(tanh(linear(x, 64) as up), 1600) as head }
entry train(x : f32[R, 16], t : i32[R]) {
  loss = mean(xent(net(x), t))
  minimize loss with sgd(lr)
  return loss
}
# CHECK: entry train
# CHECK: arena (optimal) {{[0-9],[0-9][0-9][0-9],[0-9][0-9][0-9]}}
# WHY: row_tiles.g:13:21: remark: %y.2 is computed in 4 chunks of 1024 rows: 26,214,400 bytes are never whole [remat]
# IR: entry train
# IR: scan {{.*}} {trips = 4, carries = 2} : f32[1600], f32[64,1600], f32[4,1024], f32[4,1024,64] backward
# IR: matmul %{{.*}}, %net.head.w : f32[1024,1600]
# IR: xent_grad
# IR: sum %{{.*}} {axes = [1]} : f32[4,1600] backward
# IR: matmul %{{.*}}, %d.{{.*}} {ta = 1} : f32[64,1600] backward
# WHOLE: entry train
# WHOLE-NOT: {{ scan }}
# ROWS: row_tiles.g:13:21: remark: %y.2 (25,600,000) is whole: it is done 1024 rows at a time, and has 4000 [remat-missed]
