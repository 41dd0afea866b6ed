# args: --pack --capacity=lots
# exit: 2
let N = 3
