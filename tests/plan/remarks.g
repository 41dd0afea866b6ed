# Every result that could have lain over an operand says why it does not, and every sharing is told, of scratch, too.
# RUN: %gc %s -O1 -march=x86-64-v3 --remarks=inplace --emit=plan -o /dev/null 2>&1 | FileCheck-14 %s
# RUN: %gc %S/../../docs/examples/lenet.g -O1 -march=x86-64-v3 --remarks=share --emit=plan -o /dev/null 2>&1 | FileCheck-14 %s --check-prefix=SHARE
# CHECK-DAG: remark: matmul not in place: %x is read elsewhere than the result is written [inplace-missed]
# CHECK-DAG: remark: transpose not in place: %s has another shape [inplace-missed]
# CHECK-DAG: remark: convert not in place: no operand has as many bytes as %h (4,096) [inplace-missed]
# SHARE: remark: the scratch of sum shares bytes of %{{.*}} at 0x{{[0-9a-f]+}}) [share]

entry main(x : f32[64, 64]) {
  a = x @ x
  s = tanh(a)[0:32]
  t = transpose(s)
  h = f16(s)
  return m = reshape(t, [32, 64]) + s, h
}
