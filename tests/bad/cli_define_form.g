# args: -D N
# exit: 2
let N = 3
