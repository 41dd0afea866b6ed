# args: --streams=0
# exit: 2
let N = 3
