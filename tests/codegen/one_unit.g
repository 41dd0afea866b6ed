# Sums over columns whose chunks are combined by one unit, since the columns are one block, although they are many: the
# launch that adds the chunks is one thread's.
# RUN: %gc -march=x86-64-v4 -O2 --no-cache -o %t %s
entry e(x : f32[16, 64, 120, 120]) { return y = sum(x, [0, 2, 3]), z = sum(x * x, [0, 2, 3]) }
