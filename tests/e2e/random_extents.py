"""A random net along bounded axes, of a seed: `train` and `infer` over x [n, t, d] or [n, d] and ids of its rows, or over
images x [n, c, h, w] or sequences [n, c, t] and ids of those.

random_extents.py SEED prints the program.
"""
import random
import sys


class Net:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rows = self.r.random() < 0.75  # of sequences
        self.axis = 1 if self.rows else 0  # the bounded one inside
        self.body, self.values, self.names = [], [("x", self.r.choice([3, 5, 8, 16]))], 0
        self.width = self.values[0][1]
        many = self.r.randrange(3, 9)
        while len(self.values) <= many:
            self.layer()

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def line(self, text):
        self.body.append(f"  {text}")

    def add(self, text, width):
        v = self.name("v")
        self.line(f"{v} = {text}")
        self.values.append((v, width))

    def layer(self):
        x, w = self.r.choice(self.values[-4:])
        kinds = [self.dense, self.element, self.norm, self.reduced, self.joined, self.embedded, self.folded, self.dropped]
        kinds += [self.table, self.chain]
        if self.rows:
            kinds += [self.cell, self.constant, self.loop, self.heads, self.attended, self.parts, self.gram, self.first]
        self.r.choice(kinds)(x, w)

    def dense(self, x, w):
        u = self.r.choice([2, 5, 8, 24])
        self.add(f"linear({x}, {u}) as {self.name('l')}", u)

    def element(self, x, w):
        self.add(f"{self.r.choice(['tanh', 'gelu', 'relu', 'sigmoid'])}({x}) * {x}", w)

    def norm(self, x, w):
        e = self.r.choice([f"layernorm({x}) as {self.name('ln')}", f"rms_norm({x})", f"softmax({x}, axis = {self.axis})"])
        self.add(e, w)

    def reduced(self, x, w):
        axis = self.r.choice([0, self.axis, -1])
        e = self.r.choice([f"{x} - mean({x}, axis = {axis}, keep = true)", f"{x} * sum({x} ** 2, axis = -1, keep = true)",
                           f"cumsum({x}, axis = {self.axis}) * 0.1"])
        self.add(e, w)

    def joined(self, x, w):
        y, u = self.r.choice(self.values[-4:])
        self.add(*((f"{x} * {y} + {x}", w) if u == w else (f"concat([{x}, {y}], axis = -1)", w + u)))

    def embedded(self, x, w):
        self.add(f"embed(ids, 9, {w}) as {self.name('e')} + {x}", w)

    def folded(self, x, w):
        rows, back = ("n * t", "n, t") if self.rows else ("n", "n")
        self.add(f"reshape(linear(reshape({x}, [{rows}, {w}]), {w}) as {self.name('l')}, [{back}, {w}])", w)

    def dropped(self, x, w):
        self.add(f"dropout({x}, 0.3)", w)

    # ---- whose order of sums another compiler would let sizes decide ----

    def table(self, x, w):
        self.add(f"linear(embed(ids, 9, 6) as {self.name('e')}, {w}) as {self.name('l')} * {x}", w)

    def chain(self, x, w):
        a, b = self.name("a"), self.name("b")
        self.line(f"param {a} : f32[{w}, 8] = normal(std = 0.4)")
        self.line(f"param {b} : f32[8, 6] = normal(std = 0.4)")
        rows = "nt" if self.rows else "n"
        self.add(f'einsum("{rows}i,ij,jk->{rows}k", {x}, {a}, {b})', 6)

    def cell(self, x, w):
        step = f"tanh((linear({x}[:, i], {w}) as {self.name('l')}) + {x}[:, t - 1 - i])"
        self.add(f"transpose({self.scan(f'n, {w}', step, w)}, [1, 0, 2])", w)

    def constant(self, x, w):
        c = self.name("c")
        self.line(f"{c} = linear({x}[:, 0], {w}) as {self.name('l')}")
        step = f"tanh(({c} @ transpose({x}, [0, 2, 1])[0, :, :1]) + (linear({c}, {w}) as {self.name('l')}) * {x}[:, i])"
        self.add(f"transpose({self.scan(f'n, {w}', step, w)}, [1, 0, 2])", w)

    # ---- of sequences ----

    def scan(self, start, step, w):
        h, hs = self.name("h"), self.name("hs")
        self.line(f"{h} = zeros([{start}])")
        self.line(f"{hs} = scan i in 0..t {{\n    {h} = {h} * 0.5 + {step}\n    yield {h}\n  }}")
        return hs

    def loop(self, x, w):
        step = self.r.choice([f"{x}[:, i - 1] + 0.3 * tanh({x}[:, i])", f"{x}[:, i] * {x}[:, t - 1 - i]", f"{x}[:, i]"])
        self.add(f"transpose({self.scan(f'n, {w}', step, w)}, [1, 0, 2])", w)

    def heads(self, x, w):
        if w % 2:
            return
        q = self.name("q")
        self.line(f"{q} = transpose(reshape({x}, [n, t, 2, {w // 2}]), [0, 2, 1, 3])")
        step = f"{q}[:, :, i] + tanh({q}[:, :, t - 1 - i]) * {q}[:, :, i - 1]"
        self.add(f"reshape(transpose({self.scan(f'n, 2, {w // 2}', step, w)}, [1, 0, 2, 3]), [n, t, {w}])", w)

    def attended(self, x, w):
        q = self.name("q")
        self.line(f"{q} = to_heads(linear({x}, 8) as {self.name('l')}, 2)")
        self.add(f"from_heads(attention({q}, {q}, {q}, causal = {self.r.choice(['true', 'false'])}))", 8)

    def parts(self, x, w):
        e = self.r.choice([f"{x}[:, ::-1]", f"concat([{x}, {x} * 2], axis = 1)[:, {self.r.choice([':t', 't:'])}]",
                           f"pad({x}[:, 1:] - {x}[:, :-1], [0, 0, 0], [0, 1, 0])"])
        self.add(e, w)

    def gram(self, x, w):
        self.add(f"{x} @ (transpose({x}, [0, 2, 1]) @ {x} / t)", w)

    def first(self, x, w):
        self.add(f"{x} + {x}[:, {self.r.choice(['0', '-1'])}][:, none]", w)

    def program(self):
        y, z = self.values[-1][0], self.r.choice(self.values)[0]
        loss = f"mean((linear({y}, 3) as out) ** 2) + mean({z} * {z}) * 0.01"
        if self.r.random() < 0.5:
            loss += f" + mean(xent(linear({y}, 9) as cls, ids))"
        inputs = "x : f32[n <= 6, t <= 9, {}], ids : u8[n, t]" if self.rows else "x : f32[n <= 40, {}], ids : u8[n]"
        inputs, body = inputs.format(self.width), "\n".join(self.body)
        optimizer = self.r.choice(["sgd(0.05)", "adam(0.01)"])
        return (f"entry train({inputs}) {{\n{body}\n  loss = {loss}\n  minimize loss with {optimizer}\n  return loss\n}}\n"
                f"entry infer({inputs}) {{\n{body}\n  return y = {y}, s = sum({y})\n}}\n")


class Images:
    """Windows along bounded rows and columns, or along places; values are (name, channels, halvings)."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.flat = self.r.random() < 0.3  # sequences
        self.body, self.channels, self.names = [], self.r.choice([1, 3, 6, 17]), 0
        self.values = [("x", self.channels, 0)]
        many = self.r.randrange(3, 7)
        while len(self.values) <= many:
            self.layer()

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def add(self, text, channels, level):
        v = self.name("v")
        self.body.append(f"  {v} = {text}")
        self.values.append((v, channels, level))

    def layer(self):
        x, c, level = self.r.choice(self.values[-2:])
        kinds = [self.windows, self.windows, self.apart, self.element, self.joined]
        kinds += [self.pool, self.halves] if level < 2 else []
        kinds += [self.doubles] if level and not self.flat else []
        self.r.choice(kinds)(x, c, level)

    def conv(self, x, out, more):
        return f"{'conv1' if self.flat else 'conv'}({x}, {out}, {more}) as {self.name('c')}"

    def windows(self, x, c, level):
        out, taps, dilation = self.r.choice([2, 8, 20]), self.r.choice([1, 3, 5]), self.r.choice([1, 1, 2])
        text = self.conv(x, out, f"{taps}, dilation = {dilation}")
        self.add(f"{self.r.choice(['relu', 'tanh', ''])}({text})", out, level)

    def apart(self, x, c, level):
        self.add(self.conv(x, c, f"{self.r.choice([3, 5, 7])}, groups = {c}"), c, level)

    def halves(self, x, c, level):
        out = self.r.choice([4, 18])
        self.add(self.conv(x, out, self.r.choice(["3, 2, pad = 1", "2, 2, pad = 0", "1, 2, pad = 0"])), out, level + 1)

    def doubles(self, x, c, level):
        out = self.r.choice([3, 8])
        taps = self.r.choice(["2, 2", "4, 2, pad = 1"])
        self.add(f"conv_transpose({x}, {out}, {taps}) as {self.name('t')}", out, level - 1)

    def pool(self, x, c, level):
        kind = self.r.choice(["max_pool({}, 2)", "avg_pool({}, 2)", "max_pool({}, 3, stride = 2, pad = 1)",
                              "avg_pool({}, 3, stride = 2, pad = 1)"])
        self.add(kind.format(x), c, level + 1)

    def element(self, x, c, level):
        self.add(f"sigmoid({x}) * {x}", c, level)

    def joined(self, x, c, level):
        y, d, other = self.r.choice(self.values)
        if other == level:
            self.add(*((f"{x} * {y} + {x}", c) if d == c else (f"concat([{x}, {y}], axis = 1)", c + d)), level)

    def program(self):
        y = self.values[-1][0]
        axes, sizes = ("[2]", "4 * t <= 180") if self.flat else ("[2, 3]", "4 * h <= 20, 4 * v <= 28")
        inputs = f"x : f32[n <= 3, {self.channels}, {sizes}], ids : u8[n]"
        body = "\n".join(self.body)
        loss = f"mean(xent(linear(mean({y}, axis = {axes}), 9) as out, ids)) + mean({y} * {y}) * 0.01"
        return (f"entry train({inputs}) {{\n{body}\n  loss = {loss}\n  minimize loss with sgd(0.05)\n  return loss\n}}\n"
                f"entry infer({inputs}) {{\n{body}\n  return y = {y}, s = sum({y})\n}}\n")


seed = int(sys.argv[1])
print((Images if seed % 2 else Net)(seed).program(), end="")
