# args: run
# exit: 2
let N = 3
