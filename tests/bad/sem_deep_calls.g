def f0(x) { return x }
def f1(x) { return f0(f0(f0(f0(f0(f0(f0(f0(x)))))))) }
def f2(x) { return f1(f1(f1(f1(f1(f1(f1(f1(x)))))))) }
def f3(x) { return f2(f2(f2(f2(f2(f2(f2(f2(x)))))))) }
def f4(x) { return f3(f3(f3(f3(f3(f3(f3(f3(x)))))))) }
def f5(x) { return f4(f4(f4(f4(f4(f4(f4(f4(x)))))))) }
def f6(x) { return f5(f5(f5(f5(f5(f5(f5(f5(x)))))))) }
def f7(x) { return f6(f6(f6(f6(f6(f6(f6(f6(x)))))))) }
entry f(x : f32[3]) {
  return y = f7(x)
}
