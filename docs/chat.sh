#!/bin/sh
# From a folder of published weights, as it was downloaded, to a chat in the terminal: installs what is missing, builds
# gc, compiles the folder's model, and runs it.
#   sh docs/chat.sh FOLDER [options of the program's command chat, such as --prompt TEXT --temperature 0.7]
# GC=PATH is a gc that is built already, OUT=FOLDER where the program goes instead of build/chat.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)

fail() { # MESSAGE REMEDY
  printf 'docs/chat.sh: error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 2
}

[ $# -ge 1 ] || fail 'it needs a folder' 'sh docs/chat.sh FOLDER, with config.json, tokenizer.json and the .safetensors of a model'
folder=$1
shift
for file in config.json tokenizer.json; do
  [ -f "$folder/$file" ] || fail "the folder $folder has no $file" 'download all files of the model'
done

config() { tr -d '\n' <"$folder/config.json" | sed -n "s/.*\"$1\" *: *\"\{0,1\}\([A-Za-z0-9_]*\).*/\1/p"; }

model=llama sizes=
kind=$(config model_type)
case $kind in
llama | mistral | smollm3 | qwen2 | qwen3 | phi3) ;;
gpt2) model=gpt2 sizes="-D S=$(config n_positions)" ;;
*) fail "$folder/config.json is of the model_type '$kind'" 'llama, mistral, smollm3, qwen2, qwen3, phi3 and gpt2 are known; another one may come by ONNX: docs/onnx.md' ;;
esac

if [ -z "${GC-}" ]; then
  sh "$home/docs/build.sh" >&2
  GC=$home/build/bin/gc
fi
out=${OUT:-$home/build/chat}
mkdir -p "$out"
# the words of $sizes are options
# shellcheck disable=SC2086
"$GC" "$home/docs/examples/$model.g" -O2 --config="$folder/config.json" $sizes -D P=64 --tokens -o "$out/$model"
exec "$out/$model" chat --load "$folder" "$@"
