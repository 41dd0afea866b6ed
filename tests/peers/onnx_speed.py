"""Models of torchvision and transformers at their published sizes, with random weights, in gc and in ONNX Runtime.

    onnx_speed.py BUILD WORK [NAME…] [--seconds S] [--threads N…]      default: all models; 4 seconds for one thread and two

PyTorch exports each model to WORK/NAME/model.onnx, if it is not there. gc compiles it into an executable and a library. One
process runs the library and ONNX Runtime in turn on one input. A table says for each model: the largest difference of an output, as a
share of the largest output; milliseconds of a run, on one thread by the least CPU time of the process, on more by the clock;
peak memory of gc's whole process, and of ONNX Runtime's beyond what Python and its packages take; seconds to compile.
The batch is 1 unless the name says 8. The detector ends at its heads: boxes that are chosen by scores have shapes that depend
on data. Exit code 1: a difference is above 1e-4, or a model fails.
"""
import argparse
import importlib.util
import math
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

TEXT, WRITTEN = 128, 32  # tokens that a language model, or an encoder, reads, and those that a decoder has written


# ---- models: functions that return a module and the inputs of one run ----

def images(name, batch=1):
    def make():
        import torch
        import torchvision.models as vision
        return getattr(vision, name)(weights=None), (torch.randn(batch, 3, 224, 224),)
    return make


def detector():
    import torch
    import torchvision.models as vision
    from onnx_models import Heads
    return Heads(vision.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)), (torch.randn(1, 3, 320, 320),)


def text(name, config, batch=1):
    def make():
        import torch
        import transformers
        from onnx_models import Logits
        settings = getattr(transformers, config)(use_cache=False)
        return Logits(getattr(transformers, name)(settings)), (torch.randint(0, 30000, (batch, TEXT)),)
    return make


def t5():
    import torch
    import transformers
    from onnx_models import Pair
    config = transformers.T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, attn_implementation="eager")
    return Pair(transformers.T5ForConditionalGeneration(config)), (torch.randint(0, 32000, (1, TEXT)), torch.randint(0, 32000, (1, WRITTEN)))


def whisper():
    import torch
    import transformers
    from onnx_models import Pair
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
                                        encoder_ffn_dim=1536, decoder_ffn_dim=1536)  # the defaults have 80 bands, 1,500 places, 51,865 tokens
    return Pair(transformers.WhisperForConditionalGeneration(config)), (torch.randn(1, 80, 3000), torch.randint(0, 50000, (1, WRITTEN)))


MODELS = {
    "ResNet-18": images("resnet18"),
    "ResNet-50": images("resnet50"),
    "ResNet-50, batch 8": images("resnet50", 8),
    "MobileNetV3-L": images("mobilenet_v3_large"),
    "EfficientNet-B0": images("efficientnet_b0"),
    "ConvNeXt-T": images("convnext_tiny"),
    "ViT-B/16": images("vit_b_16"),
    "Swin-T": images("swin_t"),
    "SSDlite320": detector,
    "BERT base": text("BertModel", "BertConfig"),
    "BERT base, batch 8": text("BertModel", "BertConfig", 8),
    "GPT-2 124M": text("GPT2LMHeadModel", "GPT2Config"),
    "T5-small": t5,
    "Whisper-tiny": whisper,
}


def export(name, home):
    """In a process of its own, so that PyTorch's memory is gone when times are taken."""
    import torch
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.eval()
    with torch.no_grad():  # equal parameters would become one in the export
        for p in model.parameters():
            p.add_(0.02 * torch.randn_like(p))
    names = ["x", "ids"][:len(inputs)]
    torch.onnx.export(model, inputs, str(home / "model.onnx"), input_names=names, dynamo=True, verbose=False)
    for key, value in reversed([*zip(names, inputs)]):  # x is the last file
        np.save(home / f"{key}.npy", value.numpy())


# ---- one model ----

def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-200:]}")
    return done


def session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def resident(which):
    """KiB; not getrusage's, where a process begins with the most that its parent took."""
    return int(re.search(rf"{which}:\s*(\d+)", Path("/proc/self/status").read_text())[1])


def inputs_of(home, path):
    import onnxruntime  # noqa: F401  (its memory is not the model's)
    return {name: np.load(home / f"{name}.npy") for name in ("x", "ids") if (home / f"{name}.npy").exists()}


def peak(home):
    """Prints KiB that ONNX Runtime takes for a session and two runs on one thread."""
    given = inputs_of(home, home / "model.onnx")
    before = resident("VmRSS")
    model = session(home / "model.onnx", 1)
    for _ in range(2):
        model.run(None, given)
    print(resident("VmHWM") - before)


def in_turn(ours, theirs, seconds, clock):
    """The least time of each in milliseconds. Runs alternate; each turn begins with a run that is not counted."""
    least, end = [math.inf, math.inf], time.monotonic() + seconds
    while time.monotonic() < end or math.inf in least:
        for i, call in enumerate((ours, theirs)):
            call()
            for _ in range(3):
                start = clock()
                call()
                least[i] = min(least[i], 1e3 * (clock() - start))
            time.sleep(0.02)  # threads of a pool that spin for their next task do not take the other's time
    return least


def one(gc, home, name, args, exporter):
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "x.npy").exists():
        run(*exporter, name, "--export")
    started = time.monotonic()
    run(gc, home / "model.onnx", "-O2", "-o", home / "model")
    took = time.monotonic() - started
    run(gc, home / "model.onnx", "-O2", "--emit=python", "-o", home / "net.py")
    spec = importlib.util.spec_from_file_location("net", home / "net.py")
    net = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(net)

    given = inputs_of(home, home / "model.onnx")
    times, apart = [], 0.0
    for threads in args.threads:
        clock = time.process_time if threads == 1 else time.perf_counter
        theirs = session(home / "model.onnx", threads)
        with net.Model(threads=threads) as ours:
            got, wanted = ours.predict(**given), theirs.run(None, given)
            for g, w in zip(got, wanted, strict=True):
                apart = max(apart, float(np.abs(g - w).max() / np.abs(w).max()))
            times.append(in_turn(lambda: ours.predict(**given), lambda: theirs.run(None, given), args.seconds, clock))
        del theirs
    arguments = [a for key in given for a in (f"--{key}", home / f"{key}.npy")]
    ours = int(run("/usr/bin/time", "--format=%M", home / "model", "predict", *arguments, "--threads", 1, "--quiet").stderr.split()[-1])
    theirs = int(run(*exporter, name, "--peak").stdout)
    ratios = [b / a for a, b in times]
    cells = " | ".join(f"{a:.2f} | {b:.2f} | {b / a:.2f}" for a, b in times)
    print(f"| {name} | {apart:.1e} | {cells} | {ours / 1024:.0f} | {theirs / 1024:.0f} | {took:.0f} |", flush=True)
    return apart, *ratios, theirs / ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--peak", action="store_true")
    args = parser.parse_intermixed_args()
    build, work = args.build.resolve(), args.work.resolve()
    homes = {name: work / re.sub(r"\W+", "_", name) for name in args.names or MODELS}
    if args.export or args.peak:
        for name, home in homes.items():
            export(name, home) if args.export else peak(home)
        return
    exporter = sys.executable, __file__, build, work
    print("| model | outputs | " + "".join(f"gc, threads: {n} | ONNX Runtime | ratio | " for n in args.threads) +
          "gc, MB | ONNX Runtime, MB | compiled in s |\n|" + "---|" * (5 + 3 * len(args.threads)), flush=True)
    results, good = [], True
    for name, home in homes.items():
        try:
            results.append(one(build / "bin/gc", home, name, args, exporter))
            good = good and results[-1][0] <= 1e-4
        except Exception as e:  # the others are still worth a look
            print(f"| {name} | FAILED: {type(e).__name__}: {str(e)[-500:]} |", flush=True)
            good = False
    for i, what in enumerate([f"threads: {n}" for n in args.threads] + ["memory"], 1):
        if results:
            mean = math.exp(sum(math.log(r[i]) for r in results) / len(results))
            print(f"{what}: ONNX Runtime's over gc's, geometric mean {mean:.3f}, least {min(r[i] for r in results):.2f}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
