# args: --pack --emit=c
# exit: 2
let N = 3
