#!/bin/sh
# Transformers: the small one learns and writes with kept keys and values; GPT-2 takes weights by their
# published names.
. "$(dirname "$0")/common.sh"
prose 40000
run 0 "$gc" "$here/docs/examples/gpt.g" -O2 -D L=2 -D C=64 -D T=32 -D B=8 -D drop=0 -o gpt
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
same a.safetensors b.safetensors 'the same weights on three threads'
run 0 ./gpt write --load w.safetensors --steps 100 --text char --quiet
size=$(wc -c <out.txt)
[ "$size" = 100 ] || [ "$size" = 101 ] || fail "$size characters, not 100 (and perhaps a newline)"

# ---- GPT-2, small, with its published names ----
run 0 "$gc" "$here/docs/examples/gpt2.g" -O2 -D L=2 -D H=2 -D C=32 -D V=256 -D N=16 -D T=16 -D B=2 -o gpt2
python3 - <<'END' || fail 'no weights could be made'
import json, random, struct
random.seed(5)
C, shapes = 32, {"wte.weight": [256, 32], "wpe.weight": [16, 32], "ln_f.weight": [32], "ln_f.bias": [32]}
for l in range(2):
    for name, shape in {"ln_1.weight": [C], "ln_1.bias": [C], "attn.c_attn.weight": [C, 3 * C], "attn.c_attn.bias": [3 * C],
                        "attn.c_proj.weight": [C, C], "attn.c_proj.bias": [C], "ln_2.weight": [C], "ln_2.bias": [C],
                        "mlp.c_fc.weight": [C, 4 * C], "mlp.c_fc.bias": [4 * C], "mlp.c_proj.weight": [4 * C, C],
                        "mlp.c_proj.bias": [C]}.items():
        shapes[f"h.{l}.{name}"] = shape
header, data = {}, b""
for name, shape in shapes.items():
    n = 1
    for d in shape: n *= d
    values = struct.pack(f"<{n}f", *(random.gauss(0, 0.2) for _ in range(n)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
open("published.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
open("ids.bin", "wb").write(struct.pack("<256i", *(random.randrange(256) for _ in range(256))))
END
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load published.safetensors,scope=gpt
cp out.txt before.txt
grep -q 'random' out.txt && fail 'some weights were not loaded'
run 0 ./gpt2 train --tokens ids.bin --next ids.bin+1 --load published.safetensors,scope=gpt --steps 6 --save tuned.safetensors --quiet
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load tuned.safetensors
cmp -s out.txt before.txt && fail 'training changed nothing'
finish
