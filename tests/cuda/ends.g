# Sums whose chunks thread blocks share, the last of which combines them: of rows, of columns, of fewer than there may be, and such
# that results wait for
entry rows(x : f32[3, 40000], b : f32[3, 1]) { return y = sqrt(sum(x * x + b, axis = 1)) * 2, m = max(x, axis = 1), z = x * 2 }
entry long(x : f64[1300000]) { return y = sum(x), z = max(x) }
entry both(x : f32[70000], y : f32[70000], z : f32[50, 2000]) { return a = sum(x), b = sum(y), c = sum(abs(z)) }
entry needed(x : f32[2, 40000], y : f32[2, 40000]) { return z = x / (1 + sum(abs(y), axis = 1, keep = true)) }
entry columns(x : f32[3000, 70], y : f32[70], z : bf16[9, 33, 500]) {
  return a = relu(sum(x, axis = 0)) + y, c = sum(f32(z) * 2, axis = [0, 2])
}
entry bounded_rows(x : f32[n <= 50000], z : f32[2, n]) { return a = sum(x) * 2, c = max(z, axis = 1) }
entry bounded_columns(y : f32[m <= 2000, 40], z : f32[2000, k <= 40]) { return b = sum(y, axis = 0), c = sum(z, axis = 0) }
