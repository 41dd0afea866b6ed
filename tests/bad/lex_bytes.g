let a = ÿþ3
