# args: --emit=cubin
# exit: 2
let N = 3
