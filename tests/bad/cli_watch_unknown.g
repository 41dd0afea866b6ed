# args: --watch=net.w,nett.w
# exit: 2
entry f(x : f32[2, 3]) { return y = linear(x, 4) as net }
