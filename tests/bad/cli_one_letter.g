# args: -z
# exit: 2
let N = 3
