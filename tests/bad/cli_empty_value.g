# args: --dump-plan=
# exit: 2
let N = 3
