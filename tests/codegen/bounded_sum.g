# RUN: %gc -O2 --target=cpu --print-schedules %s | FileCheck-14 %s
# Threads share the chunks of a sum whose length the run decides, too. Tests of bounded dimensions compare its bits.
# CHECK: sum rows rows=1 elements=50176 lanes=yes chunks=4 split=yes apply=no {{.*}} units=4
# CHECK: sum rows rows=1 elements=50176 lanes=yes chunks=4 split=yes apply=yes {{.*}} units=4
entry loss(x : f32[n <= 64, 784]) { return y = sum(x * x) }
entry off(x : f32[n <= 64, 784]) { return y = x - mean(x) }
