"""The script of docs/from-pytorch.md: a module of PyTorch is trained by gc, and its weights return.

    bridge.py BUILD

Runs the script as it stands there. The losses of its steps, the weights and the outputs must be those of PyTorch's AdamW within
1e-4 of the largest. Exit code 1: one differs.
"""
import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]


def apart(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def main():
    os.environ["PATH"] = f"{Path(sys.argv[1]).resolve() / 'bin'}:{os.environ['PATH']}"
    script = re.search(r"bridge\.py runs it -->\n```python\n(.*?)```", (ROOT / "docs/from-pytorch.md").read_text(), re.DOTALL)[1]
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        sys.path.insert(0, work)
        Path("script.py").write_text(script)
        it = runpy.run_path("script.py")
        os.chdir("/")
    torch.manual_seed(0)
    net, x, target = it["Net"]().eval(), it["x"], it["target"]
    step, losses = torch.optim.AdamW(net.parameters(), 1e-2), []
    for i in [*range(0, len(x), 32)] * (len(it["losses"]) * 32 // len(x)):
        loss = torch.nn.functional.cross_entropy(net(x[i:i + 32]), target[i:i + 32])
        losses.append(loss.item())
        step.zero_grad()
        loss.backward()
        step.step()
    found = {"losses": apart(it["losses"], losses), "outputs": apart(it["y"], net(x[:len(it["y"])]).detach())}
    found |= {name: apart(it["net"].state_dict()[name], w) for name, w in net.state_dict().items()}
    print("".join(f"{name:12} {value:9.1e}\n" for name, value in found.items()), end="")
    sys.exit(max(found.values()) > 1e-4)


main()
