# ---- shapes ----

# the part of matrices x [..., n, m] at and below diagonal k, zero above; diagonals above the main one count from 1
def tril(x : [..., n, m], k : int = 0) { return where(iota(m) - k <= iota(n)[:, none], x, 0) }

# the part of matrices x [..., n, m] at and above diagonal k, zero below
def triu(x : [..., n, m], k : int = 0) { return where(iota(m) - k >= iota(n)[:, none], x, 0) }

# images [n, c, h, w] in another size [rows, columns]; mode: "nearest" or "bilinear", without aligned corners
def resize(x : [n, c, h, w], size : shape, mode : string = "nearest") {
  if len(size) == 0 or len(size) > 2 { return error("'size' of resize must be a number, or [rows, columns]") }
  rows, columns = [size[0], size[-1]]
  if mode == "bilinear" {
    return einsum("ih,nchw,jw->ncij", type_as(interpolation(rows, h), x), x, type_as(interpolation(columns, w), x))
  }
  if mode != "nearest" { return error("'mode' of resize must be \"nearest\" or \"bilinear\"") }
  y = gather(transpose(x, [2, 3, 0, 1]), iota(rows) * h // rows)
  return transpose(gather(transpose(y, [1, 0, 2, 3]), iota(columns) * w // columns), [2, 3, 1, 0])
}

# weights [to, n] of linear interpolation: row i has those of the n elements for element i of `to`
def interpolation(to, n) {
  at = clamp((f32(iota(to)) + 0.5) * (n / to) - 0.5, 0, n - 1)
  return max(1 - abs(at[:, none] - f32(iota(n))), 0)
}

def flatten(x) { return reshape(x, [dim(x, 0), -1]) }
def global_avg_pool(x : [n, c, h, w]) { return mean(x, axis = [2, 3]) }
