# args: --target=cpu,cuda
# exit: 2
let N = 3
