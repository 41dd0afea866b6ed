# RUN: %gc -O2 --target=cpu --print-schedules %s | FileCheck-14 %s
# RUN: %gc -O2 --target=cpu --emit=c %s -o - | FileCheck-14 %s --check-prefix=C
# Threads share the chunks of a sum whose length the run decides, too. Tests of bounded dimensions compare its bits.
# CHECK: sum rows rows=1 elements=50176 lanes=yes chunks=4 split=yes apply=no {{.*}} units=4
# CHECK: sum rows rows=1 elements=50176 lanes=yes chunks=4 split=yes apply=yes {{.*}} units=4
entry loss(x : f32[n <= 64, 784]) { return y = sum(x * x) }
entry off(x : f32[n <= 64, 784]) { return y = x - mean(x) }

# Rows of two axes are runs along the bounded one: one division for each, so the loop over columns becomes vectors.
# C: bias, {{.*}}: sum */
# C-NEXT: k{{[0-9]*}}_sum(
# C: const long run = first / extent0, base = run * extent0;
# C: for (long r = first; r < last; r++) {
# C-NEXT: const long k = r - base;
# C-NOT: extent0
# C: in0[run * 8192 + k * 128 + j]
entry bias(x : f32[4, n <= 64, 128]) { return y = sum(x, axis = [0, 1]) }

# A reshape that leaves two bounded axes moves the longest rows that both sides have: 64 elements, not one.
# C: heads, to_heads, {{.*}}: reshape */
# C-NEXT: k{{[0-9]*}}_reshape(
# C: const long all = (extent0 * extent1);
# C: memcpy(out0 + to * 64 + u0, in0 + from * 64 + u0, (u1 - u0) * 4);
entry heads(x : f32[n <= 2, t <= 256, 64]) { return y = to_heads(linear(x, 64) as q, 4) * 2 }
