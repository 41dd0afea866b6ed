# ---- shapes ----

def flatten(x) { return reshape(x, [dim(x, 0), -1]) }
def global_avg_pool(x : [n, c, h, w]) { return mean(x, axis = [2, 3]) }
