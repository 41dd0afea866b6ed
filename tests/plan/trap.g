# RUN: %gc -O1 --emit=ir --remarks=inplace %s -o %t.ir 2> %t.txt
# RUN: FileCheck-14 %s < %t.ir
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# The trap: b is read by sigmoid and again by the product, so sigmoid must not write over it.
entry main(x : f32[64, 256]) {
  b = tanh(x)
  c = sigmoid(b)
  return f = b * c
}
# CHECK: %b = tanh %x {{.*}}; ws+0x[[B:[0-9a-f]+]] live
# CHECK: %c = sigmoid %b
# CHECK-NOT: ws+0x[[B]] live
# CHECK: %f = mul %b, %c {{.*}} in place of %b
# WHY: trap.g:6:7: remark: tanh not in place: %x is an input [inplace-missed]
# WHY: trap.g:7:7: remark: sigmoid not in place: %b is read again by mul at {{.*}}trap.g:8:16 [inplace-missed]
# WHY: trap.g:8:16: remark: mul reuses the bytes of %b (65,536) [inplace]
