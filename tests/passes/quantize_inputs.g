# RUN: %gc %s --weights=w8a8,calibrate --remarks=quantize --emit=ir -O0 -o %t.ir 2> %t.log && FileCheck-14 %s < %t.log
# RUN: FileCheck-14 %s --check-prefix=FIND < %t.ir
# RUN: %gc %s --weights=w8a8,static --emit=ir -O0 2>&1 | FileCheck-14 %s --check-prefix=APPLY
# RUN: %gc %s --weights=w8a8,static --emit=ir -O2 --target=cpu 2>&1 | FileCheck-14 %s --check-prefix=FUSED
# With `calibrate` params stay floats, and an entry stores the largest scales that its products need; a param that two
# products read has those of both, one in a loop has none. With `static` these are params of their own: nothing looks
# for the largest element of a row, and what makes the left operand writes it as integers.
def net(x) { return linear(relu(linear(x, 64) as fc1), 32) as fc2 }
entry f(x : f32[n <= 4, 40]) {
  param v : f32[64, 64] = normal()
  h = net(x) as net
  g = concat([h, h], axis = 1)
  unread = g @ v
  scan i in 0..3 { g = tanh(g @ v) }
  return y = g, z = net(x * 2) as net
}

# CHECK: quantize_inputs.g:14:31: remark: activations by v are not calibrated: this is in a loop [quantize-missed]
# CHECK-NOT: remark

# FIND-DAG: param @net.fc1.w : f32[40,64]
# FIND-DAG: state @net.fc1.w.input_scale : bf16[40]
# FIND-DAG: state @net.fc2.w.input_scale : bf16[64]
# FIND-NOT: @v.input_scale
# FIND:     init
# FIND-COUNT-2: store {{.*}}input_scale
# FIND:     entry f
# FIND-COUNT-2: store {{.*}}input_scale
# FIND-NOT: store

# APPLY-DAG: param @net.fc1.w.q8 : i8[40,64]
# APPLY-DAG: param @net.fc1.w.input_scale : bf16[40]
# APPLY:     entry f
# APPLY-NOT: quantize_scale %x
# APPLY:     scaled_matmul
# APPLY:     scan
# APPLY:     quantize_scale

# FUSED:     kernel
# FUSED:     scaled_matmul
# FUSED:     convert {{.*}} : i8[n<=4,64]
# FUSED-NEXT: yield
