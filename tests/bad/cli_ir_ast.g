# args: -x ir --emit=ast
# exit: 2
let N = 3
