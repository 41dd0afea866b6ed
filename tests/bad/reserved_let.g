let state = 3
