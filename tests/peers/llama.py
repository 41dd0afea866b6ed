"""Language models of published form: docs/examples/llama.g beside the package transformers.

    llama.py BUILD

Small models with random weights of each family are saved as transformers saves them (config.json, safetensors in parts, in f32
and bf16). gc compiles llama.g with --config and loads the folder; the distribution behind a text and 40 tokens that
each model writes by taking the likeliest one must be those of transformers: the first within 1e-4 of the largest
logit, the second equal, and so must be the text of 200 tokens that `chat` writes. Exit code 1: one differs.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import (LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM, SmolLM3Config, SmolLM3ForCausalLM)

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = Tokenizer.from_file(str(ROOT / "tests/unit/tokens/smollm.json"))
SIZE = dict(vocab_size=TOKENIZER.get_vocab_size(), hidden_size=48, intermediate_size=100, num_hidden_layers=3, num_attention_heads=6, bos_token_id=1,
            eos_token_id=2, max_position_embeddings=512)


def longer(**rope):
    """A model for texts longer than in training."""
    return LlamaConfig(**SIZE, num_key_value_heads=2, tie_word_embeddings=True, rope_parameters=dict(rope_theta=10000.0, **rope))


# name: configuration, class, dtype of the weights
MODELS = {
    "LLaMA 2": (LlamaConfig(**SIZE, tie_word_embeddings=False), LlamaForCausalLM, torch.float32),
    "LLaMA 3, TinyLlama": (LlamaConfig(**SIZE, num_key_value_heads=2, rope_theta=500000.0, rms_norm_eps=1e-5,
                                       tie_word_embeddings=False), LlamaForCausalLM, torch.bfloat16),
    "SmolLM": (LlamaConfig(**SIZE, num_key_value_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=True), LlamaForCausalLM,
               torch.bfloat16),
    "Qwen 2.5": (Qwen2Config(**SIZE, num_key_value_heads=2, rope_theta=1e6, tie_word_embeddings=True), Qwen2ForCausalLM,
                 torch.bfloat16),
    "Qwen 2, windows": (Qwen2Config(**SIZE, num_key_value_heads=2, use_sliding_window=True, sliding_window=9, max_window_layers=1),
                        Qwen2ForCausalLM, torch.float32),
    "Qwen 3": (Qwen3Config(**SIZE, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True), Qwen3ForCausalLM, torch.bfloat16),
    "Qwen 3, windows": (Qwen3Config(**SIZE, num_key_value_heads=2, head_dim=16, attention_bias=True, use_sliding_window=True,
                                    sliding_window=9, max_window_layers=2), Qwen3ForCausalLM, torch.float32),
    "Mistral, windows": (MistralConfig(**SIZE, num_key_value_heads=2, sliding_window=7), MistralForCausalLM, torch.float32),
    "SmolLM 3": (SmolLM3Config(**SIZE, num_key_value_heads=2, tie_word_embeddings=True, no_rope_layers=[1, 0, 1], pad_token_id=0),
                 SmolLM3ForCausalLM, torch.bfloat16),
    "Phi-3": (Phi3Config(**SIZE, num_key_value_heads=2, sliding_window=11, pad_token_id=0), Phi3ForCausalLM, torch.float32),
    "LLaMA, all biases": (LlamaConfig(**SIZE, attention_bias=True, mlp_bias=True), LlamaForCausalLM, torch.float32),
    "llama3 scaling": (longer(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                              original_max_position_embeddings=64), LlamaForCausalLM, torch.float32),
    "yarn scaling": (longer(rope_type="yarn", factor=4.0, original_max_position_embeddings=128), LlamaForCausalLM, torch.float32),
    "linear scaling": (longer(rope_type="linear", factor=4.0), LlamaForCausalLM, torch.float32),
}
P, PROMPT, WRITTEN, LIMIT, CHAT = 64, 23, 40, 1e-4, 200
TEXT = "Once upon a time there was a compiler, 🙂 and"


def published(config, kind, dtype, folder):
    """A model with random weights that the dtype holds, saved in the folder."""
    torch.manual_seed(0)
    model = kind(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.3 if p.dim() > 1 else 1)
            p.copy_(p.to(dtype))
    state = {k: v.to(dtype) for k, v in model.state_dict().items()}
    if config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    model.save_pretrained(folder, state_dict=state, max_shard_size="100KB")
    return model


def logits(program, folder, ids):
    np.save(folder / "ids.npy", np.array([ids], np.int32))
    subprocess.run([program, "next", "--tokens", "ids.npy", "--load", ".", "--logits", "logits.npy", "--quiet"], cwd=folder,
                   check=True, capture_output=True)
    return np.load(folder / "logits.npy")[0]


def greedy(model, ids, n):
    with torch.no_grad():
        return model.generate(torch.tensor([ids]), max_new_tokens=n, min_new_tokens=n, do_sample=False, eos_token_id=None,
                              pad_token_id=0)[0, len(ids):].tolist()


def chats(program, model, folder):
    """Whether `chat` writes the text of transformers' tokens, none of which ends it."""
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "config.json").unlink()
    TOKENIZER.save(str(folder / "tokenizer.json"))
    want = TOKENIZER.decode(greedy(model, TOKENIZER.encode(TEXT).ids, CHAT))
    got = subprocess.run([program, "chat", "--load", ".", "--prompt", TEXT, "--temperature", "0", "--tokens", str(CHAT)], cwd=folder,
                         check=True, capture_output=True).stdout
    return got == want.encode() + b"\n"


def main():
    gc, bad = Path(sys.argv[1]).resolve() / "bin/gc", 0
    prompt = [int(i) for i in np.random.default_rng(1).integers(0, SIZE["vocab_size"], PROMPT)]
    print(f"{'model':20} {'dtype':>9} {'logits':>9}  tokens    chat")
    for name, (config, kind, dtype) in MODELS.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            model = published(config, kind, dtype, folder)
            program = folder / "llama"
            subprocess.run([gc, ROOT / "docs/examples/llama.g", f"--config={folder}/config.json", "-D", f"P={P}", "-D", "S=512",
                            "--tokens", "-o", program], check=True)
            with torch.no_grad():
                want = model(torch.tensor([prompt])).logits[0, -1].numpy()
            theirs = greedy(model, prompt, WRITTEN)
            distance = np.abs(logits(program, folder, prompt) - want).max() / np.abs(want).max()
            ours = list(prompt)
            for _ in range(WRITTEN):
                ours.append(int(logits(program, folder, ours).argmax()))
            same = sum(a == b for a, b in zip(ours[PROMPT:], theirs))
            text = chats(program, model, folder)
            wrong = distance > LIMIT or same < WRITTEN or not text
            bad += wrong
            print(f"{name:20} {str(dtype)[6:]:>9} {distance:9.1e}  {same} of {WRITTEN}  {CHAT if text else 0} of {CHAT}{'  DIFFERS' if wrong else ''}")
    sys.exit(bad > 0)


main()
