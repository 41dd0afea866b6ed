# RUN: %gc -O1 --emit=ir --remarks=inplace --dump-plan=json %s -o %t.ir > %t.json 2> %t.txt
# RUN: FileCheck-14 %s --check-prefix=JSON < %t.json
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# RUN: FileCheck-14 %s < %t.ir
# RUN: %gc %s --target=cuda --dump-plan | head -n 1 | grep 'for cuda: globals 35,328 bytes$'
# RUN: %gc %s --target=cuda,cpu --dump-plan | head -n 1 | grep 'for cpu: globals 35,200 bytes$'
# The two-layer perceptron on which planning of memory is explained everywhere: the activation, the
# output and the gradients of both are in place, and the gradient of the input takes dead bytes.
entry step(x : f32[64, 100], label : u8[64]) {
  param w1 : f32[100, 80] = zeros()
  param w2 : f32[80, 10] = zeros()
  h = sigmoid(x @ w1)
  p = softmax(h @ w2)
  loss = sum(log(p) * one_hot(label, 10))
  return dw1 = grad(loss, w1), dx = grad(loss, x)
}
# CHECK: %h = sigmoid [[A:%[0-9a-z.]+]] {{.*}} in place of [[A]]
# CHECK: %p = softmax [[B:%[0-9a-z.]+]] {{.*}} in place of [[B]]
# CHECK: softmax_grad [[C:%[0-9a-z.]+]], %p {{.*}} in place of [[C]]
# CHECK: sigmoid_grad [[D:%[0-9a-z.]+]], %h {{.*}} in place of [[D]]
# CHECK: %dx = matmul {{.*}} live {{[0-9]+\.\.[0-9]+}} over %
# WHY: perceptron.g:12:7: remark: sigmoid reuses the bytes of %{{.*}} (20,480) [inplace]
# WHY: perceptron.g:13:7: remark: softmax reuses the bytes of %{{.*}} (2,560) [inplace]
# JSON: {"gc": "{{.+}}", "source": "{{.*}}perceptron.g", "target": "cpu", "globals_bytes": 35200,
# JSON-NEXT: "entries": [{"name": "step", "training": false, "steps": 11, "streams": 1,
# JSON-NEXT: "naive_bytes": 152384, "inplace_bytes": 103744, "pool_bytes": 78144, "arena_bytes": 78144, "lower_bound_bytes": 78144,
# JSON-NEXT: "inputs_bytes": 25664, "outputs_bytes": 57600, "unwritten_bytes": {{[0-9]+}}, "recompute_flops": 0, "flops": {{[0-9]+}},
# JSON-NEXT: "values": [
# JSON-NEXT: {"id": "%x", "op": "input", "scope": "", "loc": "", "type": "f32[64,100]", "bytes": 25600, "region": "inputs", "offset": 0, "first": -1, "last": 9, "stream": 0, "how": "external", "of": null},
# JSON: {"id": "%h", "op": "sigmoid", "scope": "", "loc": "{{.*}}perceptron.g:12:7", "type": "f32[64,80]", "bytes": 20480, "region": "ws", "offset": 0, "first": 1, "last": 8, "stream": 0, "how": "inplace", "of": "%{{.*}}"},
# JSON: {"id": "%dx", {{.*}} "last": 11, "stream": 0, "how": "reuse", "of": "%{{.*}}"}]}]}
