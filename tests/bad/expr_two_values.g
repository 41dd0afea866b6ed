let a = 3 4
