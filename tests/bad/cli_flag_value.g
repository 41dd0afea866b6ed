# args: --verify-each=1
# exit: 2
let N = 3
