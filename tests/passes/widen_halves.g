# Convolutions that are written in half precisions are those of f32 copies, or of pairs, with one rounding behind them; on
# a GPU they stay.
# RUN: %gc %s -march=x86-64-v3 --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefixes=BOTH,COPIES %s
# RUN: %gc %s -march=cooperlake --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefixes=BOTH,PAIRS %s
# RUN: %gc %s --target=cuda --print-after=widen --emit=plan -o %t.json 2>&1 | FileCheck-14 --check-prefix=CUDA %s
entry halves(x : f16[2, 16, 32, 32], w : f16[16, 16, 3, 3]) {
  y = conv2d(x, w, pad = 1)
  return y, gx = grad(sum(y * y), x), gw = grad(sum(y * y), w)
}
entry words(x : bf16[2, 16, 32, 32], w : bf16[16, 16, 3, 3]) {
  return y = conv2d(x, w, pad = 1)
}
# BOTH: entry halves
# BOTH: %[[X:[0-9]+]] = convert %x : f32[2,16,32,32]
# BOTH: %[[W:[0-9]+]] = convert %w : f32[16,16,3,3]
# BOTH: %[[S:[0-9]+]] = conv %[[X]], %[[W]] {{.*}}tf32_operands = 1} : f32[2,16,32,32]
# BOTH: %y = convert %[[S]] : f16[2,16,32,32]
# BOTH: %[[D:[0-9]+]] = convert %d.y : f32[2,16,32,32]
# BOTH: %[[I:[0-9]+]] = conv_input_grad %[[D]], %[[W]] {{.*}}tf32_operands = 1} : f32[2,16,32,32]
# BOTH: %gx = convert %[[I]] : f16[2,16,32,32]
# BOTH: %[[F:[0-9]+]] = conv_filter_grad %[[D]], {{.*}}tf32_operands = 1} : f32[16,16,3,3]
# BOTH: %gw = convert %[[F]] : f16[16,16,3,3]
# BOTH: entry words
# COPIES: %[[V:[0-9]+]] = convert %w : f32[16,16,3,3]
# COPIES: conv {{.*}}, %[[V]] {{.*}}tf32_operands = 1}
# PAIRS-NEXT: %[[P:[0-9]+]] = conv %x, %w {{.*}}wide_result = 1} : f32[2,16,32,32]
# PAIRS-NEXT: %y = convert %[[P]] : bf16[2,16,32,32]
# CUDA: entry halves
# CUDA-NOT: convert
# CUDA: %y = conv %x, %w
