# args: --emit=exee
# exit: 2
let N = 3
