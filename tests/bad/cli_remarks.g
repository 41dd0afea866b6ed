# args: --remarks=foo
# exit: 2
let N = 3
