let 2nd = 3
