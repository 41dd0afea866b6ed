# args: --precision=bf16 --passes=fold
# exit: 2
let N = 3
