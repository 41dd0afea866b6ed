# Shapes whose conversions or indices could not be addressed are refused where they are declared.
entry a(x : u8[2305843009213693952]) { return y = f32(x) }
entry b(x : u8[1125899906842624, 1024]) { return y = sort(x) }
entry c(x : u8[288230376151711744, 8], s : i32) { return y = dynamic_slice(x, s, 8, axis = 1) }
entry d(x : u8[1152921504606846976, 2], s : i32) { return y = x[:, s] }
entry e(x : f32[268435456, 268435456]) { return y = einsum("ab,cd->abcd", x, x) }
