# RUN: %gc -O2 --emit=cuda --arch=sm_90 %s | FileCheck-14 %s
# A row written over a tensor in its place moves that row alone, not the whole tensor over itself.
entry step(x : f32[64, 8], y : f32[1, 8], at : i32) {
  kept = tanh(x)
  return z = dynamic_update(kept, y, at)
}

# CHECK:      dynamic_update
# CHECK:      if (t >= 8) return;
# CHECK:      out0[t / 8 * 512 + at * 8 + t % 8] = in{{[0-9]}}[t];
