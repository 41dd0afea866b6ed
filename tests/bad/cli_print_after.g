# args: --print-after=cs
# exit: 2
let N = 3
