"""Models of torchvision and transformers, with random weights, through ONNX into gc.

    onnx_models.py BUILD [NAME…]         default: all

PyTorch exports each model. gc compiles it, and the outputs are compared with those of ONNX Runtime. Then the model is
exported with all its parameters, none folded into another, and trained for 20 steps by gc and by PyTorch, from the same
weights on the same batch. Batch norms use their running statistics, which stay; ResNet-18 is also trained with those of the batch.
A table says for each model the largest difference of an output, as a share of the largest output; the largest difference of
a loss, as a share of the loss, the number of trained elements, the rate, and the first and the last loss; milliseconds of a run on
one thread, and ONNX Runtime's. Exit code 1: a difference is above 1e-4, a model is not imported, gc trains other elements
than PyTorch, or a loss does not fall.
"""
import copy
import csv
import math
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import onnxscript.optimizer
import torch
import torchvision.models as vision

STEPS, CLASSES, BATCH = 20, 16, 4
SHARE = 0.01  # of the loss that the first step takes off, by the gradient; with rates far above, rounding grows from step to step


class Logits(torch.nn.Module):
    """A language model, or an encoder, as a function of ids to its first output."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, return_dict=True)[0]


class Pair(torch.nn.Module):
    """An encoder and a decoder as a function of what each reads to the logits."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, ids):
        return self.model(x, decoder_input_ids=ids, use_cache=False, return_dict=True)[0]


class Heads(torch.nn.Module):
    """A detector up to the scores and boxes of all places: the choice among them has a shape that depends on data."""

    def __init__(self, model):
        super().__init__()
        self.backbone, self.head = model.backbone, model.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return found["cls_logits"], found["bbox_regression"]


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = torch.nn.LSTM(8, 16, 2, batch_first=True), torch.nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.out(self.layer(x)[0][:, -1])


def images(make, size=64):
    return lambda: (make(weights=None, num_classes=CLASSES), torch.randn(BATCH, 3, size, size))


def detector():
    model = vision.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=CLASSES)
    return Heads(model), torch.randn(BATCH, 3, 64, 64)


def words(length):
    return torch.randint(0, 200, (BATCH, length))


def transformer(name, head, **options):
    def make():
        import transformers
        config = getattr(transformers, name + "Config")(vocab_size=200, attn_implementation="eager", **options)
        return Logits(getattr(transformers, name + head)(config)), words(12)
    return make


def t5():
    import transformers
    config = transformers.T5Config(vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, attn_implementation="eager")
    return Pair(transformers.T5ForConditionalGeneration(config)), (words(12), words(7))


def whisper():
    import transformers
    config = transformers.WhisperConfig(vocab_size=200, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                        encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100, max_target_positions=32, pad_token_id=0,
                                        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, attn_implementation="eager")
    return Pair(transformers.WhisperForConditionalGeneration(config)), (torch.randn(BATCH, 80, 200), words(7))


def vit():
    return vision.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=CLASSES), torch.randn(BATCH, 3, 64, 64)


MODELS = {
    "ResNet-18": images(vision.resnet18),
    "ResNet-50": images(vision.resnet50),
    "MobileNetV3-L": images(vision.mobilenet_v3_large),
    "EfficientNet-B0": images(vision.efficientnet_b0),
    "DenseNet-121": images(vision.densenet121),
    "SSDlite": detector,
    "ConvNeXt-T": images(vision.convnext_tiny),
    "ViT, 2 layers": vit,
    "Swin-T": images(vision.swin_t),
    "LSTM": lambda: (Tagger(), torch.randn(BATCH, 5, 8)),
    "BERT, 2 layers": transformer("Bert", "ForMaskedLM", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128),
    "GPT-2, 2 layers": transformer("GPT2", "LMHeadModel", n_embd=64, n_layer=2, n_head=4, n_positions=32, use_cache=False),
    "T5, 2 + 2 layers": t5,
    "Whisper, 2 + 2 layers": whisper,
}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-200:]}")
    return done.stdout


def export(model, inputs, path, train=False):
    """Language models by PyTorch's newer exporter, since the older one lacks some of their functions. To train, no parameter is folded."""
    names = {"input_names": ["x", "ids"][:len(inputs)], "output_names": ["y", "z"][:1 + isinstance(model, Heads)]}
    if not isinstance(model, (Logits, Pair)):
        if train:  # otherwise batch norms become part of convolutions, and use running statistics
            names["training"] = torch.onnx.TrainingMode.PRESERVE
        torch.onnx.export(model, inputs, str(path), dynamo=False, opset_version=17, do_constant_folding=False, **names)
        return
    program = torch.onnx.export(model, inputs, dynamo=True, verbose=False, optimize=not train, **names)
    if train:  # the exporter's own optimization transposes weights and takes rows of positions
        parameters = dict(model.named_parameters(remove_duplicate=False))

        def fold(node):
            return False if any(v is not None and v.name in parameters for v in node.inputs) else None

        onnxscript.optimizer.optimize_ir(program.model, should_fold=fold)
    program.save(str(path))


def norms(model):
    return [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]


def disturb(model):
    """Equal parameters would become one in the export, and running statistics of 0 and 1 would hide that they are used."""
    with torch.no_grad():
        for p in model.parameters():
            p.requires_grad_(True).add_(0.02 * torch.randn_like(p))
        for m in norms(model):
            m.running_mean.add_(0.02 * torch.randn_like(m.running_mean))
            m.running_var.mul_(torch.exp(0.02 * torch.randn_like(m.running_var)))


def milliseconds(runs, count=20):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        runs()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def train(gc, work, model, inputs):
    """The largest difference of a loss of the 20 steps, as a share of the loss; the number of trained elements, the rate, the first and last loss."""
    names = ["x", "ids"][:len(inputs)]
    export(model, inputs, work / "kept.onnx", train=True)
    with torch.no_grad():
        y = model(*inputs)
    y, *boxes = y if isinstance(model, Heads) else (y,)
    label, place = torch.randint(0, y.shape[-1], y.shape[:-1]), [torch.randn(b.shape) for b in boxes]
    given = {**dict(zip(names, inputs)), "label": label.int(), **{"place": b for b in place}}
    types = {torch.float32: "f32", torch.int32: "i32", torch.int64: "i64"}
    entry = ", ".join(f"{name} : {types[v.dtype]}[{', '.join(map(str, v.shape))}]" for name, v in given.items())
    call = f"net({', '.join(names)})"
    body = f"  y, z = {call}\n  loss = mean(xent(y, label)) + huber(z, place)\n" if place else f"  loss = mean(xent({call}, label))\n"
    def loss_of():
        found = model(*inputs)
        found = found if place else (found,)
        loss = torch.nn.functional.cross_entropy(found[0].flatten(0, -2), label.flatten())
        return loss + sum(torch.nn.functional.huber_loss(b, p) for b, p in zip(found[1:], place, strict=True))

    parameters, loss = list(model.parameters()), loss_of()
    rate = SHARE * loss.item() / sum(float(g.double().square().sum()) for g in torch.autograd.grad(loss, parameters))
    (work / "tune.g").write_text(f'use "kept.onnx" as net\nentry train({entry}) {{\n{body}  minimize loss with sgd({rate:.3e})\n  return loss\n}}\n')
    run(gc, work / "tune.g", "-o", work / "tune")
    params = re.findall(r"param +net\.(\S+) +f32\[([0-9, ]+)\]", run(work / "tune", "info", "train"))
    trained = sum(math.prod(map(int, dims.split(","))) for _, dims in params)
    if trained != sum(p.numel() for p in parameters):
        raise RuntimeError(f"gc trains {trained} elements, PyTorch {sum(p.numel() for p in parameters)}")
    arguments = []
    for name, value in given.items():
        np.save(work / f"{name}.npy", value.numpy())
        arguments += [f"--{name}", work / f"{name}.npy"]
    run(work / "tune", "train", *arguments, "--steps", STEPS, "--no-shuffle", "--log", work / "log.csv", "--quiet")
    with open(work / "log.csv") as f:
        got = [float(row["loss"]) for row in csv.DictReader(f)]
    step, wanted = torch.optim.SGD(parameters, float(f"{rate:.3e}")), []
    for _ in range(STEPS):
        loss = loss_of()
        wanted.append(loss.item())
        step.zero_grad()
        loss.backward()
        step.step()
    return max(abs(a - b) / abs(b) for a, b in zip(got, wanted, strict=True)), trained, rate, wanted[0], wanted[-1]


def outputs(gc, work, model, inputs):
    """The largest difference of an output, as a share of the largest; milliseconds of gc and of ONNX Runtime."""
    export(model, inputs, work / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(work / "model.onnx"), options)
    given, arguments = {}, []
    for place, value in zip(session.get_inputs(), inputs, strict=True):
        given[place.name] = value.numpy()
        np.save(work / f"{place.name}.npy", value.numpy())
        arguments += [f"--{place.name}", work / f"{place.name}.npy"]
    wanted = session.run(None, given)[0]
    run(gc, work / "model.onnx", "--emit=g", "-o", work / "model.g")
    run(gc, work / "model.onnx", "-o", work / "model")
    output = re.search(r"return (\w+)", (work / "model.g").read_text().split("entry predict")[1])[1]
    run(work / "model", "predict", *arguments, f"--{output}", work / "found.npy", "--quiet")
    got = np.load(work / "found.npy")
    bench = run(work / "model", "predict", *arguments, "--threads", 1, "--bench", 20)
    ours = float(re.search(r"least ([0-9.]+) us", bench)[1]) / 1e3
    return float(np.abs(got - wanted).max() / np.abs(wanted).max()), ours, milliseconds(lambda: session.run(None, given))


def one(gc, work, name):
    torch.manual_seed(0)
    model, x = MODELS[name]()
    inputs = x if isinstance(x, tuple) else (x,)
    model.eval()
    disturb(model)
    for file in work.iterdir():
        file.unlink()
    apart, ours, theirs = outputs(gc, work, model, inputs)
    good, cells = apart <= 1e-4, f"{apart:.1e} | {ours:.2f} | {theirs:.2f}"
    again = copy.deepcopy(model) if name == "ResNet-18" else None  # one net is enough: others have the same operator
    for title, net in ((name, model), (f"{name}, statistics of the batch", again)):
        if not net:
            continue
        if net is again:
            for m in norms(net):
                m.train()
            cells = " | | "
        loss, elements, rate, first, last = train(gc, work, net, inputs)
        print(f"| {title} | {cells} | {elements:,} | {rate:.0e} | {first:.4f} | {last:.4f} | {loss:.1e} |", flush=True)
        good = good and loss <= 1e-4 and last < first
    return good


def main():
    warnings.simplefilter("ignore")
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or MODELS
    work = build / "peers-work" / "models"
    work.mkdir(parents=True, exist_ok=True)
    print("| model | outputs | ms | ONNX Runtime | trained | rate | first loss | last loss | losses |\n|---|---|---|---|---|---|---|---|---|")
    good = True
    for name in names:
        try:
            good = one(build / "bin/gc", work, name) and good
        except Exception as e:  # the others are still worth a look
            print(f"| {name} | FAILED: {type(e).__name__}: {str(e)[-500:]} |", flush=True)
            good = False
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
