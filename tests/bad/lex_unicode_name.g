let größe = 3
