# args: -O2 -O2
# exit: 2
let N = 3
