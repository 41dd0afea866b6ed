# args: --passes=autodiff,order,remat,liveness,inplace,share{strategy=none} --memory-limit=1M
# exit: 2
let N = 3
