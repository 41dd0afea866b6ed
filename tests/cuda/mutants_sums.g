# Sums whose chunks the thread block adds that ends last, and cumulative sums of chunks side by side, in which errors are planted:
# few long rows, columns of many rows, chunks of a run's number of rows, a last chunk that is a part, groups of chunks.
entry rows(x : f32[2, 20001], b : f32[2]) { return a = sum(x * x, axis = 1) + b, m = max(x, axis = 1) }
entry columns(x : f32[1801, 37]) { return a = sum(x, axis = 0) * 2 }
entry bounded(x : f32[n <= 2319, 37]) { return a = sum(x, axis = 0) }
entry running(x : f32[2, 9001]) { return c = cumsum(x) }
entry running_columns(x : f32[9001, 3]) { return c = cumsum(x, axis = 0) }
