# RUN: %gc %s --weights=w8a8,errors,without=*.fc2 --remarks=quantize --emit=ir -O0 -o %t.ir 2> %t.log && FileCheck-14 %s < %t.log
# RUN: FileCheck-14 %s --check-prefix=IR < %t.ir
# With `errors` params stay floats. A product goes on in floats and is computed again of integers; the entry returns
# the errors in place of its outputs. A second product with a param has an error of its own; one in a loop has none.
def net(x) { return linear(relu(linear(x, 64) as fc1), 32) as fc2 }
entry f(x : f32[n <= 4, 64]) {
  param v : f32[64, 64] = normal()
  h = x
  scan i in 0..3 { h = tanh(h @ v) }
  return y = net(h @ v) as net, z = net(x) as net
}
entry other(x : f32[4, 64]) { return y = x + 1 }

# CHECK: remark: net.fc2.w stays f32[64,32]: without= names it [quantize-missed]
# CHECK-NEXT: quantize_errors.g:9:31: warning: no error of v is measured here: this is in a loop
# CHECK-NOT: remark

# IR-DAG: param @v : f32[64,64]
# IR-DAG: param @net.fc1.w : f32[64,64]
# IR:     entry f
# IR-DAG: [[H:%[0-9]+]] = matmul %h, %v : f32[n<=4,64]
# IR-DAG: quantize_scale %h {axis = 1, bits = 8, group = 32} : bf16[n<=4,2]
# IR:     quantize_scale [[H]] {axis = 1, bits = 8, group = 32} : bf16[n<=4,2]
# IR:     return {{.*}} {names = "error.v,error.net.fc1.w,error.net.fc1.w.2", aggregates = "rms,rms,rms"}
# IR:     entry other
# IR:     return %y {names = "y"}
