use “a.g”
