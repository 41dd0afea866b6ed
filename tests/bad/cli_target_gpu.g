# args: --target=gpu
# exit: 2
let N = 3
