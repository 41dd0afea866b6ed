"""Models of torchvision and transformers, with random weights, through ONNX into gc.

    onnx_models.py BUILD [NAME…]         default: all

PyTorch exports each model. gc compiles it, and the outputs are compared with those of ONNX Runtime. Models whose export
keeps their parameters apart are trained for 20 steps by gc and by PyTorch, and the losses compared. A table says for each
model the largest difference of an output, as a share of the largest output, and of a loss; milliseconds of a run on one
thread, and ONNX Runtime's. Exit code 1: a difference is above 1e-4, or a model is not imported.
"""
import csv
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import torchvision.models as vision

STEPS, CLASSES = 20, 16
RATE = 1e-3  # at 1e-2 rounding grows: the losses of Swin-T were 1.3e-4 apart


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


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = torch.nn.LSTM(8, 16, 2, batch_first=True), torch.nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.out(self.layer(x)[0][:, -1])


def images(make, size=64, **options):
    return lambda: (make(weights=None, **options), torch.randn(2, 3, size, size))


def transformer(name, **options):
    def make():
        import transformers
        config = getattr(transformers, name + "Config")(vocab_size=200, attn_implementation="eager", **options)
        return Logits(getattr(transformers, name + ("LMHeadModel" if name == "GPT2" else "Model"))(config)), torch.randint(0, 200, (2, 12))
    return make


def t5():
    import transformers
    config = transformers.T5Config(vocab_size=200, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, attn_implementation="eager")
    return Pair(transformers.T5ForConditionalGeneration(config)), (torch.randint(0, 200, (2, 12)), torch.randint(0, 200, (2, 7)))


def whisper():
    import transformers
    config = transformers.WhisperConfig(vocab_size=200, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                        encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100, max_target_positions=32, pad_token_id=0,
                                        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, attn_implementation="eager")
    return Pair(transformers.WhisperForConditionalGeneration(config)), (torch.randn(2, 80, 200), torch.randint(0, 200, (2, 7)))


def vit():
    return vision.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=CLASSES), torch.randn(2, 3, 64, 64)


MODELS = {  # the model, and whether its export keeps what is trained
    "ResNet-18": (images(vision.resnet18), False),
    "ResNet-50": (images(vision.resnet50), False),
    "MobileNetV3": (images(vision.mobilenet_v3_large), False),
    "EfficientNet-B0": (images(vision.efficientnet_b0), False),
    "DenseNet-121": (images(vision.densenet121), False),
    "ConvNeXt-T": (images(vision.convnext_tiny, num_classes=CLASSES), True),
    "ViT, 2 layers": (vit, True),
    "Swin-T": (images(vision.swin_t, num_classes=CLASSES), True),
    "LSTM": (lambda: (Tagger(), torch.randn(2, 5, 8)), True),
    "BERT, 2 layers": (transformer("Bert", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128), False),
    "T5, 2 + 2 layers": (t5, False),
    "Whisper, 2 + 2 layers": (whisper, False),
    "GPT-2, 2 layers": (transformer("GPT2", n_embd=64, n_layer=2, n_head=4, n_positions=32, use_cache=False), False),
}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-200:]}")
    return done.stdout


def export(model, inputs, path, language):
    """Language models by PyTorch's newer exporter, since the older one lacks some of their functions."""
    options = {"dynamo": True, "verbose": False} if language else {"dynamo": False, "opset_version": 17, "do_constant_folding": False}
    torch.onnx.export(model, inputs, str(path), input_names=["x", "ids"][:len(inputs)], output_names=["y"], **options)


def milliseconds(runs, count=20):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        runs()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def train(gc, work, model, x):
    """The largest difference of a loss of the 20 steps, as a share of the loss."""
    shape = ", ".join(map(str, x.shape))
    label = torch.arange(len(x)) % CLASSES
    np.save(work / "label.npy", label.numpy().astype(np.int32))
    (work / "tune.g").write_text(f'use "model.g"\nentry train(x : f32[{shape}], label : i32[{len(x)}]) {{\n'
                                 f"  loss = mean(xent(net(x), label))\n  minimize loss with sgd({RATE})\n  return loss\n}}\n")
    run(gc, work / "tune.g", f"--weights={work / 'model.safetensors'}", "-o", work / "tune")
    run(work / "tune", "train", "--x", work / "x.npy", "--label", work / "label.npy", "--steps", STEPS, "--no-shuffle",
        "--log", work / "log.csv", "--quiet", "--save", work / "tuned.safetensors")
    with open(work / "log.csv") as f:
        got = [float(row["loss"]) for row in csv.DictReader(f)]
    step, wanted = torch.optim.SGD(model.parameters(), RATE), []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(x), label)
        wanted.append(loss.item())
        step.zero_grad()
        loss.backward()
        step.step()
    return max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(got, wanted, strict=True))


def one(gc, work, name):
    make, trains = MODELS[name]
    torch.manual_seed(0)
    model, x = make()
    inputs = x if isinstance(x, tuple) else (x,)
    model.eval()
    with torch.no_grad():  # equal parameters would become one in the export
        for p in model.parameters():
            p.add_(0.02 * torch.randn_like(p))
    for file in work.iterdir():
        file.unlink()
    export(model, inputs, work / "model.onnx", isinstance(model, (Logits, Pair)))
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
    run(work / "model", "predict", *arguments, f"--{output}", work / "y.npy", "--quiet")
    got = np.load(work / "y.npy")
    apart = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    bench = run(work / "model", "predict", *arguments, "--threads", 1, "--bench", 20)
    ours = float(re.search(r"least ([0-9.]+) us", bench)[1]) / 1e3
    loss = train(gc, work, model, x) if trains else None
    print(f"| {name} | {apart:.1e} | {'' if loss is None else f'{loss:.1e}'} | {ours:.2f} "
          f"| {milliseconds(lambda: session.run(None, given)):.2f} |", flush=True)
    return apart <= 1e-4 and (loss is None or loss <= 1e-4)


def main():
    warnings.simplefilter("ignore")
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or MODELS
    work = build / "peers-work" / "models"
    work.mkdir(parents=True, exist_ok=True)
    print("| model | outputs | losses | ms | ONNX Runtime |\n|---|---|---|---|---|")
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
