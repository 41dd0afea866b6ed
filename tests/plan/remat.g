# RUN: %gc --dump-plan=json --memory-limit=50% --remarks=remat %s > %t.json 2> %t.txt
# RUN: FileCheck-14 %s < %t.json
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# RUN: %gc --memory-curve %s | FileCheck-14 %s --check-prefix=CURVE
# Half of the arena: results of the layers are recomputed in the backward pass, which costs no more than the
# bound allows: a chain of equal layers needs a sixth of its arithmetic again.
let L = 16
hyper lr = 1e-3
entry train(x : f32[64, 64], t : f32[64, 64]) {
  y = x
  for l in 0..L { y = relu(linear(y, 64) as fc[l]) }
  loss = mse(y, t)
  minimize loss with sgd(lr)
  return loss
}
# CHECK: "arena_bytes": 1{{[0-9][0-9][0-9][0-9][0-9]}},
# CHECK: "recompute_flops": {{[1-9]}}
# WHY: remat.g:{{[0-9]+}}:{{[0-9]+}}: remark: matmul+add+relu is recomputed before {{.*}} (16,384) is not held [remat]
# CURVE: memory curve of entry 'train'
# CURVE-NEXT: arena, bytes      %   flops, + %   work, + %    at least
# CURVE-NEXT: 100.0         0.00        0.00        0.00
# CURVE-NEXT: {{(90|8[0-9])}}.{{[0-9]}}
