#!/bin/sh
# Transformers: the small one learns and writes with kept keys and values; GPT-2 takes weights by their
# published names.
. "$(dirname "$0")/common.sh"
lightly_optimised
prose 40000
run 0 "$gc" "$here/docs/examples/gpt.g" -O2 -D L=2 -D C=64 -D T=32 -D P=32 -D B=8 -D drop=0 -o gpt
says 1 'error: a prompt of 33 characters is longer than T, 32' "$gc" --check "$here/docs/examples/gpt.g" -D T=32 -D P=33
last() { sed -n '2,$p' log.csv | tail -20 | awk -F, '{s += $3} END {print s / NR}'; }

# ---- row by row it computes what it computes at once ----
run 0 ./gpt check --context 'text.txt[0:4]' --quiet
worst=$(awk '/difference/ {if ($NF > most) most = $NF} END {print most + 0}' out.txt)
at_most "$worst" 0.0001 'the largest difference of a row alone'

# ---- it learns, and the number of threads changes nothing ----
run 0 ./gpt train --context text.txt --next text.txt+1 --steps 120 --seed 3 --save w.safetensors --log log.csv --threads 2
at_least "$(sed -n 2p log.csv | cut -d, -f3)" 4 'the loss of the first step'
at_most "$(last)" 3.3 'the mean loss of the last 20 of 120 steps'
run 0 ./gpt train --context text.txt --next text.txt+1 --steps 5 --seed 3 --save a.safetensors --threads 1 --quiet
run 0 ./gpt train --context text.txt --next text.txt+1 --steps 5 --seed 3 --save b.safetensors --threads 3 --quiet
run 0 ./gpt train --context text.txt --next text.txt+1 --steps 5 --seed 3 --save c.safetensors --threads 2 --share-parts yes --quiet
same a.safetensors b.safetensors 'the same weights on three threads'
same a.safetensors c.safetensors 'the same weights on two threads that share parts'
run 0 ./gpt write --load w.safetensors --steps 100 --text char --quiet
size=$(wc -c <out.txt)
[ "$size" = 100 ] || [ "$size" = 101 ] || fail "$size characters, not 100 (and perhaps a newline)"

# ---- a prompt of any length: what is written behind it is the same, wherever it is cut ----
printf 'The program' >prompt.txt
run 0 ./gpt prompt --context prompt.txt --load w.safetensors --temperature 0 --save read.safetensors --text char --quiet
head -c 1 out.txt >written.txt
run 0 ./gpt write --load read.safetensors --temperature 0 --steps 12 --text char --quiet
head -c 12 out.txt >>written.txt
for length in 1 7; do
  head -c $length written.txt | cat prompt.txt - >longer.txt
  run 0 ./gpt prompt --context longer.txt --load w.safetensors --temperature 0 --text char --quiet
  exactly "$(head -c 1 out.txt | od -An -tx1)" "$(tail -c +$((length + 1)) written.txt | head -c 1 | od -An -tx1)" \
    "the character behind a prompt of $((11 + length))"
done
says 1 'error: text.txt: n of the input context would be 40000, which is not in 1 to 32' \
  ./gpt prompt --context text.txt --load w.safetensors

# ---- GPT-2, small, with its published names ----
small='-D L=2 -D H=2 -D C=128 -D V=8192 -D N=16 -D T=16 -D B=2'
run 0 "$gc" "$here/docs/examples/gpt2.g" -O2 $small -D P=4 --tokens -o gpt2
python3 - <<'END' || fail 'no weights could be made'
import json, random, struct
random.seed(5)
C, V = 128, 8192
shapes = {"wte.weight": [V, C], "wpe.weight": [16, C], "ln_f.weight": [C], "ln_f.bias": [C]}
for l in range(2):
    for name, shape in {"ln_1.weight": [C], "ln_1.bias": [C], "attn.c_attn.weight": [C, 3 * C], "attn.c_attn.bias": [3 * C],
                        "attn.c_proj.weight": [C, C], "attn.c_proj.bias": [C], "ln_2.weight": [C], "ln_2.bias": [C],
                        "mlp.c_fc.weight": [C, 4 * C], "mlp.c_fc.bias": [4 * C], "mlp.c_proj.weight": [4 * C, C],
                        "mlp.c_proj.bias": [C], "attn.bias": [1, 1, 16, 16]}.items():
        shapes[f"h.{l}.{name}"] = shape
header, data = {}, []
size = 0
for name, shape in shapes.items():
    n = 1
    for d in shape: n *= d
    reach = 406 * C if name == "wte.weight" else n  # the tokens of a tokenizer; of the others none is likely
    values = struct.pack(f"<{n}f", *(random.uniform(-0.2, 0.2) if i < reach else 0 for i in range(n)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [size, size + len(values)]}
    size += len(values)
    data.append(values)
for file, before in ("published", ""), ("headed", "transformer."):  # the model alone, and with a head behind it
    text = json.dumps({before + name: x for name, x in header.items()}).encode()
    open(file + ".safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"".join(data))
open("ids.bin", "wb").write(struct.pack("<256i", *(random.randrange(V) for _ in range(256))))
END
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load published.safetensors,scope=gpt
cp out.txt before.txt
grep -q 'random' out.txt && fail 'some weights were not loaded'
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load headed.safetensors
grep -v 'such as transformer.h.0.attn.bias$' out.txt >headed.txt # a mask, which is no weight
same headed.txt before.txt 'the loss with weights that have a head'
# a chat whose prompt is read in chunks of 4 writes what `predict`, which has no cache, finds likeliest behind each token
tokenizer="$here/tests/unit/tokens/smollm.json"
printf 'Once upon a time' >prompt.txt
run 0 ./gpt2 tokenize prompt.txt --tokenizer "$tokenizer" -o prompt.npy
./gpt2 chat --load headed.safetensors --tokenizer "$tokenizer" --prompt "$(cat prompt.txt)" --temperature 0 --tokens 99 >chat.txt 2>chat.err ||
  fail 'chat'
python3 - "$tokenizer" <<'END' || fail 'the text of a chat with GPT-2'
import struct, subprocess, sys
def npy(name, code):
    d = open(name, "rb").read()
    n = 10 + struct.unpack("<H", d[8:10])[0]
    return list(struct.unpack(f"<{(len(d) - n) // struct.calcsize(code)}{code}", d[n:]))
ids = npy("prompt.npy", "H")
prompt = len(ids)
assert 4 < prompt < 12, prompt
while len(ids) < 16:
    open("so_far.bin", "wb").write(struct.pack("<16i", *ids, *[0] * (16 - len(ids))))
    subprocess.run("./gpt2 predict --load published.safetensors --tokens so_far.bin --next next.npy --quiet".split(), check=True)
    ids.append(npy("next.npy", "i")[len(ids) - 1])
ids = ids[prompt:]
head = "{'descr': '<u2', 'fortran_order': False, 'shape': (%d,), }" % len(ids)
open("written.npy", "wb").write(b"\x93NUMPY\1\0v\0" + head.ljust(117).encode() + b"\n" + struct.pack(f"<{len(ids)}H", *ids))
text = subprocess.run(["./gpt2", "detokenize", "written.npy", "--tokenizer", sys.argv[1]], capture_output=True, check=True).stdout
assert open("chat.txt", "rb").read().startswith(text), (text, open("chat.txt", "rb").read())
END
run 0 ./gpt2 train --tokens ids.bin --next ids.bin+1 --load published.safetensors,scope=gpt --steps 6 --save tuned.safetensors --quiet
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load tuned.safetensors
cmp -s out.txt before.txt && fail 'training changed nothing'

# ---- memory: the plan, info, and what the process has beside its code and stack are one figure ----
"$gc" "$here/docs/examples/gpt2.g" -O2 $small --dump-plan=json >plan.json || fail 'no plan'
run 0 ./gpt2 info train --threads 1
cp out.txt info.txt
python3 - >memory.txt <<'END' || fail 'the process could not be measured'
import json, re, subprocess, time
plan = json.load(open("plan.json"))
info = {m[1]: int(m[2].replace(",", "")) for m in re.finditer(r"^  (\w+) +([\d,]+)(?:  |$)", open("info.txt").read(), re.M)}
p = subprocess.Popen("./gpt2 train --tokens ids.bin --next ids.bin+1 --steps 60 --threads 1".split(), stdout=subprocess.DEVNULL)
most = 0
while p.poll() is None:
    try: lines = open(f"/proc/{p.pid}/smaps").readlines()
    except OSError: break
    total, counted = 0, False
    for line in lines:
        m = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) *(.*)", line)
        if m: counted = m[1] == "0" and not m[2].startswith("[stack")
        elif line.startswith("Rss:") and counted: total += 1024 * int(line.split()[1])
    most = max(most, total)
    time.sleep(0.02)
work = info.get("workspace", 0)  # of the one thread
print(plan["globals_bytes"] + plan["entries"][0]["arena_bytes"] + work, info["globals"] + info["arena"] + work, info["total"], most)
END
read -r planned informed total measured <memory.txt
echo "memory by the plan $planned, by info $informed and $total with all, by the process $measured"
at_most "$(awk "BEGIN {d = $planned / $informed - 1; print d < 0 ? -d : d}")" 0.01 'the plan against info'
# nothing of the workspace is for other numbers of threads: what is untouched is the buffer for files
at_most "$(awk "BEGIN {d = $measured / $total - 1; print d < 0 ? -d : d}")" 0.01 'the process against info'

# ---- GPT-2 as it is: gradients are kept for their norm, and all else lies in the same bytes ----
"$gc" "$here/docs/examples/gpt2.g" -O2 --dump-plan=json --emit=plan -o /dev/null >whole.json || fail 'no plan of GPT-2'
arena=$(python3 -c 'import json; print(json.load(open("whole.json"))["entries"][0]["arena_bytes"])')
at_most "$arena" $((124439808 * 4 * 1001 / 1000)) 'the arena beside the gradients of 124,439,808 parameters'
finish
