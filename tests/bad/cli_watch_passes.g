# args: --watch=a,b.w --passes=autodiff,fuse,order
# exit: 2
let N = 3
