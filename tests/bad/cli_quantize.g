# args: --quantize=int8
# exit: 2
let N = 3
