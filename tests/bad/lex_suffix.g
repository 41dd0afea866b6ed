let a = 1.5f
