# ---- NaN and infinity ----

# false for NaN, inf and -inf; true for integers
def isfinite(x) { return x - x == 0 }

# one bool: every element is finite, of a tree in every leaf
def finite(x) { return sum(not isfinite(x)) == 0 }
