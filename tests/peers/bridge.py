"""The scripts of docs/from-pytorch.md: a module of PyTorch is trained by gc, and its weights return, also those of a module
whose exporter writes equal parameters once; and the losses of one that ties a matrix which the exporter unties.

    bridge.py BUILD

Runs the script as it stands there. The losses of its steps, the weights and the outputs must be those of PyTorch's AdamW within
1e-4 of the largest. Exit code 1: one differs.
"""
import copy
import importlib
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]


def apart(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


class Layers(torch.nn.Module):
    """Norms of equal weights, which are to be apart, and a layer that is a copy of another, which the file has once."""

    def __init__(self):
        super().__init__()
        self.fc1, self.one, self.two = torch.nn.Linear(16, 16), torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)
        self.fc2 = copy.deepcopy(self.fc1)

    def forward(self, x):
        return self.two(self.fc2(torch.relu(self.one(self.fc1(x)))))


def copied(text):
    """How far the outputs of such a module with the weights that return are from gc's; the norms that are still equal count as 1."""
    scope = {"torch": torch, "load_file": importlib.import_module("safetensors.torch").load_file}
    exec(text, scope)
    torch.manual_seed(1)
    net, x = Layers().eval(), torch.randn(8, 16)
    torch.onnx.export(net, (x,), "layers.onnx", dynamo=True, verbose=False, input_names=["x"], output_names=["y"])
    subprocess.run(["gc", "layers.onnx", "--train-onnx=mse,adamw(lr)", "--emit=python", "-o", "layers.py"], check=True)
    with importlib.import_module("layers").Model() as model:
        model.lr = 1e-2
        for _ in range(20):
            model.train(x, x.flip(0).contiguous())
        model.save("layers.safetensors")
        y = model.predict(x).y
    net.load_state_dict(scope["trained_state"](net, "layers.safetensors"))
    return 1.0 if torch.equal(net.one.weight, net.two.weight) else apart(y, net(x).detach())


class Tied(torch.nn.Module):
    """A table of embeddings that is also the last layer's matrix, which the exporter writes transposed."""

    def __init__(self):
        super().__init__()
        self.embed, self.fc, self.head = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 16), torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.fc(self.embed(ids))))


def tied():
    """How far the losses of 20 steps are from PyTorch's."""
    torch.manual_seed(2)
    net, ids, losses, own = Tied().eval(), torch.randint(0, 50, (4, 6)), [], []
    torch.onnx.export(net, (ids,), "tied.onnx", dynamo=True, verbose=False, input_names=["ids"], output_names=["y"])
    subprocess.run(["gc", "tied.onnx", "--train-onnx=xent,adamw(lr)", "--emit=python", "-o", "tied.py"], check=True)
    step, target = torch.optim.AdamW(net.parameters(), 1e-2), ids.roll(1, 1).contiguous()
    with importlib.import_module("tied").Model() as model:
        model.lr = 1e-2
        for _ in range(20):
            losses.append(float(model.train(ids, target.int()).loss))
            loss = torch.nn.functional.cross_entropy(net(ids).flatten(0, 1), target.flatten())
            own.append(loss.item())
            step.zero_grad()
            loss.backward()
            step.step()
    return apart(losses, own)


def main():
    os.environ["PATH"] = f"{Path(sys.argv[1]).resolve() / 'bin'}:{os.environ['PATH']}"
    script, state = re.findall(r"bridge\.py runs it(?:, too)? -->\n```python\n(.*?)```", (ROOT / "docs/from-pytorch.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        sys.path.insert(0, work)
        Path("script.py").write_text(script)
        it = runpy.run_path("script.py")
        layers, table = copied(state), tied()
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
    found["copied"], found["tied"] = layers, table
    print("".join(f"{name:12} {value:9.1e}\n" for name, value in found.items()), end="")
    sys.exit(max(found.values()) > 1e-4)


main()
