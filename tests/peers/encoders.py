"""BERT and ViT of published form: docs/examples/bert.g and vit.g beside the package transformers.

    encoders.py BUILD

Small models with random weights are saved as transformers saves them. gc compiles the programs with --config and loads the
folders; outputs must be within 1e-4 of the largest one, also of padded texts, and so must be the losses of 20 steps that
train all weights. Exit code 1: one differs.
"""
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, ViTConfig, ViTForImageClassification

ROOT = Path(__file__).resolve().parents[2]
GC = Path(sys.argv[1]).resolve() / "bin/gc"
SIZE = dict(hidden_size=48, intermediate_size=100, num_hidden_layers=3, num_attention_heads=6, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, num_labels=5)
N, T, STEPS, RATE, LIMIT = 8, 24, 20, 1e-3, 1e-4
RANDOM = np.random.default_rng(1)


def make(kind, config, folder):
    torch.manual_seed(1)
    model = kind(config).eval()
    with torch.no_grad():  # those of a new model give nearly equal outputs
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    model.save_pretrained(folder)
    return model


def compiled(name, folder, *options):
    program = folder / name
    subprocess.run([GC, ROOT / f"docs/examples/{name}.g", f"--config={folder}/config.json", "-D", "num_labels=5", "-D", f"N={N}", *options, "-o", program],
                   check=True)
    return program


def run(folder, program, *arguments):
    subprocess.run([program, *arguments, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def report(name, got, want):
    apart = np.abs(got - want).max() / np.abs(want).max()
    print(f"{name:24} {apart:9.1e}{'' if apart <= LIMIT else '  DIFFERS'}")
    return bool(apart > LIMIT)  # of numpy it would be no exit code


def losses(folder):
    with open(folder / "log.csv") as f:
        return np.array([float(row["loss"]) for row in csv.DictReader(f)])


def trained(model, inputs, label):
    """The losses of the optimizer of the programs."""
    step, out = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01), []
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(model(**inputs).logits, label)
        out.append(loss.item())
        step.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        step.step()
    return np.array(out)


def bert(temporary):
    config, bad = BertConfig(**SIZE, vocab_size=200, max_position_embeddings=T), 0
    ids = RANDOM.integers(1, 200, (N, T)).astype(np.int32)
    for row, length in enumerate(RANDOM.integers(3, T + 1, N)):
        ids[row, length:] = 0
    pair = (np.arange(T)[None] >= RANDOM.integers(1, T, (N, 1))).astype(np.int32)
    inputs = dict(input_ids=torch.tensor(ids).long(), attention_mask=torch.tensor(ids != 0).long())
    label = RANDOM.integers(0, 5, N).astype(np.int32)
    for name, kind, without in (("classify", BertForSequenceClassification, "fill"), ("fill", BertForMaskedLM, "classifier"),
                                ("embed", BertModel, "classifier.out,without=fill")):
        folder = temporary / name
        model = make(kind, config, folder)
        np.save(folder / "ids.npy", ids), np.save(folder / "pair.npy", pair), np.save(folder / "label.npy", label)
        program = compiled("bert", folder, "-D", f"T={T}")
        load = ["--load", f".,without={without}"]
        run(folder, program, name, "--tokens", "ids.npy", *load, "--vector" if name == "embed" else "--logits", "y.npy")
        with torch.no_grad():
            want = model(**inputs)[0].numpy()
        seen = (ids != 0)[:, :, None]
        got = np.load(folder / "y.npy")
        if name == "embed":
            want = (want * seen).sum(1) / seen.sum(1)
        if name == "fill":
            want, got = want * seen, got * seen
        bad += report(f"BERT, {name}", got, want)
        if name != "classify":
            continue
        run(folder, program, "classify_pair", "--tokens", "ids.npy", "--kind", "pair.npy", *load, "--logits", "pair_y.npy")
        with torch.no_grad():
            want = model(**inputs, token_type_ids=torch.tensor(pair).long()).logits.numpy()
        bad += report("BERT, classify_pair", np.load(folder / "pair_y.npy"), want)
        run(folder, program, "train", "--tokens", "ids.npy", "--label", "label.npy", *load, "--steps", str(STEPS), "--lr", str(RATE), "--no-shuffle",
            "--log", "log.csv", "--save", "tuned.safetensors")
        bad += report("BERT, losses", losses(folder), trained(model, inputs, torch.tensor(label).long()))
    return bad


def vit(temporary):
    folder = temporary / "vit"
    model = make(ViTForImageClassification, ViTConfig(**SIZE, image_size=32, patch_size=8), folder)
    images, label = RANDOM.integers(0, 256, (N, 3, 32, 32)).astype(np.uint8), RANDOM.integers(0, 5, N).astype(np.int32)
    np.save(folder / "x.npy", images), np.save(folder / "label.npy", label)
    inputs = dict(pixel_values=torch.tensor((images.astype(np.float32) / 255 - 0.5) / 0.5))
    program = compiled("vit", folder)
    run(folder, program, "classify", "--image", "x.npy", "--load", ".", "--logits", "y.npy")
    with torch.no_grad():
        want = model(**inputs).logits.numpy()
    bad = report("ViT, classify", np.load(folder / "y.npy"), want)
    run(folder, program, "train", "--image", "x.npy", "--label", "label.npy", "--load", ".", "--steps", str(STEPS), "--lr", str(RATE), "--no-shuffle",
        "--log", "log.csv", "--save", "tuned.safetensors")
    return bad + report("ViT, losses", losses(folder), trained(model, inputs, torch.tensor(label).long()))


def main():
    print(f"{'output':24} {'apart':>9}")
    with tempfile.TemporaryDirectory() as temporary:
        bad = bert(Path(temporary)) + vit(Path(temporary))
    sys.exit(bad > 0)


main()
