"""Decoders of transformers with random weights, whose keys and values are inputs and outputs, through ONNX into gc.

    onnx_decoders.py BUILD [NAME…]         default: all
    onnx_decoders.py BUILD --speed         one token of a larger decoder, at three lengths of the cache

PyTorch exports a decoder that takes one token and a cache of any length up to a bound. gc compiles it into a Python
module, and it writes text by the likeliest token beside ONNX Runtime, each with its own cache. A table says how many
tokens are equal, and the largest difference of an output of all steps, as a share of the output's largest element. Exit
code 1: a token differs, or a difference is above 1e-4. Times are the least CPU time of the process in milliseconds, of runs in
turn on one thread.
"""
import importlib.util
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers

BOUND, WORDS, LAYERS, SIZE = 60, 200, 2, 16  # tokens of a cache, of the vocabulary; layers; elements of a head


def gpt2(**options):
    config = transformers.GPT2Config(vocab_size=WORDS, n_embd=64, n_layer=LAYERS, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=0, **options)
    return transformers.GPT2LMHeadModel(config), 4


def llama(**options):
    config = transformers.LlamaConfig(vocab_size=WORDS, hidden_size=64, intermediate_size=128, num_hidden_layers=LAYERS, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, **options)
    return transformers.LlamaForCausalLM(config), 2


DECODERS = {  # the model, and whether a mask is an input
    "GPT-2": (lambda: gpt2(attn_implementation="eager"), False),
    "GPT-2 with a mask": (lambda: gpt2(attn_implementation="eager"), True),
    "LLaMA, grouped heads": (lambda: llama(attn_implementation="sdpa"), False),
    "LLaMA with a mask": (lambda: llama(attn_implementation="eager"), True),
}


class Step(torch.nn.Module):
    """One token behind those of the cache: its logits, and the keys and values of all."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, at, past):
        cache = transformers.DynamicCache()
        for l in range(len(past) // 2):
            cache.update(past[2 * l], past[2 * l + 1], l)
        out = self.model(input_ids=ids, attention_mask=mask, position_ids=at, past_key_values=cache, use_cache=True)
        return out.logits, *(x for layer in out.past_key_values.layers for x in (layer.keys, layer.values))


def caches(what, layers=LAYERS):
    return [f"{what}.{l}.{kind}" for l in range(layers) for kind in ("key", "value")]


def export(model, heads, masked, path, size=SIZE, bound=BOUND):
    layers = model.config.num_hidden_layers
    past = [torch.randn(1, heads, 5, size) for _ in range(2 * layers)]
    mask = torch.ones(1, 6, dtype=torch.long) if masked else None
    n = torch.export.Dim("past", min=1, max=bound)
    program = torch.onnx.export(Step(model), (torch.ones(1, 1, dtype=torch.long), mask, torch.full((1, 1), 5), past), dynamo=True, verbose=False,
                                dynamic_shapes=({}, {1: n + 1} if masked else None, {}, [{2: n}] * len(past)),
                                input_names=["ids", *(["mask"] if masked else []), "at", *caches("past", layers)], output_names=["logits", *caches("present", layers)])
    program.save(str(path))


def both(gc, work, name, bound=BOUND):
    """gc's module and ONNX Runtime's session, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(work / "decoder.onnx"), options)
    dim = next(d for i in session.get_inputs() for d in i.shape if isinstance(d, str) and d.isidentifier())  # "past", or PyTorch's own name for it
    source = work / (re.sub(r"\W+", "_", name) + ".py")  # a process loads a library of one name once
    subprocess.run([gc, work / "decoder.onnx", "-D", f"{dim}<={bound}", "-O2", "--emit=python", "-o", source], check=True)
    spec = importlib.util.spec_from_file_location("decoder", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, session


def names(given):
    return {re.sub(r"\W", "_", name): value for name, value in given.items()}


def speed(gc, work):
    layers, heads, size, bound = 4, 12, 64, 1024
    config = transformers.GPT2Config(vocab_size=5000, n_embd=heads * size, n_layer=layers, n_head=heads, n_positions=bound + 1, bos_token_id=0, eos_token_id=0,
                                     attn_implementation="eager")
    export(transformers.GPT2LMHeadModel(config).eval(), heads, True, work / "decoder.onnx", size, bound)
    module, session = both(gc, work, "speed", bound)
    print("| tokens in the cache | gc, ms | ONNX Runtime | ratio |\n|---|---|---|---|")
    with module.Model(threads=1) as ours:
        for t in (16, 256, bound - 1):
            given = {"ids": np.array([[5]]), "mask": np.ones((1, t + 1), np.int64), "at": np.array([[t]]),
                     **{name: np.random.randn(1, heads, t, size).astype(np.float32) for name in caches("past", layers)}}
            least = [np.inf, np.inf]
            for _ in range(20):
                for i, run in enumerate((lambda: ours.predict(**names(given)), lambda: session.run(None, given))):
                    run()
                    start = time.process_time()
                    run()
                    least[i] = min(least[i], 1e3 * (time.process_time() - start))
            print(f"| {t} | {least[0]:.1f} | {least[1]:.1f} | {least[1] / least[0]:.2f} |", flush=True)


def one(gc, work, name):
    torch.manual_seed(0)
    make, masked = DECODERS[name]
    model, heads = make()
    export(model.eval(), heads, masked, work / "decoder.onnx")
    module, session = both(gc, work, name)
    outputs = [o.name for o in session.get_outputs()]
    state = [{n: np.zeros((1, heads, 1, SIZE), np.float32) for n in caches("past")} for _ in range(2)]
    tokens, apart, equal = [5, 5], 0.0, 0
    with module.Model(threads=1) as ours:
        for t in range(1, BOUND + 1):
            mask = np.ones((1, t + 1), np.int64)
            mask[0, 0] = 0  # the first row of the cache, since an extent is at least 1
            found = []
            for which, run in enumerate((lambda x: ours.predict(**names(x)), lambda x: session.run(None, x))):
                given = {"ids": np.array([[tokens[which]]]), **({"mask": mask} if masked else {}), "at": np.array([[t - 1]]), **state[which]}
                found.append(dict(zip(outputs, run(given), strict=True)))
                state[which] = {n: found[which][n.replace("past", "present")] for n in state[which]}
                tokens[which] = int(found[which]["logits"].argmax())
            apart = max([apart, *(float(np.abs(found[0][n] - found[1][n]).max() / np.abs(found[1][n]).max()) for n in outputs)])
            equal += tokens[0] == tokens[1]
    print(f"| {name} | {equal} of {BOUND} | {apart:.1e} |", flush=True)
    return equal == BOUND and apart <= 1e-4


def main():
    warnings.simplefilter("ignore")
    build, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:] or DECODERS
    work = build / "peers-work" / "decoders"
    work.mkdir(parents=True, exist_ok=True)
    if chosen == ["--speed"]:
        speed(build / "bin/gc", work)
        return
    print("| decoder | equal tokens | outputs |\n|---|---|---|")
    sys.exit(0 if all([one(build / "bin/gc", work, name) for name in chosen]) else 1)


if __name__ == "__main__":
    main()
