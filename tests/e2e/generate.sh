#!/bin/sh
# Nets that make something: a variational autoencoder, two nets against each other with an optimizer each,
# and an encoder with a decoder that looks at it. Each learns for some seconds, and its other entries run.
. "$(dirname "$0")/common.sh"
images=$data/mnist/t10k-images-idx3-ubyte.gz
need "$images"

# column NAME FILE: of a log, one number a line
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"; }
mean() { awk '{ s += $1 } END { print NR ? s / NR : "nothing" }'; }

# ---- vae ----
run 0 "$gc" "$here/docs/examples/vae.g" -D H=128 -O2 -o vae
run 0 ./vae train --image "$images[0:8000]" --epochs 1 --seed 1 --save vae.safetensors --log vae.csv --quiet
at_least "$(column loss vae.csv | head -1)" 500 'the first loss of the autoencoder'
run 0 ./vae validate --image "$images[8000:10000]" --load vae.safetensors --quiet
loss=$(sed -n 's/^loss = //p' out.txt) kl=$(sed -n 's/^kl = //p' out.txt)
echo "vae: loss $loss, of it code $kl"
at_most "$loss" 215 'the loss of the autoencoder on other digits'
at_least "$kl" 2 'the part of the code: it is used'
run 0 ./vae draw --load vae.safetensors --steps 2 --text digit --quiet
[ "$(tr -d '# \n' <out.txt | wc -c)" = 0 ] || fail 'a drawn digit has other characters'
run 0 ./vae rebuild --image "$images[8000:8001]" --load vae.safetensors --rebuilt rebuilt.npy --quiet
[ "$(wc -c <rebuilt.npy)" -gt 784 ] || fail 'no image was rebuilt'

# ---- dcgan ----
run 0 "$gc" "$here/docs/examples/dcgan.g" -D N=32 -D C=8 -D Z=16 -O2 -o dcgan
run 0 ./dcgan train --image "$images[0:2000]" --steps 40 --lr 0.001 --seed 1 --save dcgan.safetensors --log dcgan.csv --quiet
at_least "$(column critic_loss dcgan.csv | head -1)" 1 'the first loss of the critic'
at_most "$(column critic_loss dcgan.csv | tail -10 | mean)" 0.9 'the loss of the critic'
at_least "$(column real_found dcgan.csv | tail -10 | mean)" 0.8 'the share of real digits that it knows'
run 0 ./dcgan draw --load dcgan.safetensors --steps 2 --text digit --quiet
[ "$(tr -d '# \n' <out.txt | wc -c)" = 0 ] || fail 'a drawn digit has other characters'

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
echo "seq2seq: $right of 8 windows restored"
at_least "$right" 7 'windows that are restored'
finish
