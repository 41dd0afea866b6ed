# args: --passes=fold,csee
# exit: 2
let N = 3
