# args: -O2 -o -
# exit: 2
let N = 3
