"""Training steps of four nets in JAX, for memory.py: compiled, not run. Parameters are a dict by path."""
import jax
import jax.numpy as jnp
from jax import lax


def normalised(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) * lax.rsqrt(x.var(axes, keepdims=True) + eps)


def cross_entropy(logits, target):
    logs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, target[..., None], -1).mean()


class Net:
    """Shapes of params are collected while forward() runs once; then forward(p, x) computes."""

    def __init__(self):
        self.shapes = {}

    def param(self, p, name, *shape):
        self.shapes[name] = jax.ShapeDtypeStruct(shape, jnp.float32)
        return jnp.zeros(shape) if p is None else p[name]

    def conv(self, p, name, x, out, k, stride=1, bias=False):
        w = self.param(p, name + ".w", out, x.shape[1], k, k)
        y = lax.conv_general_dilated(x, w, (stride, stride), [(k // 2, k // 2)] * 2)
        return y + self.param(p, name + ".b", out)[:, None, None] if bias else y

    def bn(self, p, name, x):
        g, b = self.param(p, name + ".g", x.shape[1]), self.param(p, name + ".b", x.shape[1])
        return normalised(x, (0, 2, 3)) * g[:, None, None] + b[:, None, None]

    def linear(self, p, name, x, units):
        return x @ self.param(p, name + ".w", x.shape[-1], units) + self.param(p, name + ".b", units)

    def norm(self, p, name, x):
        return normalised(x, -1) * self.param(p, name + ".g", x.shape[-1]) + self.param(p, name + ".b", x.shape[-1])


def planes(image):
    return (image.astype(jnp.float32) / 127.5 - 1).reshape(-1, 3, 224, 224)


def max_pool(x, k, stride, pad):
    window, strides = (1, 1, k, k), (1, 1, stride, stride)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, [(0, 0), (0, 0), (pad, pad), (pad, pad)])


class Resnet50(Net):
    def forward(self, p, image):
        def cb(name, x, out, k=1, stride=1):
            return self.bn(p, name + ".bn", self.conv(p, name + ".conv", x, out, k, stride))

        x = max_pool(jax.nn.relu(cb("stem", planes(image), 64, 7, 2)), 3, 2, 1)
        for s, blocks in enumerate([3, 4, 6, 3]):
            for i in range(blocks):
                name, mid, stride = f"layer.{s}.{i}", 64 * 2**s, 2 if s > 0 and i == 0 else 1
                y = jax.nn.relu(cb(name + ".c1", x, mid))
                y = cb(name + ".c3", jax.nn.relu(cb(name + ".c2", y, mid, 3, stride)), 4 * mid)
                x = jax.nn.relu(y + (cb(name + ".skip", x, 4 * mid, 1, stride) if i == 0 else x))
        return self.linear(p, "head", x.mean((2, 3)), 1000)


class Vgg(Net):
    def forward(self, p, image):
        x = planes(image)
        for s, (depth, channels) in enumerate(zip([1, 1, 2, 2, 2], [64, 128, 256, 512, 512])):
            for i in range(depth):
                x = jax.nn.relu(self.conv(p, f"conv.{s}.{i}", x, channels, 3, bias=True))
            x = max_pool(x, 2, 2, 0)
        x = jax.nn.relu(self.linear(p, "f1", x.reshape(x.shape[0], -1), 4096))
        return self.linear(p, "f3", jax.nn.relu(self.linear(p, "f2", x, 4096)), 1000)


class Lstm4(Net):
    def forward(self, p, tokens):
        x = self.param(p, "embed", 128, 1024)[tokens].transpose(1, 0, 2)
        layers = [(self.param(p, f"l{i}.wx", 1024, 4096), self.param(p, f"l{i}.wh", 1024, 4096),
                   self.param(p, f"l{i}.b", 4096)) for i in range(4)]

        def step(carry, x):
            after = []
            for (h, c), (wx, wh, b) in zip(carry, layers):
                i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                x = jax.nn.sigmoid(o) * jnp.tanh(c)
                after.append((x, c))
            return after, x

        zero = jnp.zeros((tokens.shape[0], 1024))
        return self.linear(p, "out", lax.scan(step, [(zero, zero)] * 4, x)[1].transpose(1, 0, 2), 128)


class Gpt2(Net):
    def forward(self, p, tokens):
        wte, wpe = self.param(p, "wte", 50257, 768), self.param(p, "wpe", 1024, 768)
        x = wte[tokens] + wpe[: tokens.shape[1]]
        for i in range(12):
            q, k, v = jnp.split(self.linear(p, f"h.{i}.qkv", self.norm(p, f"h.{i}.ln_1", x), 3 * 768), 3, -1)
            q, k, v = (y.reshape(*y.shape[:2], 12, 64) for y in (q, k, v))
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
            x = x + self.linear(p, f"h.{i}.proj", y, 768)
            y = self.linear(p, f"h.{i}.up", self.norm(p, f"h.{i}.ln_2", x), 4 * 768)
            x = x + self.linear(p, f"h.{i}.down", jax.nn.gelu(y), 768)
        return self.norm(p, "ln_f", x) @ wte.T


def sgd(p, m, g, step, lr=0.01, decay=1e-4):
    m = jax.tree.map(lambda m, g, p: 0.9 * m + g + decay * p, m, g, p)
    return jax.tree.map(lambda p, m: p - lr * m, p, m), m


def adamw(p, moments, g, step, lr=6e-4, b1=0.9, b2=0.95, decay=0.1):
    norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(g)))
    g = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / norm), g)
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, moments[0], g)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, moments[1], g)
    c1, c2 = 1 - b1 ** (step + 1), 1 - b2 ** (step + 1)
    p = jax.tree.map(lambda p, m, v: p * (1 - lr * decay) - lr * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, m, v)
    return p, (m, v)


INT = jnp.int32
STEPS = {
    "resnet50": (Resnet50, sgd, jax.ShapeDtypeStruct((32, 3 * 224 * 224), jnp.uint8), jax.ShapeDtypeStruct((32,), INT)),
    "vgg": (Vgg, sgd, jax.ShapeDtypeStruct((32, 3 * 224 * 224), jnp.uint8), jax.ShapeDtypeStruct((32,), INT)),
    "lstm4": (Lstm4, sgd, jax.ShapeDtypeStruct((64, 50), INT), jax.ShapeDtypeStruct((64, 50), INT)),
    "gpt2": (Gpt2, adamw, jax.ShapeDtypeStruct((4, 1024), INT), jax.ShapeDtypeStruct((4, 1024), INT)),
}


def step_bytes(name):
    """Bytes of a training step beside weights, moments and batch."""
    kind, optimizer, x, target = STEPS[name]
    net = kind()
    jax.eval_shape(lambda x: net.forward(None, x), x)
    p = dict(net.shapes)
    moments = p if optimizer is sgd else (p, p)

    def step(p, moments, count, x, target):
        loss, g = jax.value_and_grad(lambda p: cross_entropy(net.forward(p, x), target))(p)
        return (*optimizer(p, moments, g, count), loss)

    count = jax.ShapeDtypeStruct((), jnp.float32)
    done = jax.jit(step, donate_argnums=(0, 1)).lower(p, moments, count, x, target).compile()
    m = done.memory_analysis()
    return m.temp_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes
