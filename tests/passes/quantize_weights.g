# RUN: %gc %s --weights=q8 --remarks=quantize --emit=ir -O0 -o %t.ir 2> %t.log && FileCheck-14 %s < %t.log
# RUN: FileCheck-14 %s --check-prefix=IR < %t.ir
# RUN: %gc %s --weights=w4,errors --remarks=quantize --emit=ir -o %t.ir 2>&1 | FileCheck-14 %s --check-prefix=MEASURED
# RUN: %gc %s --weights=w8 --precision=bf16 --emit=ir 2>&1 | FileCheck-14 %s --check-prefix=LOW
# RUN: %gc %s --weights=q8 --emit=ir 2>&1 | FileCheck-14 %s --check-prefix=WIDE
# RUN: %gc %s --weights=q8 --target=cuda --emit=ir 2>&1 | FileCheck-14 %s --check-prefix=GPU
# RUN: %gc %s --weights=w8a8 --precision=bf16 --emit=ir 2>&1 | FileCheck-14 %s --check-prefix=BOTH
# RUN: %gc %s --weights=w8a8 --target=cuda -O2 --print-schedules 2>&1 | grep '^cuda' | FileCheck-14 %s --check-prefix=STORED
# A matrix stays floats where another param has the name of its integers or scales. On the CPU a product of a quantized
# matrix reads f32, at a precision of bf16, too. q8 rounds activations to 16 bits where the target multiplies integers. On a GPU f32 is multiplied by the integers,
# as they are stored, also where activations are integers, which one kernel makes, and floats of them.
def scaled(x) {
  param scale : f32[64] = ones()
  return x * scale
}
entry f(x : f32[4, 64]) {
  param w : f32[64, 64] = normal()
  param v : f32[64, 64] = normal()
  return y = scaled(x @ w) as w + x @ v
}
entry stays(x : f32[2, 4, 64]) {
  param stack : f32[2, 64, 8] = normal()
  param half : bf16[64, 8] = normal()
  param own : f32[64, 8] = normal()
  return y = x @ stack, z = bf16(x[0]) @ half, o = own + 1
}

# CHECK:      w stays f32[64,64]: another param has the name that its integers or its scales would have [quantize-missed]

# CHECK-NEXT: stack stays f32[2,64,8]: it is no matrix [quantize-missed]
# CHECK-NEXT: half stays bf16[64,8]: only f32 is quantized [quantize-missed]
# CHECK-NEXT: own stays f32[64,8]: more than products and gathers read it [quantize-missed]
# CHECK-NEXT: v is i8[64,64] with scales: 4352 bytes of 16384 [quantize]
# CHECK-NEXT: {{^}}remark: no relative errors: the weights come with the run; --weights=FILE,q8 tells those of a file, and --weights=q8,errors those of products on an entry's data [quantize]

# MEASURED-NOT: no relative errors

# IR-DAG: param @w : f32[64,64]
# IR-DAG: param @w.scale : f32[64]
# IR-DAG: param @v.q8 : i8[64,64]
# IR-DAG: param @v.scale : bf16[2,64]

# LOW-DAG: matmul %x{{.*}} {wide = 1} : f32[4,64]
# LOW-DAG: quantized_matmul %x, {{.*}} {bits = 8, group = 32} : f32[4,64]

# WIDE-DAG: scaled_matmul {{.*}} {bits = 8, group = 32, left_bits = 16} : f32[4,64]
# GPU-NOT:  {{32640|left_bits}}
# GPU:      quantized_matmul %x, {{.*}} {bits = 8, group = 32} : f32[4,64]
# GPU-NOT:  {{32640|left_bits}}

# BOTH-DAG: [[S:%[0-9]+]] = quantize_scale %x {axis = 1, bits = 8, group = 32} : bf16[4,2]
# BOTH-DAG: [[X:%[0-9]+]] = quantize %x, [[S]] {axis = 1, bits = 8, group = 32} : i8[4,64]
# BOTH-DAG: scaled_matmul [[X]], {{.*}}, [[S]], {{.*}} {bits = 8, group = 32, left_bits = 8} : f32[4,64]

# STORED: quantized_matmul{{.*}} product {{.*}} bits=8 group=32 {{.*}}entries=f
