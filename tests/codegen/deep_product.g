# RUN: %gc %s -O2 -march=x86-64-v4 --emit=c -o - | FileCheck-14 %s
# RUN: %gc %s -O2 -march=x86-64-v3 -o %t2 && %t2 f --steps 2 --threads 1 --save %t2.w --log %t2.csv --quiet
# RUN: %gc %s -O0 -march=x86-64-v3 -o %t0 && %t0 f --steps 2 --threads 2 --save %t0.w --log %t0.csv --quiet
# RUN: cmp %t0.w %t2.w && cut -d, -f1-3 %t0.csv >%t0.txt && cut -d, -f1-3 %t2.csv | diff - %t0.txt
# Tiles ask for rows of the next panel of a large right operand, however that lies, and a chain of a deep
# product whose left operand does not stay near goes through all panels before the next chain. The bits
# are those of the plain program.
entry f() {
  param w : f32[1100, 320] = glorot()
  param v : f32[320, 2112] = glorot()
  y = tanh((uniform(-1, 1, shape = [256, 1100]) @ w) @ v)
  loss = mean(y * y)
  minimize loss with adamw(1e-2, clip = 1)
  return loss
}
# CHECK: _matmul{{.*}}(void
# CHECK-NEXT: f32[256,1100]
# CHECK-NEXT: f32[1100,320]
# CHECK: for (long k0 = 0; k0 < 1100; k0 += 1024) {
# CHECK-NEXT: depth
# CHECK-NEXT: for (long g0
# CHECK: k1 = q1 > q ? k0 : k0 + 1024;
# CHECK-NEXT: q1 < panel1 && k1 + ahead < 1100 && ahead < 1024 ? B + (q1 * 1100 + k1 + ahead) * 64 : NULL;
# CHECK: _matmul{{.*}}(void
# CHECK-NEXT: f32[256,320]
# CHECK-NEXT: f32[320,2112]
# CHECK: const long q1 = q + 3;
# CHECK-NEXT: B + (q1 * 320 + ahead) * 64 : NULL;
# CHECK: in1 = p[1]; /* f32[320,2112]
# CHECK: for (long k0 = 0; k0 < 2112; k0 += 1024) {
# CHECK-NEXT: depth
# CHECK-NEXT: for (long g0
# CHECK: B + (k1 + ahead / 64 * 64) * 320 + q1 * 4096 + ahead % 64 * 64 : NULL;
