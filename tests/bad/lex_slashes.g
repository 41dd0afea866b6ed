let a = 3 // three
