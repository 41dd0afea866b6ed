# args: -x onnx
# exit: 2
let N = 3
