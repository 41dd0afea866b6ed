# args: --target=cpu,gpu
# exit: 2
let N = 3
