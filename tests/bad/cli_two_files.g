# args: other.g
# exit: 2
let N = 3
