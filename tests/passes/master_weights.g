# --precision=bf16: a param that products read has a copy in bf16, which is stored when the param is.
# RUN: %gc %s --passes="autodiff{saved=bf16},precision{products=bf16},master-weights,fold,cse,dce" --emit=ir > %t.ir
# RUN: FileCheck-14 %s < %t.ir
# RUN: %gc -x ir %t.ir --passes=dce --emit=ir > %t.again && cmp %t.ir %t.again
# RUN: sed 's/copy @net.a.w/copy @net.a.b/' %t.ir > %t.wrong
# RUN: not-14 %gc -x ir %t.wrong --passes=dce --emit=ir 2>&1 | FileCheck-14 --check-prefix=SHAPE %s
# RUN: sed '/store @net.a.w.bf16/d' %t.ir > %t.wrong
# RUN: not-14 %gc -x ir %t.wrong --passes=dce --emit=ir 2>&1 | FileCheck-14 --check-prefix=STORE %s
# RUN: %gc %s --precision=tf32 --emit=ir | FileCheck-14 --check-prefix=NONE %s
# RUN: %gc %s --precision=bf16 --memory-limit=45K -march=x86-64-v4 --emit=ir | FileCheck-14 --check-prefix=LIMIT %s
# RUN: %gc %S/../../docs/examples/llama.g -D P=1 --target=cuda --precision=bf16 --remarks=fuse --emit=plan -o /dev/null 2>&1 | FileCheck-14 --check-prefix=FUSED %s

def net(x : f32[n, 16]) {
  h = relu(linear(x, 32) as a)
  scan i in 0..3 { h = tanh(linear(h, 32) as cell) }
  return linear(h, 300) as odd   # rows of 600 bytes: a GPU pads them when it converts them
}

entry train(x : f32[8, 16], t : f32[8, 300]) {
  loss = mse(net(x), t)
  minimize loss with sgd(0.1)
  return loss
}

entry test(x : f32[8, 16]) { return y = net(x) }

# CHECK-NOT: param @net.odd.w.bf16
# CHECK: param @net.a.w.bf16 : bf16[16,32] copy @net.a.w
# CHECK: param @net.cell.w.bf16 : bf16[32,32] copy @net.cell.w
# CHECK-NOT: param @net.odd.w.bf16

# CHECK-LABEL: init
# CHECK: store @net.a.w, %[[W:[a-z0-9.]+]]
# CHECK: store @net.a.w.bf16

# CHECK-LABEL: entry train
# CHECK: %[[A:[a-z0-9.]+]] = load @net.a.w.bf16 : bf16[16,32]
# CHECK: matmul {{.*}}, %[[A]] {wide = 1} : f32[8,32]
# CHECK: %[[C:[a-z0-9.]+]] = load @net.cell.w.bf16 : bf16[32,32]
# CHECK: scan
# CHECK-NOT: convert %net.cell.w
# CHECK: store @net.a.w, %[[U:[a-z0-9.]+]]
# CHECK: %[[V:[a-z0-9.]+]] = convert %[[U]] : bf16[16,32]
# CHECK: store @net.a.w.bf16, %[[V]]

# What reads the param in bf16 alone does not load it.
# CHECK-LABEL: entry test
# CHECK-NOT: load @net.a.w :
# CHECK: load @net.a.w.bf16
# CHECK-NOT: store

# SHAPE: error: @net.a.b is no param of the shape of its copy
# STORE: @net.a.w is stored without @net.a.w.bf16
# NONE-NOT: copy @
# LIMIT: param @net.a.w.bf16 : bf16[16,32] copy @net.a.w
# LIMIT-NOT: param @net.a.w.bf16

# Fusion may take as much of the arena as a weight that is not converted there any more.
# FUSED-NOT: 'read' takes
