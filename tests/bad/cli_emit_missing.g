# args: --emit
# exit: 2
let N = 3
