# args: -x csv
# exit: 2
let N = 3
