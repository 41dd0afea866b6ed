# args: --check -D SPEC=ijk
# exit: 2
let SPEC = "ij->ji"
entry f(x : f32[2, 3]) { return y = einsum(SPEC, x) }
