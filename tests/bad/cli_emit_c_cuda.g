# args: --emit=c --target=cuda
# exit: 2
let N = 3
