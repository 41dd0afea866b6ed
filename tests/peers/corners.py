"""Functions whose slope jumps, for nets.py, and a record of where rounding decides on which side of the jump one is.

While `found` is a list, each function puts into it how far a number is from its corner where that is next to nothing:
the input of a relu, the difference of the two largest pixels of a window. A pair each: the distance in standard deviations,
and the same number with its graph. steps.py reads them.
"""
import math

from torch.nn import functional as F

found = None
NEAR = 1e-5  # of the standard deviation


def corner(distance, x):
    if found is not None:
        away = distance.detach().abs() / x.detach().std()
        near = (away < NEAR) & (away > 0)
        found.extend(zip(away[near].tolist(), distance[near].unbind()))


def relu(x):
    corner(x, x)
    return F.relu(x, inplace=True)  # nobody reads x again: PyTorch's own nets do the same


def leaky_relu(x, slope):
    corner(x, x)
    return F.leaky_relu(x, slope)


def max_pool(x, window, stride=None, pad=0, ceil=False):
    stride = stride or window
    if found is not None:
        more = [-(n + 2 * pad - window) % stride if ceil else 0 for n in x.shape[2:]]
        wide = F.pad(x, (pad, pad + more[1], pad, pad + more[0]), value=-math.inf)
        most = wide.unfold(2, window, stride).unfold(3, window, stride).flatten(4).topk(2).values
        corner(most[..., 0] - most[..., 1], x)
    return F.max_pool2d(x, window, stride, pad, ceil_mode=ceil)
