# RUN: %gc %s --target=cpu -march=x86-64-v3 --emit=ir -o %t.cpu && (%gc -x ir %t.cpu --target=cuda --emit=cuda || echo exit $?) 2>&1 | FileCheck-14 --check-prefix=CUDA %s
# RUN: %gc %s --target=cuda --precision=bf16 --emit=ir -o %t.cuda && (%gc -x ir %t.cuda --target=cpu --emit=c || echo exit $?) 2>&1 | FileCheck-14 --check-prefix=CPU %s
# RUN: sed '/^entry product/,$d' %s > %t.g && %gc %t.g --target=cpu --emit=ir -o %t.image && not-14 %gc -x ir %t.image --target=cuda --emit=cuda 2>&1 | FileCheck-14 --check-prefix=IMAGE %s
# RUN: %gc -x ir %t.cpu --target=cpu --emit=ir -o %t.again && grep panels %t.again
# RUN: sed '/^entry [ip]/,$d' %s >%t.q.g && echo 'entry q(x : f32[4, 256]) { return y = linear(x, 128) as a }' >>%t.q.g && %gc %t.q.g --weights=q8 -march=x86-64-v3 --emit=ir -o %t.q && grep 'i8.*panels' %t.q && %gc -x ir %t.q -march=x86-64-v3 --emit=c -o %t.q.c
# Layouts that one target's kernels have and another's do not read are refused: panels and images of a CPU, padded rows of a GPU.
entry image(x : f32[4, 8, 16, 16]) { return y = conv(relu(conv(x, 32, 3) as a), 8, 3) as b }
entry product(x : f32[64, 32], y : u8[64]) {
  loss = mean(xent(linear(x, 1001, bias = false), y))
  minimize loss with sgd(0.1)
  return loss
}
# CUDA:      .cpu has layouts of another target, as of {{[a-z.]+}}, which kernels of cuda do not read; give --target as when it was printed, or print it in front of the pass layout
# CUDA-NEXT: exit 2
# CPU:       .cuda has layouts of another target, as of {{[a-z.0-9]+}}, which kernels of cpu do not read
# CPU-NEXT:  exit 2
# IMAGE:     .image has layouts of another target, as of a.w, which kernels of cuda do not read
