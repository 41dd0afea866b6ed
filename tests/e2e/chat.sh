#!/bin/sh
# The quickstart of published language models: from a folder with config.json, safetensors and tokenizer.json to a chat
# in the terminal, with docs/examples/llama.g. The folder is made here, with random weights; plain Python computes the
# same greedy text. Then chunks of all sizes, what ends an answer, sampling, and what is refused.
. "$(dirname "$0")/common.sh"
unoptimised
mkdir model && cp "$here/tests/unit/tokens/smollm.json" model/tokenizer.json
cat >model.py <<'END'
import json, math, random, struct, sys
V, C, F, L, H, K, eps, theta = 406, 24, 40, 2, 4, 2, 1e-5, 10000.0
D = C // H
kind, factor, old, slow, fast = (sys.argv[1:] + ["default"])[0], 4.0, 16, 1.0, 32.0
plain = [theta ** (-2 * i / D) for i in range(D // 2)]
def longer(i, f):  # the published rules for texts longer than those in training
    turns, low, high = old * f / (2 * math.pi), 1.0, 4.0
    if kind == "linear": return f / factor
    if kind == "llama3": return f / factor if turns < low else f if turns > high else f * ((turns - low) / (high - low) * (1 - 1 / factor) + 1 / factor)
    if kind == "yarn":
        place = lambda n: D * math.log(old / (n * 2 * math.pi)) / (2 * math.log(theta))
        first, last = max(math.floor(place(fast)), 0), min(math.ceil(place(slow)), D - 1)
        ramp = min(max((i - first) / max(last - first, 0.001), 0), 1)
        return f / factor * ramp + f * (1 - ramp)
    return f
frequency = [longer(i, f) for i, f in enumerate(plain)]
stretch = 0.1 * math.log(factor) + 1 if kind == "yarn" else 1
many = kind == "many"  # norms of queries and keys, windows of 12 tokens, a layer without positions; matrices joined in the file
random.seed(5)
W = {}
def make(name, *shape, std=0.4):
    n = math.prod(shape)
    W[name] = (shape, [struct.unpack("<f", struct.pack("<f", random.gauss(0, std) if len(shape) > 1 else 1 + random.gauss(0, 0.1)))[0] for _ in range(n)])
make("model.embed_tokens.weight", V, C)
for l in range(L):
    p = f"model.layers.{l}."
    for name, rows, columns in (("self_attn.q_proj", C, C), ("self_attn.k_proj", K * D, C), ("self_attn.v_proj", K * D, C), ("self_attn.o_proj", C, C),
                                ("mlp.gate_proj", F, C), ("mlp.up_proj", F, C), ("mlp.down_proj", C, F)):
        make(p + name + ".weight", rows, columns)
    make(p + "input_layernorm.weight", C)
    make(p + "post_attention_layernorm.weight", C)
    if many:
        make(p + "self_attn.q_norm.weight", D)
        make(p + "self_attn.k_norm.weight", D)
make("model.norm.weight", C)
head, data = {"__metadata__": {"format": "pt"}}, b""
file = dict(W)
def join(names, name):
    parts = [file.pop(n + ".weight") for n in names]
    file[name + ".weight"] = ((sum(shape[0] for shape, _ in parts), C), [v for _, values in parts for v in values])
for l in range(L) if many else ():
    p = f"model.layers.{l}."
    join([p + f"self_attn.{m}_proj" for m in "qkv"], p + "self_attn.qkv_proj")
    join([p + "mlp.gate_proj", p + "mlp.up_proj"], p + "mlp.gate_up_proj")
for name, (shape, values) in file.items():
    one = struct.pack("<%df" % len(values), *values)
    head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(one)]}
    data += one
text = json.dumps(head).encode()
open("model/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
json.dump(dict(vocab_size=V, hidden_size=C, intermediate_size=F, num_hidden_layers=L, num_attention_heads=H, num_key_value_heads=K,
               rms_norm_eps=eps, rope_theta=theta, tie_word_embeddings=True, hidden_act="silu", sliding_window=12 if many else None,
               **({} if kind == "default" else {"model_type": "phi3", "qk_norm": True, "no_rope_layers": [1, 0]} if many else {"rope_scaling": {"type" if kind == "linear" else "rope_type": kind, "factor": factor, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": old}})), open("model/config.json", "w"))

def times(name, x):
    (rows, columns), w = W[name + ".weight"]
    return [sum(w[i * columns + j] * x[j] for j in range(columns)) for i in range(rows)]
def norm(name, x):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * scale * g for v, g in zip(x, W[name + ".weight"][1])]
def rope(x, at):
    out = list(x)
    for h in range(0, len(x), D):
        for i in range(D // 2):
            a, b = x[h + i] * stretch, x[h + i + D // 2] * stretch
            angle = at * frequency[i]
            out[h + i], out[h + i + D // 2] = a * math.cos(angle) - b * math.sin(angle), b * math.cos(angle) + a * math.sin(angle)
    return out
cache = [([], []) for _ in range(L)]
def step(token, at):
    x = W["model.embed_tokens.weight"][1][token * C:(token + 1) * C]
    for l in range(L):
        p = f"model.layers.{l}."
        n = norm(p + "input_layernorm", x)
        q, k, v = (times(p + f"self_attn.{m}_proj", n) for m in "qkv")
        if many:
            q, k = (sum([norm(p + f"self_attn.{m}_norm", x[h:h + D]) for h in range(0, len(x), D)], []) for m, x in (("q", q), ("k", k)))
        if not many or l == 0:
            q, k = rope(q, at), rope(k, at)
        keys, values = cache[l]
        keys.append(k), values.append(v)
        keys, values = (keys[-12:], values[-12:]) if many else (keys, values)
        y = []
        for h in range(H):
            g = h // (H // K) * D
            s = [sum(q[h * D + i] * key[g + i] for i in range(D)) / math.sqrt(D) for key in keys]
            e = [math.exp(a - max(s)) for a in s]
            y += [sum(a * value[g + i] for a, value in zip(e, values)) / sum(e) for i in range(D)]
        x = [a + b for a, b in zip(x, times(p + "self_attn.o_proj", y))]
        n = norm(p + "post_attention_layernorm", x)
        gate = [a / (1 + math.exp(-a)) for a in times(p + "mlp.gate_proj", n)]
        x = [a + b for a, b in zip(x, times(p + "mlp.down_proj", [a * b for a, b in zip(gate, times(p + "mlp.up_proj", n))]))]
    x = norm("model.norm", x)
    table = W["model.embed_tokens.weight"][1]
    return [sum(table[i * C + j] * x[j] for j in range(C)) for i in range(V)]
def npy(name):
    d = open(name, "rb").read()
    n = 10 + struct.unpack("<H", d[8:10])[0]
    return list(struct.unpack("<%dH" % ((len(d) - n) // 2), d[n:])), d[:n]
if len(sys.argv) > 1:
    ids, head = npy("prompt.npy")
    for at, token in enumerate(ids):
        logits = step(token, at)
    written = []
    while len(written) < (60 if kind == "default" else 20):
        written.append(max(range(V), key=lambda i: logits[i]))
        logits = step(written[-1], len(ids) + len(written) - 1)
    head = head.replace(b"(%d,)" % len(ids), b"(%d,)" % len(written))
    open("written.npy", "wb").write(head[:-1].rstrip(b" ") + b" " * (len(head) - 1 - len(head[:-1].rstrip(b" "))) + b"\n" + struct.pack("<%dH" % len(written), *written))
END
python3 model.py || fail 'no model could be made'
# a chat of 88 tokens: 29 of the prompt and 59 of the answer, whose last one nothing follows
run 0 "$gc" "$here/docs/examples/llama.g" -O2 --config=model/config.json -D P=8 -D S=88 --tokens -o llama
prompt='Once upon a time there was a compiler, 🙂 and'
printf %s "$prompt" >prompt.txt
run 0 ./llama tokenize prompt.txt --tokenizer model/tokenizer.json -o prompt.npy
python3 model.py default || fail 'Python'
{ ./llama detokenize written.npy --tokenizer model/tokenizer.json && echo; } >want.txt || fail 'detokenize'
./llama chat --load model --prompt "$prompt" --temperature 0 --tokens 60 >got.txt 2>err.txt || fail 'chat'
same got.txt want.txt 'the greedy text'
# README's one command
python3 - <<'END' || fail 'no folder of a known type'
import json
json.dump(json.load(open("model/config.json")) | {"model_type": "llama"}, open("model/config.json", "w"), indent=2)
END
GC=$gc OUT=$PWD/chat sh "$here/docs/chat.sh" model --prompt "$prompt" --temperature 0 --tokens 60 >got.txt 2>err.txt || fail 'docs/chat.sh'
same got.txt want.txt 'the text of docs/chat.sh'
mkdir bloom && cp model/tokenizer.json bloom/ && echo '{ "model_type": "bloom" }' >bloom/config.json
run 2 env GC="$gc" OUT="$PWD/chat" sh "$here/docs/chat.sh" bloom
holds out.txt "docs/chat.sh: error: bloom/config.json is of the model_type 'bloom'"
run 2 env GC="$gc" OUT="$PWD/chat" sh "$here/docs/chat.sh" nowhere
holds out.txt 'the folder nowhere has no config.json'
# one token at a time, by a program without the other entries
sed '/^entry train/,/^# The same of tokens/d' "$here/docs/examples/llama.g" >read.g
run 0 "$gc" read.g -O2 --config=model/config.json -D P=1 -D S=95 --tokens -o one
./one chat --load model --prompt "$prompt" --temperature 0 --tokens 60 >got.txt 2>err.txt || fail 'chat, P = 1'
same got.txt want.txt 'the greedy text, read one token at a time'
# longer texts than in training: the angles of positions are others; and what other families have
for kind in linear llama3 yarn many; do
  python3 model.py $kind || fail "Python, $kind"
  { ./llama detokenize written.npy --tokenizer model/tokenizer.json && echo; } >want_$kind.txt
  cmp -s want_$kind.txt want.txt && fail "$kind changes nothing"
  run 0 "$gc" read.g -O2 --config=model/config.json -D P=8 -D S=96 --tokens -o longer
  ./longer chat --load model --prompt "$prompt" --temperature 0 --tokens 20 >got.txt 2>err.txt || fail "chat, $kind"
  same got.txt want_$kind.txt "the greedy text, $kind"
done
python3 model.py default || fail 'Python'
sed 's/null/64, "use_qk_norm": false, "attn_logit_softcapping": 50, "model_type": "qwen3"/' model/config.json >warned.json
run 0 "$gc" "$here/docs/examples/llama.g" --config=warned.json --emit=ir --passes=
holds out.txt 'warning: --config: attn_logit_softcapping is 50, which the program does not read'
holds out.txt 'q_norm'
grep -q use_qk_norm out.txt && fail 'a key with its neutral value is warned of'
says 1 'model_type bloom is none of llama, mistral, smollm3, qwen2, qwen3, phi3' "$gc" "$here/docs/examples/llama.g" -D 'model_type="bloom"' --check
# an answer ends before a text, at a token that ends it, and where there is no room
stop=$(python3 -c 'print(open("want.txt", errors="replace").read()[9:11])')
./llama chat --load model --prompt "$prompt" --temperature 0 --tokens 60 --stop "$stop" >got.txt || fail 'chat --stop'
python3 - "$stop" <<'END' || fail 'the text before --stop'
import sys
want, got = open("want.txt", "rb").read(), open("got.txt", "rb").read()
stop = sys.argv[1].encode("utf-8", "surrogateescape")
assert got == want[:want.index(stop)] + b"\n", (got, want)
END
python3 - <<'END'
import json, struct
d = open("written.npy", "rb").read()
ids = struct.unpack("<60H", d[-120:])
json.dump({"eos_token_id": [1, ids[20]]}, open("model/generation_config.json", "w"))
END
./llama chat --load model --prompt "$prompt" --temperature 0 --tokens 60 >got.txt || fail 'chat to its end'
[ "$(wc -c <got.txt)" -lt "$(wc -c <want.txt)" ] || fail 'no token ends the answer'
./llama chat --load model/model.safetensors --tokenizer model/tokenizer.json --prompt "$prompt" --temperature 0 --tokens 60 >file.txt || fail 'chat of a file'
same file.txt got.txt 'the end beside the tokenizer'
rm model/generation_config.json
./llama chat --load model --prompt "$prompt" --temperature 0 --tokens 500 >got.txt 2>err.txt || fail 'chat without room'
holds err.txt 'the model has no room for more than 88 tokens'
# a draw depends on the seed; of one choice there is the greedy text
for seed in 1 1 2; do ./llama chat --load model --prompt "$prompt" --temperature 2 --seed $seed --tokens 20 >seed$seed.txt.new || fail 'sampling'
  [ ! -f seed$seed.txt ] || same seed$seed.txt.new seed$seed.txt 'the same seed'
  mv seed$seed.txt.new seed$seed.txt; done
cmp -s seed1.txt seed2.txt && fail 'two seeds give the same text'
for one in '--top-k 1' '--top-p 0.000001' '--min-p 1'; do
  # two words
  # shellcheck disable=SC2086
  ./llama chat --load model --prompt "$prompt" --temperature 1 $one --tokens 60 >got.txt || fail "chat $one"
  same got.txt want.txt "the only choice of $one"
done
# a conversation, line by line, in a template
printf 'hello\nmore\n' | ./llama chat --load model --template chatml --system 'Be kind.' --tokens 5 >got.txt || fail 'a conversation'
# the folder's own template: that of chatml gives the turns of --template chatml, in a file of its own, too
cat >own.py <<'END'
import json
template = ("{% for m in messages %}\n  {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}\n{%- endfor %}\n"
            "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
json.dump({"chat_template": [{"name": "tool_use", "template": "{{ wrong"}, {"name": "default", "template": template}], "bos_token": {"content": "<s>"},
           "eos_token": "<|im_end|>"}, open("model/tokenizer_config.json", "w"))
END
run 0 python3 own.py
talk() { printf 'hello\nmore\n' | ./llama chat --load model --system 'Be kind.' --tokens 5 --temperature 0 "$@"; }
# … and records the same tokens
cat >records.jsonl <<'END'
{"prompt": "Say", "completion": " 1"}
{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}, {"role": "assistant", "content": "No"}]}
{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes. "}]}
END
encode() { run 0 ./llama tokenize records.jsonl --tokenizer model/tokenizer.json "$@"; }
encode -o named.npy --mask named_mask.npy --template chatml
encode -o own.npy --mask own_mask.npy
same own.npy named.npy 'the tokens of the own template'
same own_mask.npy named_mask.npy 'the mask of the own template'
says 2 '--end: the chat_template beside the tokenizer ends answers' ./llama tokenize records.jsonl --tokenizer model/tokenizer.json -o one.npy --mask one_mask.npy --end x
talk --template chatml >named.txt || fail 'a conversation of chatml'
talk >own.txt || fail 'a conversation of the own template'
same own.txt named.txt 'the own template'
talk --template plain >plain.txt || fail 'a plain conversation'
cmp -s own.txt plain.txt && fail 'the own template is plain text'
echo "{{ messages[0]['content'] | wordcount }}" >model/chat_template.jinja
talk >got.txt 2>err.txt || fail 'a conversation without the own template'
holds err.txt "note: model: its chat_template is not used: line 1 of the template: the filter 'wordcount' is not known here; --template names another one"
same got.txt plain.txt 'a template that is not known'
# one that cannot go on says so, and one that leaves out earlier turns reads the chat anew
echo "{% if messages|length > 2 %}{{ raise_exception('one turn') }}{% endif %}{{ messages[0].content }}" >model/chat_template.jinja
printf 'hello\nmore\n' >two.txt
says 1 'chat: line 1 of the template: one turn' sh -c './llama chat --load model --tokens 5 <two.txt'
echo '{{ messages[-1].content }}' >model/chat_template.jinja
printf 'hello\n' | ./llama chat --load model --tokens 5 --temperature 0 >first.txt || fail 'a turn'
printf 'more\nhello\n' | ./llama chat --load model --tokens 5 --temperature 0 | tail -n +2 >second.txt || fail 'two turns'
tail -c "$(wc -c <first.txt)" second.txt >got.txt
same got.txt first.txt 'a turn by itself, after another one'
rm model/chat_template.jinja model/tokenizer_config.json
says 2 '--template is one of plain, chatml, llama2, llama3, zephyr, not alpaca' ./llama chat --load model --template alpaca --prompt x
says 2 '--temperature needs a number from 0 to 100, not warm' ./llama chat --load model --temperature warm
says 2 'chat needs --tokenizer FILE.json' ./llama chat --load model/model.safetensors --prompt x
says 2 'without=*.loras leaves nothing out' ./llama chat --load model,without=*.loras --prompt x
says 2 '--device: there is no device tpu' ./llama chat --load model --device tpu --prompt x
holds out.txt 'hint: devices are cpu'
run 0 ./llama chat --tokenizer model/tokenizer.json --tokens 1 --prompt x
holds out.txt 'note: without --load the parameters have their random initial values'
says 1 'cannot read models: No such file or directory' ./llama chat --load models --prompt x
says 2 'tokenize needs -o FILE.npy' ./llama tokenize prompt.txt --tokenizer model/tokenizer.json
says 1 'model: is a directory; a regular file is needed' ./llama tokenize prompt.txt --tokenizer model -o no.npy
holds out.txt 'hint: name the tokenizer.json in it'
says 1 'model,imge=x: cannot be read' ./llama merge --load model,imge=x
holds out.txt 'hint: behind the name of a file stand ,scope=PATH ,without=PATH and ,image=FILE'
run 0 ./llama info
holds out.txt '  transient '
says 1 'and the model has room for' ./llama chat --load model --tokens 5 --prompt "$(yes 'a longer text' | head -60)"
holds out.txt 'gc -D S=484'
sed 's/{/{"max_position_embeddings": 512, /' model/config.json >longer.json && mv longer.json model/config.json
says 1 'and the model has room for' ./llama chat --load model --prompt "$(yes 'a longer text' | head -60)"
holds out.txt 'gc -D S=512'
says 1 'and the model has room for' ./llama chat --load model --prompt "$(yes 'a longer text' | head -200)"
holds out.txt 'hint: shorten the text: the model has 512 positions'
run 0 ./llama chat --load model --template llama3 --tokens 2 --prompt x
holds out.txt 'note: the tokenizer has no token <|eot_id|>, which ends an answer of the template llama3'
says 1 'is not one of the model' ./llama chat --load model --tokenizer "$here/tests/unit/tokens/tinyllama.json" --prompt "$prompt"
printf 'entry twice(x : f32[4]) { return y = x * 2 }\n' >net.g
run 0 "$gc" net.g --tokens -o net
says 2 'has no entry that reads a text token by token' ./net chat --tokenizer model/tokenizer.json --prompt x
# ---- fine-tuning on instructions ----
for i in 1 2 3 4; do printf '{"prompt": "Say %s", "completion": " the number %s"}\n' $i $i; done >tasks.jsonl
run 0 ./llama tokenize tasks.jsonl --tokenizer model/tokenizer.json -o tasks.npy --mask mask.npy --length 65
run 0 ./llama tune --tokens 'tasks.npy~65' --next 'tasks.npy+1~65' --learned 'mask.npy+1~65' --load model --steps 12 --lr 0.01 --log tune.csv --save tuned.safetensors --quiet
at_most "$(awk -F, 'END { print $3 }' tune.csv)" "$(awk -F, 'NR == 2 { print $3 / 2 }' tune.csv)" 'the loss of instructions'
# weights have no cache of a chat, whose length is another in another program
./one chat --load tuned.safetensors --tokenizer model/tokenizer.json --prompt "$prompt" --temperature 0 --tokens 20 >tuned_one.txt || fail 'chat of a shorter program with tuned weights'
# of several weights the later ones count
./llama chat --load tuned.safetensors --tokenizer model/tokenizer.json --prompt "$prompt" --temperature 0 --tokens 20 >tuned.txt || fail 'chat with tuned weights'
same tuned_one.txt tuned.txt 'the text of a shorter program'
./llama chat --load model --load tuned.safetensors --prompt "$prompt" --temperature 0 --tokens 20 >got.txt || fail 'chat with two weights'
same got.txt tuned.txt 'chat with two weights'
./llama chat --load model --prompt "$prompt" --temperature 0 --tokens 20 >got.txt || fail 'chat'
cmp -s got.txt tuned.txt && fail 'tuned weights write the text of others'
finish
