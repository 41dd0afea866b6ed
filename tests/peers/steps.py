"""One step of training at a time: what gc makes of its own weights, beside what PyTorch makes of the same ones in f64.

Over many steps two orders of summation may part as far as they like, since training itself blows rounding up: Adam
divides a gradient near 0 by its size, a deep net at a high rate multiplies what it is given. One step cannot. From
gc's checkpoint before a step come, in f64, all weights, moments and running moments; its checkpoint after the step
shows the gradient that it used and what its optimizer did. Compared are, over all steps,
- the gradient of each tensor, largest difference over largest element,
- each weight, second moment and running moment after the step, where PyTorch's optimizer is given gc's gradient,
- each first moment, where it is given its own: gc's gradient is what its first moment shows, and would make it again,
- the loss.

A gradient jumps where a number is so near the corner of a relu or of a maximum that rounding decides on its side
(corners.py): by a multiple of the gradient of that one number. Where gradients differ, such multiples are fitted, one for
each corner, and what remains counts as the difference: a few numbers cannot explain a defect in millions of elements.
More than MOST of them explain nothing.
"""
import torch
from safetensors.torch import load_file
from torch.autograd import grad

import corners

LIMIT = 1e-4
MOST = 8  # corners that may be taken away from the gradients of one loss
SAMPLE = 4096  # elements of a tensor, at most, that multiples of corners are fitted to
MOMENTS = {"SGD": {"momentum_buffer": "m"}, "Adam": {"exp_avg": "m", "exp_avg_sq": "v"}}
MOMENTS["AdamW"] = MOMENTS["Adam"]
FIRST = ("momentum_buffer", "exp_avg")


class State:
    """What gc has between two steps, in f64, by PyTorch's names."""

    def __init__(self, file, example, optimizer):
        tensors = load_file(file)
        kind = type(optimizer).__name__
        self.net = {k: tensors[example.prefix + k].double() for k in example.net.state_dict()}
        self.steps = int(tensors.get("step", 0))
        self.moments = {}
        for k, p in example.net.named_parameters():
            names = {name: f"{kind.lower()}.{m}.{example.prefix}{k}" for name, m in MOMENTS[kind].items()}
            self.moments[k] = {name: tensors[m].double() if self.steps else torch.zeros(p.shape, dtype=torch.float64)
                               for name, m in names.items()}


def gradient_used(optimizer, name, before, after):
    """The gradient by which gc's first moment went from one state to the next."""
    o, old, new = optimizer.defaults, before.moments[name], after.moments[name]
    if isinstance(optimizer, torch.optim.SGD):
        return new["momentum_buffer"] - o["momentum"] * old["momentum_buffer"] - o["weight_decay"] * before.net[name]
    return (new["exp_avg"] - o["betas"][0] * old["exp_avg"]) / share(optimizer)


def share(optimizer):
    """What of a gradient goes into the first moment."""
    return 1 if isinstance(optimizer, torch.optim.SGD) else 1 - optimizer.defaults["betas"][0]


def away(a, b):
    """The largest difference over the largest element."""
    return ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item()


def clipped(gradients, most):
    if not most:
        return gradients
    norm = torch.sqrt(sum((g**2).sum() for g in gradients))
    return [g * torch.clamp(most / norm, max=1) for g in gradients]


class Corners:
    """The gradients by params of numbers near their corners, the nearest first, over the scale of each tensor."""

    def __init__(self, params, scales):
        self.params, self.scales = params, scales
        self.numbers = [n for _, n in sorted(corners.found, key=lambda pair: pair[0])]
        self.columns = []  # of as many as were needed so far: a sample of each

    def direction(self, number):
        found = grad(number, self.params, retain_graph=True, allow_unused=True)
        return [torch.zeros_like(p) if g is None else g / s for g, p, s in zip(found, self.params, self.scales)]

    @staticmethod
    def sample(tensors):
        return torch.cat([t.flatten()[:: t.numel() // SAMPLE + 1] for t in tensors])

    def taken_away(self, differences):
        """What remains of the differences without the best multiples of as few corners as do, and how many that are."""
        wanted, n, times = self.sample(differences), 0, []
        rest = wanted
        while rest.abs().max() > LIMIT / 4 and n < len(self.numbers):
            if n == len(self.columns):
                self.columns.append(self.sample(self.direction(self.numbers[n])))
            n += 1
            columns = torch.stack(self.columns[:n], 1)
            size = columns.norm(dim=0).clamp(min=1e-30)
            times = torch.linalg.lstsq(columns / size, wanted[:, None], driver="gelsd").solution[:, 0] / size
            rest = wanted - columns @ times
        used = [i for i in range(n) if (times[i] * self.columns[i]).abs().max() > LIMIT / 10]
        if len(used) > MOST:
            return differences, 0
        for i in used:
            differences = [d - times[i] * g for d, g in zip(differences, self.direction(self.numbers[i]))]
        return differences, len(used)


class Worst:
    """The largest of what is seen, and where; and how many steps met how many corners."""

    def __init__(self):
        self.gradient = self.f32_gradient = self.state = self.loss = (0.0, "")
        self.steps_at_corners = self.corners = 0

    def see(self, what, value, where):
        setattr(self, what, max(getattr(self, what), (value if value == value else float("inf"), where)))

    def good(self):
        return max(self.gradient, self.state, self.loss)[0] <= LIMIT


def torch_gradients(example, state, after, batch):
    """The gradients of PyTorch in f32."""
    net, found = example.net, {}
    net.float().load_state_dict(state.net)

    def learn(loss, part=""):
        params = {k: p for k, p in net.named_parameters() if k.startswith(part)}
        found.update(zip(params, clipped(grad(loss, list(params.values()), retain_graph=True), example.clip)))
        for k, p in params.items():
            p.data = after.net[k].float()

    example.run(learn, batch)
    return found


def compare_step(example, before, after, batch, loss, worst):
    """Follows one step from gc's state before it to the one after it."""
    f32 = torch_gradients(example, before, after, batch)
    net = example.net
    net.double().load_state_dict(before.net)
    optimizer = example.optimizer(net.parameters())
    corners.found = []
    met = 0

    def learn(loss, part=""):
        nonlocal met
        params = {k: p for k, p in net.named_parameters() if k.startswith(part)}
        true = clipped(grad(loss, list(params.values()), retain_graph=True), example.clip)
        used = {k: gradient_used(optimizer, k, before, after) for k in params}
        scales = [g.abs().max().clamp(min=1e-30) for g in true]
        near = Corners(list(params.values()), scales)
        for what, gradients in (("gradient", used), ("f32_gradient", f32)):
            rest = [(gradients[k] - g) / s for k, g, s in zip(params, true, scales)]
            if max(d.abs().max() for d in rest) > LIMIT:
                rest, n = near.taken_away(rest)
                met += n if what == "gradient" else 0
            if what == "gradient":
                apart = {k: d * s for k, d, s in zip(params, rest, scales)}
            for k, d in zip(params, rest):
                worst.see(what, d.abs().max().item(), f"`{k}`")
        optimizer.zero_grad()
        for k, p in params.items():
            p.grad = used[k]
            if before.steps:
                step = {} if isinstance(optimizer, torch.optim.SGD) else {"step": torch.tensor(float(before.steps))}
                optimizer.state[p] = {**step, **{name: m.clone() for name, m in before.moments[k].items()}}
        optimizer.step()
        for k, p in params.items():
            worst.see("state", away(p.data, after.net[k]), f"`{k}`")
            for name, m in after.moments[k].items():
                made = optimizer.state[p][name]
                if name in FIRST:
                    made = made - share(optimizer) * apart[k]
                worst.see("state", away(made, m), f"`{name} {k}`")
            p.data = after.net[k].clone()

    exact = example.run(learn, batch).item()
    corners.found = None
    worst.steps_at_corners += met > 0
    worst.corners += met
    worst.see("loss", abs(loss - exact) / abs(exact), "")
    for k, b in net.named_buffers():
        worst.see("state", away(b, after.net[k]), f"`{k}`")
