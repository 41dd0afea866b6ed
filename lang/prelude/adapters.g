# ---- low-rank adapters (LoRA), trained with only = "*.lora" ----

# what an adapter adds to a layer of x: alpha / rank * dropout(x) @ a @ b, at first zero. name: of the layer in a published
# adapter, whose names are PEFT's. merge: alpha / rank * a @ b, for the layer's own matrix, and the adapter becomes zero
def low_rank(x : [..., d], units : count, rank : count = 8, alpha = 16, drop : fraction = 0, name : string = none,
             merge : flag = false) {
  if name == none {
    param a : f32[d, rank] = uniform(-d ** -0.5, d ** -0.5)
    param b : f32[rank, units] = zeros()
  } else {
    param a : f32[d, rank] = uniform(-d ** -0.5, d ** -0.5) from "base_model.model.{name}.lora_A.weight"'
    param b : f32[rank, units] = zeros() from "base_model.model.{name}.lora_B.weight"'
  }
  if not merge { return alpha / rank * (dropout(x, drop) @ a @ b) }
  whole = alpha / rank * (a @ b)
  b := zeros([rank, units])
  return whole
}

# linear with an adapter at the path `lora`; w and b have linear's paths. merge: adds the adapter to w first
def lora(x : [..., d], units : count, rank : count = 8, alpha = 16, drop : fraction = 0, bias : flag = true,
         init : function = glorot, merge : flag = false) {
  param w : f32[d, units] = init()
  adapter = low_rank(x, units, rank, alpha, drop, merge = merge) as lora
  if merge { w := w + adapter }
  y = x @ w if merge else x @ w + adapter
  if bias {
    param b : f32[units] = zeros()
    y = y + b
  }
  return y
}
