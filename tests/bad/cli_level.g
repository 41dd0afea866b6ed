# args: -O4
# exit: 2
let N = 3
