# RUN: %gc %s -march=x86-64-v4 --emit=c -o - | FileCheck-14 %s
# Where many threads cut a product's rows into more tiles, a thread has other rows of h than in the map that writes it,
# though both have 32 units: only where the threads divide them there is no barrier, which the step's seventh field says.
entry f(x : f32[256, 8]) {
  h = sin(tanh(x)) + exp(cos(x)) * sigmoid(x)
  return h, y = linear(h, 32) as l
}
# CHECK: const long tiles = tiles_for(nt, 1, 32,
# CHECK: {k1_matmul{{.*}} e0_a1, 4, 32,
