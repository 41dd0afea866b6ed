# ---- NaN and infinity ----

# false for NaN, inf and -inf
def isfinite(x) { return abs(x) < inf }

# one bool: every element is finite, of a tree in every leaf
def finite(x) { return sum(not isfinite(x)) == 0 }
