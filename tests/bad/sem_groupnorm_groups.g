entry f(x : f32[2, 3, 4]) { return groupnorm(x, 2) as norm }
