entry f(x : u8[4294967296]) { return n = len(split(x, 4294967296)) }
