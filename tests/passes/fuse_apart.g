# RUN: %gc -O2 --remarks=fuse --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s
# An activation behind a reshape of what is transposed stays a kernel of its own, and a remark says so.
# CHECK: fuse_apart.g:[[#@LINE+3]]:[[#]]: remark: relu does not join transpose of {{.*}}fuse_apart.g:[[#@LINE+3]]:[[#]]: a reshape stands between [fuse-missed]
entry apart(x : f32[8, 128, 30], w : f32[30, 64], b : f32[64]) {
  y = reshape(x @ w + b, [8, 128, 4, 16])
  return y = relu(reshape(transpose(y, [0, 2, 1, 3]), [32, 128, 16]))
}
