"""Tokenizers: the tools tokenize and detokenize beside the package tokenizers.

    tokens.py BUILD                        compares on 10 MB of mixed text
    tokens.py record FOLDER                writes the sample of tests/unit/runtime_tokens.c

A tokenizer of each family is trained on the text, in the configuration in which models of that family are published
(normalizer, pre-tokenizer, model, decoder, tokens around a text). The text has prose, code, many scripts, emoji,
combining marks, spaces and newlines. Exit code 1: a token or a byte of the text that is made of tokens differs.
"""
import json
import random
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parents[2]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDING}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDING}|\p{{N}}{{1,3}}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def pieces(text):
    return [text[i:i + 2000] for i in range(0, len(text), 4000)]


def train(tokenizer, trainer, text, latin=False):
    """On a sample; latin: of few characters, all of which a vocabulary of unigrams must hold."""
    sample = pieces(text)
    tokenizer.train_from_iterator(["".join(c for c in s if ord(c) < 0x180) for s in sample] if latin else sample, trainer)
    return tokenizer


def byte_level(text, size, pre, special, normalizer=None, ignore_merges=False):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    return train(t, trainers.BpeTrainer(vocab_size=256 + size, special_tokens=special, show_progress=False,
                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), text)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def around(before, behind, ids):
    single = " ".join(before + ["$A"] + behind)
    return processors.TemplateProcessing(single=single, pair=single + " $B", special_tokens=list(ids.items()))


def gpt2(text, size):
    t = byte_level(text, size, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def roberta(text, size):
    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]
    t = byte_level(text, size, pre_tokenizers.ByteLevel(add_prefix_space=True), special)
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


def llama3(text, size):
    t = byte_level(text, size, split(LLAMA3), ["<|begin_of_text|>", "<|end_of_text|>"], ignore_merges=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                            around(["<|begin_of_text|>"], [], {"<|begin_of_text|>": 0})])
    return t


def qwen2(text, size):
    return byte_level(text, size, split(LLAMA3.replace("{1,3}", "")), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                      normalizers.NFC())


def o200k(text, size):
    return byte_level(text, size, split(O200K), ["<|endoftext|>"])


def smollm(text, size):
    pre = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return byte_level(text, size, pre, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])


def sentencepiece(text, size, legacy):
    """LLaMA 2, TinyLlama: a text is one word, whose spaces are ▁; bytes stand for unknown characters."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    train(t, trainers.BpeTrainer(vocab_size=len(special) + 120 + size, special_tokens=special, limit_alphabet=120, show_progress=False), text)
    j = json.loads(t.to_str())
    model = j["model"]
    for n in 2, 4, 8:  # runs of spaces are tokens
        half = ["▁" * (n // 2)] * 2
        model["vocab"].setdefault("▁" * n, len(model["vocab"]))
        if half not in model["merges"]:
            model["merges"].append(half)
    j["pre_tokenizer"] = None
    if not legacy:
        j["normalizer"] = None
        j["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    j["added_tokens"] = [dict(id=i, content=c, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
                         for i, c in enumerate(special[:3])]
    t = Tokenizer.from_str(json.dumps(j))
    t.post_processor = around(["<s>"], [], {"<s>": 1})
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return t


def unigram(text, size):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    train(t, trainers.UnigramTrainer(vocab_size=350 + size, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                     show_progress=False), text, latin=True)
    t.post_processor = around([], ["</s>"], {"</s>": 1})
    return t


def bert(text, size, lowercase):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    train(t, trainers.WordPieceTrainer(vocab_size=300 + size, special_tokens=special, limit_alphabet=120, show_progress=False), text)
    t.post_processor = around(["[CLS]"], ["[SEP]"], {"[CLS]": 2, "[SEP]": 3})
    return t


def rare(text, size):
    """What is left: added tokens of all kinds, other steps."""
    t = gpt2(text, size)
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("merged_with_previous"),
                                               pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    t.add_tokens([AddedToken("Thou", single_word=True), AddedToken("the", lstrip=True, rstrip=True, normalized=False),
                  AddedToken("\n\n", normalized=False)])
    return t


FAMILIES = {"gpt2": gpt2, "roberta": roberta, "llama3": llama3, "qwen2": qwen2, "o200k": o200k, "smollm": smollm,
            "llama2": lambda t, n: sentencepiece(t, n, True), "tinyllama": lambda t, n: sentencepiece(t, n, False),
            "unigram": unigram, "bert": lambda t, n: bert(t, n, True), "bert_cased": lambda t, n: bert(t, n, False), "rare": rare}

SCRIPTS = [(0xC0, 0x250), (0x370, 0x500), (0x530, 0x700), (0x900, 0xE00), (0xE00, 0x1100), (0x3040, 0x3100), (0x4E00, 0x9FFF),
           (0xAC00, 0xD7A3), (0x1F300, 0x1F650), (0x1F900, 0x1F9FF), (0x300, 0x370), (0x1E00, 0x2000), (0x2000, 0x2400)]
BETWEEN = [" ", "  ", "   ", "\n", "\n\n", " \n", "\t", "\r\n", "\u00a0", "\u3000", "", "'s", "'S", "'LL ", "'re ", "\u017f 's\u017f", " 123",
           "4567 ", "1", "²³", "½", ".", "...", "!?", " — ", "“", "”", "</s>", "<s>", "<|endoftext|>", "<|im_start|>", " <mask> ", "▁",
           "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "é", "e\u0301", "a\u0328\u0301", "a\u0301\u0328", "\u1112\u1161\u11ab", "<0x0A>", "\x07", "\x00", "\ufffd",
           "\u200b", "\ufeff", " thou ", "Thou,", " the ", "other"]


def mixed(size, rng):
    """Text of so many bytes: prose and code of this project between words of many scripts."""
    files = [ROOT / "tests/prose.txt"] + sorted((ROOT / "codegen").rglob("*.c")) + sorted((ROOT / "docs").glob("*.md"))
    files += sorted((ROOT / "tests").rglob("*.py"))
    known = [c for c in map(chr, range(0x20, 0x30000)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")]
    text, n = [], 0
    while n < size:
        kind = rng.randrange(4)
        if kind == 0:
            source = rng.choice(files).read_text(encoding="utf-8")
            at, length = rng.randrange(len(source)), rng.randrange(100, 6000)
            part = source[at:at + min(length, size // 4)]
        elif kind == 1:
            part = "".join(rng.choice(known) for _ in range(rng.randrange(1, 60)))
        elif kind == 2:
            part = rng.choice(" \na\t") * rng.choice([1, 2, 3, 7, rng.randrange(1, 400)])
        else:
            part = "".join("".join(chr(rng.randrange(*rng.choice(SCRIPTS))) for _ in range(rng.randrange(1, 12))) + rng.choice(BETWEEN)
                           for _ in range(rng.randrange(1, 40)))
        text.append(part)
        n += len(part.encode())
    return "".join(text)


def compare(build):
    bad = 0
    text = mixed(10_000_000, random.Random(1))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "text.txt").write_text(text, encoding="utf-8", newline="")
        (folder / "net.g").write_text("entry twice(x : f32[4]) { return y = x * 2 }\n")
        subprocess.run([build / "bin/gc", folder / "net.g", "--tokens", "-o", folder / "net"], check=True)
        print(f"{'family':12} {'tokens':>9} {'differ':>7} {'text':>7} {'tokenizers':>11} {'gc':>7} s")
        for name, make in FAMILIES.items():
            t = make(text, 6000)
            t.save(str(folder / "t.json"))
            start = time.time()
            want = np.array(t.encode(text).ids)
            theirs = time.time() - start
            start = time.time()
            subprocess.run(["./net", "tokenize", "text.txt", "--tokenizer", "t.json", "-o", "t.npy", "--quiet"], cwd=folder, check=True)
            took = time.time() - start
            ours = np.load(folder / "t.npy")
            differ = abs(len(ours) - len(want)) + int((ours[:len(want)] != want[:len(ours)]).sum())
            back = subprocess.run(["./net", "detokenize", "t.npy", "--tokenizer", "t.json"], cwd=folder, check=True, capture_output=True).stdout
            same = back == t.decode(want.tolist()).encode()
            bad += differ > 0 or not same
            print(f"{name:12} {len(want):9} {differ:7} {'same' if same else 'DIFFERS':>7} {theirs:11.2f} {took:7.2f}", flush=True)
    return bad


def record(folder):
    """A small tokenizer of each family, a text, its tokens and the text that they make."""
    folder.mkdir(exist_ok=True)
    prose = mixed(60_000, random.Random(2))
    text = mixed(6_000, random.Random(3))
    (folder / "text.txt").write_text(text, encoding="utf-8", newline="")
    for name, make in FAMILIES.items():
        t = make(prose, 150)
        t.save(str(folder / f"{name}.json"), pretty=False)
        ids = t.encode(text).ids
        np.array(ids, "<u2").tofile(folder / f"{name}.ids")
        (folder / f"{name}.txt").write_text(t.decode(ids), encoding="utf-8", newline="")
    return 0


sys.exit(record(Path(sys.argv[2])) if sys.argv[1] == "record" else compare(Path(sys.argv[1]).resolve()) > 0)
