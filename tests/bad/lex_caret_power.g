let a = 2 ^ 10
