let a = 3
