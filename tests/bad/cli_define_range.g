# args: -D N=99999999999999999999
# exit: 2
let N = 3
