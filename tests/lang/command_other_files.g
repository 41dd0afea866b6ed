# RUN: mkdir -p %t && cd %t && for f in net.pt net.pth net.keras net.py w.safetensors w.gguf; do printf 'PK\003\004' > $f; (%gc $f -o out || echo exit $?) 2>&1; done | FileCheck-14 --match-full-lines %s
# RUN: test ! -e %t/out
# RUN: cd %t && printf 'let a = 1\n' > houses.g && printf '\177ELF\002\000' > houses && cp houses program && printf '\010\012\022\007pytorch' > model
# RUN: cd %t && for f in houses program model; do (%gc $f -o out || echo exit $?) 2>&1; done | FileCheck-14 --match-full-lines --check-prefix=BINARY %s
# RUN: cd %t && (%gc net.g train || echo exit $?) 2>&1 | FileCheck-14 --match-full-lines --check-prefix=ENTRY %s
# A file of another program in the place of a program: what it is, and the way to a program.
entry e(x : f32[2]) { return y = x }
# CHECK: gc: error: net.pt is a file of PyTorch; in Python, torch.onnx.export(model, inputs, "net.onnx") writes a model that gc compiles
# CHECK-NEXT: exit 2
# CHECK-NEXT: gc: error: net.pth is a file of PyTorch; in Python, torch.onnx.export(model, inputs, "net.onnx") writes a model that gc compiles
# CHECK-NEXT: exit 2
# CHECK-NEXT: gc: error: net.keras is a Keras model; in Python, model.export("net.onnx", format="onnx") writes one that gc compiles
# CHECK-NEXT: exit 2
# CHECK-NEXT: gc: error: net.py is a Python program; gc compiles programs in its own language; of a PyTorch model, torch.onnx.export(model, inputs, "net.onnx") writes one that gc compiles
# CHECK-NEXT: exit 2
# CHECK-NEXT: gc: error: w.safetensors is weights without a model; they go into a program of it: gc MODEL.g --weights=FILE, or ./PROGRAM … --load FILE
# CHECK-NEXT: exit 2
# CHECK-NEXT: gc: error: w.gguf is a GGUF file; gc reads weights as they are published, in .safetensors, for a program of the model
# CHECK-NEXT: exit 2
# BINARY: gc: error: houses is no source text; did you mean houses.g?
# BINARY-NEXT: exit 2
# BINARY-NEXT: gc: error: program is no source text; gc compiles a program NAME.g or a model NAME.onnx
# BINARY-NEXT: exit 2
# BINARY-NEXT: gc: error: model is no source text; if it is an ONNX model, add -x onnx
# BINARY-NEXT: exit 2
# ENTRY: gc: error: train is no file; if it is an entry of net.g, the program that gc makes runs it: ./PROGRAM train
# ENTRY-NEXT: exit 2
