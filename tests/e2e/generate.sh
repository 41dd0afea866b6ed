#!/bin/sh
# Nets that make something: a variational autoencoder, two nets against each other with an optimizer each,
# and an encoder with a decoder that looks at it. Each learns for some seconds, and its other entries run.
. "$(dirname "$0")/common.sh"
lightly_optimised
images=$data/mnist/t10k-images-idx3-ubyte.gz
need "$images"

# column NAME FILE: of a log, one number a line
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"; }
mean() { awk '{ s += $1 } END { print NR ? s / NR : "nothing" }'; }

# drawn FILE N MOST WHAT: so many pictures of 28 x 28 characters, blank or #, no two alike, and none blank or with
# more than MOST dark pixels
drawn() {
  checks=$((checks + 1))
  python3 - "$1" "$2" "$3" <<'END' || { fail "$4"; cat "$1"; }
import sys
rows, n = open(sys.argv[1]).read().split("\n"), int(sys.argv[2])
rows = rows[:-1] if rows and not rows[-1] else rows
pictures = ["\n".join(rows[28 * i : 28 * i + 28]) for i in range(n)]
assert len(set(pictures)) == n, "two pictures are alike"
for p in pictures:
    assert len(p) == 28 * 29 - 1 and set(p) <= set(" #\n"), f"{len(p)} characters"
    assert 10 <= p.count("#") <= int(sys.argv[3]), f"{p.count('#')} dark pixels"
END
}

# ---- vae ----
run 0 "$gc" "$here/docs/examples/vae.g" -D H=128 -O2 -o vae
run 0 ./vae train --image "$images[0:8000]" --epochs 1 --seed 1 --save vae.safetensors --log vae.csv --quiet
at_least "$(column loss vae.csv | head -1)" 500 'the first loss of the autoencoder'
run 0 ./vae validate --image "$images[8000:10000]" --load vae.safetensors --quiet
loss=$(sed -n 's/^loss = //p' out.txt) kl=$(sed -n 's/^kl = //p' out.txt)
exactly "$loss" 201.247 'the loss of the autoencoder on other digits'
exactly "$kl" 15.9905 'the part of the code'
run 0 ./vae draw --load vae.safetensors --steps 2 --text digit --quiet
drawn out.txt 2 300 'digits that the autoencoder draws'
run 0 ./vae rebuild --image "$images[8000:8001]" --load vae.safetensors --rebuilt rebuilt.npy --quiet
checks=$((checks + 1))
python3 - "$images" <<'END' || fail 'the rebuilt image is another one'
import gzip, sys
image = gzip.open(sys.argv[1]).read()[16 + 8000 * 784 :][:784]
rebuilt = open("rebuilt.npy", "rb").read()[-784:]
def alike(x, y): # the correlation of their pixels
    x, y = [a - sum(x) / 784 for a in x], [b - sum(y) / 784 for b in y]
    dot = lambda a, b: sum(p * q for p, q in zip(a, b))
    return dot(x, y) / (dot(x, x) * dot(y, y)) ** 0.5
print(f"correlation of the rebuilt image with the one given: {alike(rebuilt, image):.3f}")
assert alike(rebuilt, image) > 0.5
END

# ---- dcgan ----
run 0 "$gc" "$here/docs/examples/dcgan.g" -D N=32 -D C=8 -D Z=16 -O2 -o dcgan
run 0 ./dcgan train --image "$images[0:2000]" --steps 40 --lr 0.001 --seed 1 --save dcgan.safetensors --log dcgan.csv --quiet
at_least "$(column critic_loss dcgan.csv | head -1)" 1 'the first loss of the critic'
at_most "$(column critic_loss dcgan.csv | tail -10 | mean)" 0.9 'the loss of the critic'
at_least "$(column real_found dcgan.csv | tail -10 | mean)" 0.8 'the share of real digits that it knows'
run 0 ./dcgan draw --load dcgan.safetensors --steps 2 --text digit --quiet
drawn out.txt 2 500 'digits that the generator draws'

# ---- seq2seq: some windows by heart ----
prose 20000
run 0 "$gc" "$here/docs/examples/seq2seq.g" -D B=8 -D T=12 -D D=16 -D H=48 -O2 -o seq2seq
run 0 ./seq2seq train --chars text.txt[0:8] --steps 250 --lr 0.01 --seed 1 --save seq2seq.safetensors --log seq2seq.csv --quiet
at_least "$(column loss seq2seq.csv | head -1)" 4 'the first loss of the decoder'
at_most "$(column loss seq2seq.csv | tail -1)" 0.1 'the last loss of the decoder'
right=0
for k in 0 1 2 3 4 5 6 7; do
  run 0 ./seq2seq restore --chars "text.txt[$k:$((k + 1))]" --load seq2seq.safetensors --text written --quiet
  { head -c $((12 * k + 12)) text.txt | tail -c 12 && echo; } | cmp -s - out.txt && right=$((right + 1))
done
exactly "$right" 8 'windows that are restored'
finish
