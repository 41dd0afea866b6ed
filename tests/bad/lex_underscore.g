let a = 1_000
