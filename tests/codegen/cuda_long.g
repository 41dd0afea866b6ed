# NVRTC's time grows faster than a kernel: of a chain of 100 operations 64 are one kernel, and the rest another.
# RUN: %gc %s -O2 --emit=cuda -o - | FileCheck-14 %s
# CHECK: __global__ {{.*}} k0(
# CHECK: const float v66 = v65 - 32.0f;
# CHECK-NOT: const float v
# CHECK: __global__ {{.*}} k1(
# CHECK: - 5e+01f;
# CHECK-NOT: __global__
entry long(x : f32[1000]) {
  y = x
  y = y * x - 1
  y = y * x - 2
  y = y * x - 3
  y = y * x - 4
  y = y * x - 5
  y = y * x - 6
  y = y * x - 7
  y = y * x - 8
  y = y * x - 9
  y = y * x - 10
  y = y * x - 11
  y = y * x - 12
  y = y * x - 13
  y = y * x - 14
  y = y * x - 15
  y = y * x - 16
  y = y * x - 17
  y = y * x - 18
  y = y * x - 19
  y = y * x - 20
  y = y * x - 21
  y = y * x - 22
  y = y * x - 23
  y = y * x - 24
  y = y * x - 25
  y = y * x - 26
  y = y * x - 27
  y = y * x - 28
  y = y * x - 29
  y = y * x - 30
  y = y * x - 31
  y = y * x - 32
  y = y * x - 33
  y = y * x - 34
  y = y * x - 35
  y = y * x - 36
  y = y * x - 37
  y = y * x - 38
  y = y * x - 39
  y = y * x - 40
  y = y * x - 41
  y = y * x - 42
  y = y * x - 43
  y = y * x - 44
  y = y * x - 45
  y = y * x - 46
  y = y * x - 47
  y = y * x - 48
  y = y * x - 49
  y = y * x - 50
  return y
}
