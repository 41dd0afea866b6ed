#!/bin/sh
# The GPT-2 of e2e/gpt, run before, with weights as another writer writes them and as another reader understands
# them: its loss is what numpy makes of the same weights. Exit code 77 where numpy or safetensors are not installed.
. "$(dirname "$0")/common.sh"
python3 -c 'import numpy, safetensors' 2>/dev/null || {
  not_tested 'GPT-2 against numpy: numpy and safetensors are not installed'
  exit 77
}
for file in gpt2 published.safetensors ids.bin before.txt; do
  cp "../gpt/$file" . || fail "e2e/gpt left no $file"
done
expected=$(python3 - <<'END'
import numpy as np
from safetensors.numpy import load_file, save_file
w = load_file("published.safetensors")
save_file(dict(sorted(w.items(), reverse=True)), "again.safetensors", metadata={"format": "pt"})
w = {name: a.astype(np.float64) for name, a in w.items()}
ids = np.fromfile("ids.bin", "<i4")
def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w[name + ".bias"]
def dense(x, name): return x @ w[name + ".weight"] + w[name + ".bias"]
def loss(tokens, following):
    x = w["wte.weight"][tokens] + w["wpe.weight"]
    for l in range(2):
        h = f"h.{l}."
        q, k, v = (z.reshape(16, 2, 64).transpose(1, 0, 2) for z in np.split(dense(norm(x, h + "ln_1"), h + "attn.c_attn"), 3, -1))
        s = np.where(np.tri(16) > 0, q @ k.transpose(0, 2, 1) / 8, -np.inf)
        s = np.exp(s - s.max(-1, keepdims=True))
        y = s / s.sum(-1, keepdims=True) @ v
        x = x + dense(y.transpose(1, 0, 2).reshape(16, 128), h + "attn.c_proj")
        m = dense(norm(x, h + "ln_2"), h + "mlp.c_fc")
        x = x + dense(0.5 * m * (1 + np.tanh(np.sqrt(2 / np.pi) * (m + 0.044715 * m**3))), h + "mlp.c_proj")
    y = norm(x, "ln_f") @ w["wte.weight"].T
    return (np.log(np.exp(y).sum(-1)) - y[np.arange(16), following]).mean()
rows = [loss(ids[i:i + 16], ids[i + 1:i + 17]) for i in range(0, 240, 16)] # seven batches of two, and one of one
print(np.mean(rows))
END
) || fail 'numpy could not compute the loss'
run 0 ./gpt2 loss --tokens ids.bin --next ids.bin+1 --load again.safetensors,scope=gpt
same out.txt before.txt 'the loss with weights that another program wrote'
got=$(awk '/^loss/ {print $3}' out.txt)
at_most "$(awk "BEGIN {d = ($got - $expected) / $expected; print d < 0 ? -d : d}")" 0.00001 'the distance of the loss from numpy'
finish
