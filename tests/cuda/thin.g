# Products of few rows of f32, of which a warp reads the columns into registers: depths of one step, of equal steps, of
# a last step that is a part, of several chains; columns that are left over; rows at any multiple.
entry equal_steps(x : f32[1, 784], w : f32[784, 40], y : f32[2, 100], v : f32[100, 10], z : f32[1, 16], u : f32[16, 33]) {
  return a = relu(x @ w) + 1, b = y @ v, c = z @ u
}
entry last_parts(x : f32[1, 257], w : f32[257, 40], y : f32[3, 390], v : f32[390, 7], z : f32[8, 131], u : f32[131, 65]) {
  return a = relu(x @ w) + 1, b = y @ v, c = z @ u
}
entry chains(x : f32[1, 2100], w : f32[2100, 33], y : f32[5, 1025], v : f32[1025, 12]) { return a = x @ w, b = tanh(y @ v) }
entry across(x : f32[300, 2], w : f32[300, 50], y : f32[1, 130], v : f32[37, 130], z : f32[140, 3], u : f32[9, 140]) {
  return a = x' @ w, b = y @ v', c = z' @ u'
}
entry batches(x : f32[3, 2, 150], w : f32[3, 150, 20], y : f32[2, 1, 65], v : f32[2, 34, 65]) {
  return a = x @ w, b = y @ transpose(v, [0, 2, 1])
}
entry in_f64(x : f64[1, 270], w : f64[270, 20], y : f64[5, 90], v : f64[90, 18]) { return a = x @ w, b = y @ v }
entry bounded_rows(x : f32[n <= 7, 230], w : f32[230, 40]) { return y = x @ w }
entry bounded_depth(x : f32[1, n <= 300], w : f32[n, 40], y : f32[4, n], v : f32[n, 9]) { return a = x @ w, b = y @ v }
