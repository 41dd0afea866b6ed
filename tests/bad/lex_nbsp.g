let a = 3
