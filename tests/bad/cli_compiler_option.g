# args: -Wall
# exit: 2
let N = 3
