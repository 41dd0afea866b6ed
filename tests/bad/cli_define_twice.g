# args: -D N=1 -D N=2
# exit: 2
let N = 3
