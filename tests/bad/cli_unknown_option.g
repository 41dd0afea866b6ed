# args: --hlep
# exit: 2
let N = 3
