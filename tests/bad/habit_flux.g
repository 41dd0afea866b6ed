# as Keras, JAX and Flux write layers, loops and sizes
using Flux
model = Chain(Dense(4 => 8, relu))
let n_layer = hparams.n_layer
entry f(x : f32[8, 4]) { y = relu.(x); return y = x }
