"""Language models of LLaMA's form with random weights, of 124 million and of 1.1 billion, in gc and in llama.cpp.

    llama_cpp.py BUILD WORK [--models NAME…] [--formats NAME…] [--threads N…] [--rounds N] [--prefix COMMAND] [--prepare]

docs/examples/llama.g and llama.cpp's llama-bench have the same weights: those of the format f32 or bf16, or integers of 8 or 4
bits with a scale for each 32 (Q8_0, Q4_0 in all matrices). WORK keeps what is made once: llama.cpp, built from the source
package llama-cpp-python of PyPI, weights, programs. Then both run in turn, `--rounds` times, and the best of each counts:
- decode: tokens a second, one by one, behind 32 others: llama-bench's mean of 64 tokens from an empty context, which begin there on average
- prefill: tokens a second of a text of 512
- memory: the most that a process of one thread that decodes has in memory, with its weights mapped from a file. A cache of gc has the
  room of a whole context, llama-bench's that of its 64 tokens.
--prefix: words before each command, such as 'chrt -f 1' on a machine that others use. --prepare makes everything and times nothing.
Exit code 1: something failed. The ratios are to be judged by the reader: times depend on the machine.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SIZES = "hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads max_position_embeddings vocab_size".split()
MODELS = {  # of GPT-2's sizes, with as many weights in an MLP of three matrices; TinyLlama's
    "124M": (768, 2048, 12, 12, 12, 1024, 50257, True),
    "1.1B": (2048, 5632, 22, 32, 4, 2048, 32000, False),
}
FORMATS = {"f32": "F32", "bf16": "BF16", "q8": "Q8_0", "q4": "Q4_0"}  # options of gc below; llama.cpp's names
PROMPT, WRITTEN, BEFORE = 512, 64, 32


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr[-600:]}{done.stdout[-200:]}")
    return done.stdout


# ---- what is made once ----

def llama_cpp(work):
    """The folder with llama-bench and llama-quantize, and that of the source."""
    bin = work / "llama.cpp-build/bin"
    if not list(work.glob("llama_cpp_python-*/vendor/llama.cpp")):
        with urllib.request.urlopen("https://pypi.org/pypi/llama-cpp-python/json") as f:
            url = urllib.parse.urljoin(f.url, next(u["url"] for u in json.load(f)["urls"] if u["packagetype"] == "sdist"))
        with urllib.request.urlopen(url) as f, tarfile.open(fileobj=f, mode="r|gz") as archive:
            archive.extractall(work, filter="data")
    source = next(work.glob("llama_cpp_python-*/vendor/llama.cpp"))
    if not (bin / "llama-quantize").exists():
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DGGML_OPENMP=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF",
                   "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DBUILD_SHARED_LIBS=OFF"]
        run("cmake", "-S", source, "-B", bin.parent, *options)
        run("cmake", "--build", bin.parent, "-j", os.cpu_count(), "--target", "llama-bench", "llama-quantize")
    return bin, source


def tensors(config):
    """Names of the published weights, of llama.cpp's, and shapes."""
    width, hidden, layers, heads, key_heads, _, words, tied = config
    keys = width // heads * key_heads
    yield "model.embed_tokens", "token_embd", (words, width)
    for i in range(layers):
        for name, other, shape in (("input_layernorm", "attn_norm", (width,)), ("post_attention_layernorm", "ffn_norm", (width,)),
                                   ("self_attn.q_proj", "attn_q", (width, width)), ("self_attn.k_proj", "attn_k", (keys, width)),
                                   ("self_attn.v_proj", "attn_v", (keys, width)), ("self_attn.o_proj", "attn_output", (width, width)),
                                   ("mlp.gate_proj", "ffn_gate", (hidden, width)), ("mlp.up_proj", "ffn_up", (hidden, width)),
                                   ("mlp.down_proj", "ffn_down", (width, hidden))):
            yield f"model.layers.{i}.{name}", f"blk.{i}.{other}", shape
    yield "model.norm", "output_norm", (width,)
    if not tied:
        yield "lm_head", "output", (words, width)


def weights(config, home, source):
    """The same random numbers, which bf16 holds, in a folder as published ones lie, and in llama.cpp's format."""
    sys.path.insert(0, str(source / "gguf-py"))
    import gguf
    width, hidden, layers, heads, key_heads, positions, words, tied = config
    home.mkdir(parents=True)
    settings = dict(zip(SIZES, config), tie_word_embeddings=tied, rms_norm_eps=1e-5, rope_theta=10000.0, hidden_act="silu")
    (home / "config.json").write_text(json.dumps(settings))
    numbers = (0.02 * np.random.default_rng(0).standard_normal(1 << 22, np.float32)).view(np.uint32) + 0x8000 >> 16
    head, at = {}, 0
    for name, _, shape in tensors(config):
        size = 2 * int(np.prod(shape))
        head[name + ".weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    with open(home / "model.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for _, _, shape in tensors(config):
            np.resize(numbers.astype(np.uint16), shape).tofile(f)
    w = gguf.GGUFWriter(home / "BF16.gguf", "llama")
    w.add_context_length(positions)
    w.add_embedding_length(width)
    w.add_block_count(layers)
    w.add_feed_forward_length(hidden)
    w.add_head_count(heads)
    w.add_head_count_kv(key_heads)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_rope_dimension_count(width // heads)
    w.add_vocab_size(words)
    w.add_tokenizer_model("no_vocab")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    for _, name, shape in tensors(config):
        x = np.resize(numbers, shape)
        if len(shape) == 1:
            w.add_tensor(name + ".weight", (x << 16).view(np.float32))
        else:
            x = np.resize(numbers.astype(np.uint16), shape).view(np.uint8)
            w.add_tensor(name + ".weight", x, raw_dtype=gguf.GGMLQuantizationType.BF16)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def prepare(gc, work, name, format):
    home = work / name
    bin, source = llama_cpp(work)
    if not (home / "BF16.gguf").exists():
        shutil.rmtree(home, ignore_errors=True)
        weights(MODELS[name], home, source)
    np.save(work / "one.npy", np.array([[5]], np.int32))
    np.save(work / "text.npy", np.random.default_rng(0).integers(0, 30000, (1, PROMPT), np.int32))
    theirs, ours = home / f"{FORMATS[format]}.gguf", home / format
    if not theirs.exists():
        run(bin / "llama-quantize", "--pure", home / "BF16.gguf", theirs, FORMATS[format])
    if not ours.exists():
        option = f"--weights={format}" if format[0] == "q" else f"--precision={format}"
        run(gc, ROOT / "docs/examples/llama.g", "-O2", f"--config={home}/config.json", "-D", f"P={PROMPT}", option, "-o", ours)
    image = home / f"{format}.image"
    if not image.exists() or image.stat().st_mtime < ours.stat().st_mtime:  # the run that writes it takes more memory
        decode(ours, 1, 1, [])
    return bin / "llama-bench", theirs, ours


# ---- runs ----

def peak(command):
    """Its output, and the most KiB that it had in memory. A child has a process of its own to be measured by."""
    done = subprocess.run(["/usr/bin/time", "--format=%M", *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr[-600:]}")
    return done.stdout, int(done.stderr.split()[-1])


def ours_of(program, tokens, at, threads, steps, prefix):
    work, home = program.parent.parent, program.parent
    out, memory = peak([*prefix, program, "read", "--tokens", work / tokens, "--at", at, "--load", f"{home},image={program}.image", "--bench",
                        steps, "--threads", threads])
    return 1e6 / float(re.search(r"median ([\d.]+) us", out)[1]), memory


def decode(program, threads, steps, prefix):
    return ours_of(program, "one.npy", BEFORE, threads, steps, prefix)


def prefill(program, threads, steps, prefix):
    rate, memory = ours_of(program, "text.npy", 0, threads, steps, prefix)
    return PROMPT * rate, memory


def bench(program, model, prompt, written, threads, prefix):
    out, memory = peak([*prefix, program, "-m", model, "-p", prompt, "-n", written, "-t", threads, "-r", 1, "-o", "json"])
    return json.loads(out)[0]["avg_ts"], memory


def compare(args, name, format):
    llama_bench, theirs, ours = prepare(args.gc, args.work, name, format)
    if args.prepare:
        return
    cells, memory = [], None
    for threads in args.threads:
        best = np.zeros((2, 2))
        for _ in range(args.rounds):
            got = [decode(ours, threads, WRITTEN, args.prefix), bench(llama_bench, theirs, 0, WRITTEN, threads, args.prefix)]
            texts = [prefill(ours, threads, 1, args.prefix), bench(llama_bench, theirs, PROMPT, 0, threads, args.prefix)]
            best = np.maximum(best, [[rate for rate, _ in got], [rate for rate, _ in texts]])
            memory = memory or [kib / 1024 for _, kib in got]
        cells += [f"{a:.1f} | {b:.1f} | {a / b:.2f}" for a, b in best]
    print(f"| {name}, {format} | {' | '.join(cells)} | {memory[0]:.0f} | {memory[1]:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--prefix", type=str.split, default=[])
    parser.add_argument("--prepare", action="store_true")
    args = parser.parse_args()
    args.gc, args.work = args.build.resolve() / "bin/gc", args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    columns = [f"{what}, threads: {n} | llama.cpp | ratio" for n in args.threads for what in ("decode", "prefill")]
    print(f"| model | {' | '.join(columns)} | MB | llama.cpp, MB |\n|{'---|' * (3 + 3 * len(columns))}", flush=True)
    good = True
    for name in args.models:
        for format in args.formats:
            try:
                compare(args, name, format)
            except Exception as e:  # the others are still worth a look
                print(f"| {name}, {format} | FAILED: {type(e).__name__}: {str(e)[-500:]} |", flush=True)
                good = False
    sys.exit(0 if good else 1)


main()
