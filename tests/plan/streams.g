# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --dump-plan | FileCheck-14 %s
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --emit=ir | FileCheck-14 %s --check-prefix=IR
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --dump-plan=json | FileCheck-14 %s --check-prefix=JSON
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --dump-plan=svg | FileCheck-14 %s --check-prefix=SVG
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --dump-plan=trace | FileCheck-14 %s --check-prefix=TRACE
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=8 --dump-plan | FileCheck-14 %s --check-prefix=MORE
# RUN: %gc %s -O1 -march=x86-64-v3 --dump-plan | FileCheck-14 %s --check-prefix=ONE
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --memory=inplace --remarks=streams --emit=ir -o - 2>&1 | FileCheck-14 %s --check-prefix=FREE
# RUN: %gc %s -O1 -march=x86-64-v3 --streams=2 --remarks=streams --emit=ir -o - 2>&1 | FileCheck-14 %s --check-prefix=WHY
# Two branches of products run beside each other in the bytes that one stream takes: so two products wait
# for the bytes that they are given, which they do not where nothing shares but in place.
entry main(x : f32[64, 64], w : f32[64, 64], u : f32[64, 64]) {
  a = tanh(tanh(x @ w) @ w) @ w
  b = tanh(x @ u) @ u
  return y = a + b
}
# CHECK: arena (optimal) 49,216
# CHECK: 2 streams, 2 edges between them, 1.3{{[0-9]}} at work on the average
# CHECK: life stream how
# CHECK: {{%[a-z0-9.]+ +matmul .* 0 +new}}
# CHECK: {{%[a-z0-9.]+ +matmul .* 1 +new}}
# IR: matmul %x, %w {{.*}} live {{[0-9]+\.\.[0-9]+}} stream 0
# IR: matmul %x, %u {{.*}} live {{[0-9]+\.\.[0-9]+}} stream 1
# JSON: "streams": 2,
# JSON: "at_work": 1.3{{[0-9]+}}, "edges": [{{\[[0-9]+, [0-9]+\], \[[0-9]+, [0-9]+\]}}],
# JSON: "stream": 1,
# SVG: 2 streams
# SVG: <rect class="lane"
# TRACE: "main: streams"
# TRACE: "name": "edge"
# MORE: 2 streams, 2 edges
# ONE: arena (optimal) 49,216
# ONE-NOT: stream how
# FREE-NOT: waits for
# WHY: streams.g:[[#]]:19: remark: matmul waits for matmul of stream 0: it takes bytes of %3 [streams]
# WHY: streams.g:[[#]]:29: remark: matmul waits for matmul of stream 1: it takes bytes of %8 [streams]
