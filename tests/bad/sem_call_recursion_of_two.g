def ping(x) { return pong(x) }
def pong(x) { return ping(x) }
entry f(x : f32[4]) {
  return y = ping(x)
}
