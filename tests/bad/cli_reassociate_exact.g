# args: --exact --reassociate -o never
# exit: 2
let N = 3
