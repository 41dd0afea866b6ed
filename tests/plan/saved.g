# RUN: %gc -O2 -march=x86-64-v3 --remarks=saved --emit=plan -o /dev/null %s 2> %t.txt
# RUN: FileCheck-14 %s < %t.txt
# RUN: %gc -O2 --emit=ir %s -o - | FileCheck-14 %s --check-prefix=IR
# RUN: %gc -O2 --passes=fold,cse,dce,autodiff,fold,cse,dce,cheap-remat,fuse --emit=ir %s -o %t.ir
# RUN: %gc -x ir --passes= --emit=ir %t.ir -o - | cmp - %t.ir
# What the backward pass keeps: the image, of the pool its index and its result, which relu's gradient and, in
# another layout, the product read, and the tanh. The convolution's own result is not among them.
entry train(x : f32[8, 3, 16, 16], t : f32[8, 10]) {
  y = relu(conv(x, 16, 3) as c)
  z = flatten(max_pool(y, 2))
  h = tanh(linear(z, 64) as a)
  loss = mse(linear(h, 10) as b, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: saved.g:9:12: remark: %{{.*}} of copy (24,576) is kept for conv_filter_grad+mul+sub at {{.*}}: conv_filter_grad+mul+sub reads it from memory [saved]
# CHECK: saved.g:10:15: remark: %{{.*}} of max_pool (32,768) is kept for relu_grad at {{.*}}saved.g:9:7: only a memory limit recomputes max_pool, which takes 32,768 operations [saved]
# CHECK-NEXT: of max_pool_index (8,192) is kept for max_pool_grad
# CHECK: saved.g:11:12: remark: %h of matmul+add+tanh (2,048) is kept for matmul+tanh_grad at {{.*}}saved.g:12:14 and 1 more: only a memory limit recomputes
# CHECK-NEXT: saved.g:8:7: remark: entry 'train' keeps 5 values for the backward pass: 100,352 bytes [saved]
# IR: conv %{{.*}} order [0,2,3,1] "c"
# IR: max_pool_index {{.*}} backward {{.*}}saved.g:10:15
# IR: kernel {{.*}} {name = "matmul+tanh_grad"} : f32[8,64] backward "b"
