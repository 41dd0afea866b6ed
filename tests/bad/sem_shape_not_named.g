entry f() { return a = normal([8, 4]), b = uniform([8, 4]) }
