# ---- NaN and infinity ----

# false for NaN, inf and -inf; true for integers and bools
def isfinite(x) {
  number = x if known(x) else prod(x, axis = [])  # of no axes: bools become integers
  return number - number == 0
}

# one bool: every element is finite, of a tree in every leaf
def finite(x) { return sum(not isfinite(x)) == 0 }
