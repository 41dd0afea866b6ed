# RUN: mkdir -p %t.dir && cd %t.dir && rm -f * && %gc %s --target=cuda --precision=bf16 --stats=time:a100 | FileCheck-14 %s && test -z "$(ls)"
# RUN: %gc %s --target=cuda --precision=bf16 --stats=time | FileCheck-14 --check-prefix=H100 %s
# RUN: %gc %s --target=cuda,cpu --stats=time:h200 | FileCheck-14 --check-prefix=F32 %s
# Nothing is made: a line for each kernel of an entry, the longest first. A loop's launches count once an iteration.
entry step(x : f32[2048, 2048], w : f32[2048, 2048], b : f32[2048]) {
  h = x
  scan i in 0..100 { h = relu(h @ w + b) }
  return h, total = sum(h, axis = 0)
}

# CHECK:      by the model
# CHECK:      entry step on A100 SXM 80 GB: {{.*}} ms, roofline {{.*}} launches
# CHECK:      ms share launches us each bound roofline kernel source operations
# CHECK-NEXT: {{.*}} 100 {{.*}} tensor {{.*}} {{.*}}stats_time.g:7:33 matmul
# CHECK:      sum: f32[2048,2048]
# H100:       entry step on H100 SXM 80 GB
# F32:        entry step on H200 SXM
# F32:        {{.*}} 100 {{.*}} matmul
# F32-NOT:    entry step
