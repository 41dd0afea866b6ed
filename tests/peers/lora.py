"""Fine-tuning of published language models: docs/examples/llama.g beside the packages transformers and peft.

    lora.py BUILD

A small LLaMA with random weights is saved as transformers saves it. 20 steps of training on the same tokens with the same
mask, by AdamW: all weights, and adapters alone, which begin as PEFT's do. The losses of each step must agree to 1e-4 of
their value, and the adapter that gc saves must give PEFT's logits, as PEFT's adapter must give gc's. Exit code 1: one
differs.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parents[2]
B, T, STEPS, RATE, LIMIT = 4, 24, 20, 1e-2, 1e-4
CONFIG = LlamaConfig(vocab_size=96, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                     max_position_embeddings=256, tie_word_embeddings=False)
ADAPTER = LoraConfig(r=4, lora_alpha=10, lora_dropout=0.0, bias="none", task_type="CAUSAL_LM",
                     target_modules=["q_proj", "v_proj", "down_proj"])


def model():
    torch.manual_seed(0)
    net = LlamaForCausalLM(CONFIG)
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, 0.1 if p.dim() > 1 else 1)
    return net


def data():
    g = np.random.default_rng(1)
    tokens = g.integers(0, CONFIG.vocab_size, (STEPS * B, T + 1)).astype(np.int32)
    learned = (g.random((STEPS * B, T)) < 0.4).astype(np.uint8)
    return tokens, learned


def losses(net, rate):
    """Of each step, by PyTorch."""
    tokens, learned = (torch.from_numpy(x.astype(np.int64)) for x in data())
    params = [p for p in net.parameters() if p.requires_grad]
    optimizer, out = torch.optim.AdamW(params, lr=rate, weight_decay=0), []
    for i in range(0, STEPS * B, B):
        logits = net(tokens[i:i + B, :-1]).logits
        each = torch.nn.functional.cross_entropy(logits.reshape(-1, CONFIG.vocab_size), tokens[i:i + B, 1:].reshape(-1), reduction="none")
        mask = learned[i:i + B].reshape(-1)
        loss = (each * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1)
        optimizer.step()
        out.append(loss.item())
    return out


def run(folder, *words):
    subprocess.run([str(w) for w in words], cwd=folder, check=True, capture_output=True)


def trained(folder, program, rate, *options):
    """Of each step, by gc."""
    run(folder, program, "tune", "--tokens", "tokens.npy", "--next", "next.npy", "--learned", "learned.npy", "--no-shuffle", "--lr", rate,
        "--epochs", 1, "--log", "log.jsonl", *options)
    out = [json.loads(line)["loss"] for line in open(folder / "log.jsonl")]
    (folder / "log.jsonl").unlink()
    return out


def logits(folder, program, *options):
    run(folder, program, "next", "--tokens", "prompt.npy", "--logits", "logits.npy", *options)
    return np.load(folder / "logits.npy")[0]


def theirs(net, prompt):
    with torch.no_grad():
        return net(torch.from_numpy(prompt.astype(np.int64))).logits[0, -1].numpy()


def compare(name, a, b, limit=LIMIT):
    distance = np.max(np.abs(np.subtract(a, b))) / np.max(np.abs(b))
    print(f"{name:44} {distance:9.1e}{'  DIFFERS' if not distance <= limit else ''}")
    return not distance <= limit


def main():
    gc, bad = Path(sys.argv[1]).resolve() / "bin/gc", 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model().save_pretrained(folder)
        tokens, learned = data()
        prompt = tokens[:1, :-1]
        for name, array in ("tokens", tokens[:, :-1]), ("next", tokens[:, 1:]), ("learned", learned), ("prompt", prompt):
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
        base = [gc, ROOT / "docs/examples/llama.g", f"--config={folder}/config.json", "-D", f"B={B}", "-D", f"T={T}"]
        run(folder, *base, "-o", "full")
        bad += compare("full fine-tuning: losses of 20 steps", trained(folder, "./full", RATE / 10, "--load", "."), losses(model(), RATE / 10))

        net = get_peft_model(model(), ADAPTER)
        with torch.no_grad():  # PEFT's adapters begin with nothing learned: give them something
            for key, p in net.named_parameters():
                if "lora_B" in key:
                    p.normal_(0, 0.05)
        (folder / "peft").mkdir()
        net.save_pretrained(folder / "peft")
        run(folder, *base, f"--config={folder}/peft/adapter_config.json", "-o", "lora")
        load = ["--load", ".", "--load", "peft/adapter_model.safetensors"]
        bad += compare("PEFT's adapter: logits", logits(folder, "./lora", *load), theirs(net, prompt))
        bad += compare("LoRA: losses of 20 steps", trained(folder, "./lora", RATE, *load, "--save", "own.safetensors,scope=*.lora,names=published"),
                       losses(net, RATE))
        ours = logits(folder, "./lora", "--load", ".", "--load", "own.safetensors")
        bad += compare("LoRA: logits after 20 steps", ours, theirs(net, prompt), 1e-3)
        (folder / "own").mkdir()
        (folder / "peft/adapter_config.json").rename(folder / "own/adapter_config.json")
        (folder / "own.safetensors").rename(folder / "own/adapter_model.safetensors")
        bad += compare("gc's adapter in PEFT: logits", theirs(PeftModel.from_pretrained(model(), folder / "own").eval(), prompt), ours)
        adapter = ["--load", ".", "--load", "own/adapter_model.safetensors"]
        run(folder, "./lora", "merge", *adapter, "--save", "merged.safetensors,without=*.lora")
        bad += compare("merged: logits", logits(folder, "./full", "--load", "merged.safetensors"), ours)
    sys.exit(bad > 0)


main()
