# RUN: %gc %s --target=cpu -march=x86-64-v2 --print-schedules | FileCheck-14 --implicit-check-not='{{(conv|grad) elements}}' --check-prefixes=F16,COPIES %s
# RUN: %gc %s --target=cpu -march=x86-64-v3 --print-schedules | FileCheck-14 --implicit-check-not='{{(conv|grad) elements}}' --check-prefixes=F16,COPIES %s
# RUN: %gc %s --target=cpu -march=cooperlake --print-schedules | FileCheck-14 --implicit-check-not='{{(conv|grad) elements}}' --check-prefixes=F16,PAIRS %s
# RUN: %gc %s --target=cpu -march=sapphirerapids --print-schedules | FileCheck-14 --implicit-check-not='{{(conv|grad) elements}}' --check-prefixes=F16,TILES %s
# RUN: %gc %s --target=cpu -O0 -march=x86-64-v3 --print-schedules | FileCheck-14 --implicit-check-not='{{(conv|grad) elements}}' --check-prefix=PLAIN %s
# Convolutions of f16 and bf16, and both gradients, have the kernels of f32, of pairs or of tile registers, whose sums are rounded
# behind them. None is computed element by element.
# PLAIN: level=x86-64-v3
# F16: conv_convert_add conv conv n=3 rows=28 columns=20 depth=64 width=40 back=no pairs=no {{.*}}entries=f
# F16: conv_filter_grad_convert conv_filter_grad filter {{.*}}amx=no {{.*}}entries=f
# F16: conv_input_grad_convert conv_input_grad conv n=3 rows=28 columns=20 depth=40 width=64 back=yes pairs=no {{.*}}entries=f
# COPIES: conv_convert_add conv conv n=3 rows=28 columns=20 depth=64 width=40 back=no pairs=no {{.*}}entries=b
# COPIES: conv_input_grad_convert conv_input_grad conv n=3 rows=28 columns=20 depth=40 width=64 back=yes pairs=no {{.*}}entries=b
# PAIRS: conv conv n=3 rows=28 columns=20 depth=64 width=40 back=no pairs=yes {{.*}}entries=b
# PAIRS: conv_input_grad conv n=3 rows=28 columns=20 depth=40 width=64 back=yes pairs=yes {{.*}}entries=b
# TILES: conv_convert_add conv amx_conv n=3 rows=28 columns=20 depth=64 width=40 {{.*}}entries=b
# TILES: conv_filter_grad_convert conv_filter_grad filter {{.*}}amx=yes {{.*}}entries=b
# TILES: conv_input_grad_convert conv_input_grad amx_conv n=3 rows=28 columns=20 depth=40 width=64 {{.*}}entries=b
# F16: conv_convert_add conv conv n=3 rows=14 columns=10 depth=1 width=64 back=no {{.*}}entries=depthwise
# F16: conv_filter_grad_convert conv_filter_grad depthwise channels=64 {{.*}}entries=depthwise
# F16: conv_input_grad_convert conv_input_grad conv n=3 rows=28 columns=20 depth=1 width=64 back=yes {{.*}}entries=depthwise
entry f(x : f16[3, 64, 28, 20], w : f16[40, 64, 3, 3]) {
  y = conv2d(x, w, pad = 1)
  return y, gx = grad(sum(y * y), x), gw = grad(sum(y * y), w)
}
entry b(x : bf16[3, 64, 28, 20], w : bf16[40, 64, 3, 3]) {
  y = conv2d(x, w, pad = 1)
  return y, gx = grad(sum(y * y), x), gw = grad(sum(y * y), w)
}
entry depthwise(x : f16[3, 64, 28, 20], w : f16[64, 1, 5, 5]) {
  y = conv2d(x, w, stride = 2, pad = 2, groups = 64)
  return y, gx = grad(sum(y * y), x), gw = grad(sum(y * y), w)
}
