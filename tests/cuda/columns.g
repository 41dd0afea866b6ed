# Sums of so many columns that a block of threads does all of its own, each warp a chunk of the rows: rounds of chunks, a last one
# of fewer, columns and rows that are left over; of numbers that are made on the way.
entry rounds(x : f32[4400, 2830], b : f32[2830]) { return y = relu(sum(x * x, axis = 0)) + b }
entry once(x : bf16[1900, 2848]) { return y = sum(f32(x), axis = 0) }
entry most(x : i32[2100, 2820]) { return y = max(x, axis = 0) }
entry bounded(x : f32[n <= 2100, 2820]) { return y = sum(x, axis = 0) }
# what rows and results read of a column
entry read_twice(x : f32[2050, 2818], b : f32[2818]) { return y = sum(x - b, axis = 0) * b }
