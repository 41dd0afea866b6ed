# RUN: %gc %s -O2 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O2 -march=x86-64-v3 -o %t2 && %t2 f --steps 3 --threads 1 --save %t2.w --log %t2.csv --quiet
# RUN: %gc %s -O0 -march=x86-64 -o %t0 && %t0 f --steps 3 --threads 2 --save %t0.w --log %t0.csv --quiet
# RUN: cmp %t0.w %t2.w && cut -d, -f1-6 %t0.csv >%t0.txt && cut -d, -f1-6 %t2.csv | diff - %t0.txt
# A weight whose gradient's norm is taken, or its own, still lies in panels: the sum of everything is
# taken in order of rows, whatever the width of the panels, and so comes to the same bits.
entry f() {
  param w : f32[48, 80] = glorot()
  param v : f32[80, 512] = glorot()
  param u : f32[512, 20] = glorot()
  param t : f32[400, 80] = glorot() # a chunk of its elements ends within a row
  y = tanh(tanh(uniform(-1, 1, shape = [9, 48]) @ w) @ v) @ u
  z = tanh(uniform(-1, 1, shape = [9, 400]) @ t)
  loss = sum(y * y) + sum(z * z)
  minimize loss with adamw(1e-2, clip = 1)
  return loss, norm = sum(w * w), m = sum(v), a = sum(abs(v))
}
# CHECK: param @w : f32[48,80] panels 16
# CHECK: param @v : f32[80,512] panels 16
# CHECK: param @u : f32[512,20] {{[^p]}}
# CHECK: param @t : f32[400,80] panels 16
