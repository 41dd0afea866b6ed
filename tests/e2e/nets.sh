#!/bin/sh
# The large convolutional nets: what their plans take at the size they are trained at, and that smaller
# ones train. A plan is made of the whole net; only the smaller ones are compiled.
. "$(dirname "$0")/common.sh"
lightly_optimised 12 # large

# arena NAME ENTRY: bytes of an entry's arena, of 32 images of 224 x 224
arena() {
  "$gc" "$here/docs/examples/$1.g" -O2 --dump-plan=json >"$1.json" || fail "no plan of $1"
  python3 -c "
import json, sys
print([e['arena_bytes'] for e in json.load(open(sys.argv[1]))['entries'] if e['name'] == sys.argv[2]][0])" \
    "$1.json" "$2"
}
# What gc takes today: not a byte more. A plan that takes less lowers the figure.
at_most "$(arena inception_bn train)" 1098377408 'bytes of inception_bn, training'
at_most "$(arena inception_bn test)" 128450624 'bytes of inception_bn, inference'
at_most "$(arena resnet50 train)" 2614549952 'bytes of resnet50, training'
at_most "$(arena vgg train)" 558760128 'bytes of vgg, training'

# ---- smaller images, few of them ----
"$mkdata" idx u8 4,3,64,64 1 images.idx && "$mkdata" npy i32 4 2 labels.npy || fail 'no data could be made'
for net in inception_bn resnet50 vgg; do
  is_drawn "$net" 2 || continue # others on each commit
  run 0 "$gc" "$here/docs/examples/$net.g" -O1 -D N=2 -D S=64 -D classes=10 $([ $net = vgg ] && echo -D width=64) -o $net
  run 0 ./$net train --image images.idx --label labels.npy --epochs 2 --lr 0.005 --seed 1 --log $net.csv --quiet
  case $net in # the steps of two epochs: four images are learnt by heart
  inception_bn) want='2.0022893 1.3056804 0.4970914 0.08493185' ;;
  resnet50) want='3.1361766 6.532669e-05 0 0' ;;
  vgg) want='2.1382928 0 0 0' ;;
  esac
  exactly "$(sed 1d $net.csv | cut -d, -f3 | tr '\n' ' ')" "$want " "the losses of $net"
done
finish
