use "a\qb.g"
