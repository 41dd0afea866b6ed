# args: -target=cpu
# exit: 2
let N = 3
