# args: -D N=3+
# exit: 2
let N = 3
