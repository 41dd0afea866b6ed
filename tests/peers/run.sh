#!/bin/sh
# Compares gc with frameworks that nobody here wrote: PyTorch, JAX, and the onnx package's tests of operators.
#   sh tests/peers/run.sh [BUILD [PART…]]       BUILD: default build; PART: training, trees, llama, lora, encoders, tokens, onnx, contrib, models, decoders, speed, export, bridge, memory, llama_cpp; default: all but llama_cpp
# Makes BUILD/peers, an environment of Python with torch, jax, numpy, onnx and safetensors, for models also
# torchvision, transformers and onnxruntime, from PyPI (about 6 GB, since
# PyPI's torch brings CUDA's libraries along; PyTorch's own index of smaller wheels is tried first).
# - training: each example of docs/examples trained 20 steps by gc and by PyTorch, losses and weights compared
# - trees: seven trainings with trees of params (averages, groups, clipping, f16, adapters) for 20 steps by gc and PyTorch
# - llama: llama.g with the weights of small models of four families, as transformers saves them, and its results
# - lora: fine-tuning of a small LLaMA, all weights and adapters, beside PyTorch and PEFT, and adapters from one to the other
# - encoders: bert.g and vit.g with the weights of small models, as transformers saves them: outputs, and losses of 20 steps
# - tokens: tokenizers of twelve configurations beside the package tokenizers, on 10 MB of text
# - onnx: every case of the onnx package whose operators have a counterpart, compiled by gc and run
# - contrib: contrib operators of ONNX Runtime, which its optimizer and quantization tools write, through gc and through it
# - models: nets of torchvision and transformers through ONNX: outputs beside ONNX Runtime's, 20 steps of training beside PyTorch's
# - decoders: language models with a cache of any length through ONNX, token by token beside ONNX Runtime
# - speed: nets of torchvision and transformers at their published sizes: time and memory of a run beside ONNX Runtime's; 3 GB of files
# - export: entries of the examples as models of ONNX: outputs beside ONNX Runtime's, and those of gc's import of the model
# - bridge: the script of docs/from-pytorch.md: a module trained by gc through torch.export and ONNX, beside PyTorch
# - llama_cpp: tokens a second and memory of two language models beside llama.cpp's; builds it; takes an hour, 20 GB of disk and 10 GB of memory
# - memory: what a training step of four large nets holds, by gc's plan, by PyTorch, by JAX; takes up to 12 GB
# Exit code 1: something differs, or gc needs more memory. docs/results.md has what came out.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- training trees llama lora encoders tokens onnx contrib models decoders speed export bridge memory
cmake -S "$root" -B "$build" >/dev/null
cmake --build "$build" -j "$(nproc)" --target gc gcrt
build=$(cd "$build" && pwd)
python=$build/peers/bin/python
export PYTHONDONTWRITEBYTECODE=1
if [ "$*" = onnx ]; then # without the frameworks, which are large
  if ! "$python" -c 'import ml_dtypes, numpy, onnx' 2>/dev/null; then
    python3 -m venv "$build/peers"
    "$python" -m pip install --quiet ml_dtypes numpy onnx
  fi
elif ! "$python" -c 'import torch, jax, numpy, onnx, safetensors' 2>/dev/null; then
  python3 -m venv "$build/peers"
  "$python" -m pip install --quiet --retries 0 --index-url https://download.pytorch.org/whl/cpu torch 2>/dev/null ||
    "$python" -m pip install --quiet torch
  "$python" -m pip install --quiet jax numpy onnx safetensors
fi
code=0
for part in "$@"; do
  printf '\n== %s, %s, %s cores\n' "$part" "$(date +%F)" "$(nproc)"
  case $part in
  training) "$python" "$root/tests/peers/training.py" "$build" || code=1 ;;
  trees) "$python" "$root/tests/peers/trees.py" "$build" || code=1 ;;
  llama)
    "$python" -c 'import transformers' 2>/dev/null || "$python" -m pip install --quiet transformers
    "$python" "$root/tests/peers/llama.py" "$build" || code=1
    ;;
  lora)
    "$python" -c 'import peft, transformers' 2>/dev/null || "$python" -m pip install --quiet peft transformers
    "$python" "$root/tests/peers/lora.py" "$build" || code=1
    ;;
  encoders)
    "$python" -c 'import transformers' 2>/dev/null || "$python" -m pip install --quiet transformers
    "$python" "$root/tests/peers/encoders.py" "$build" || code=1
    ;;
  tokens)
    "$python" -c 'import tokenizers' 2>/dev/null || "$python" -m pip install --quiet tokenizers
    "$python" "$root/tests/peers/tokens.py" "$build" || code=1
    ;;
  onnx) "$python" "$root/tests/peers/onnx_nodes.py" "$build" || code=1 ;;
  contrib)
    "$python" -c 'import onnxruntime' 2>/dev/null || "$python" -m pip install --quiet onnxruntime
    "$python" "$root/tests/peers/onnx_contrib.py" "$build" || code=1
    ;;
  models | decoders | speed)
    "$python" -c 'import torchvision, transformers, onnxruntime, onnxscript' 2>/dev/null ||
      "$python" -m pip install --quiet torchvision transformers onnxruntime onnxscript
    case $part in
    models) "$python" "$root/tests/peers/onnx_models.py" "$build" || code=1 ;;
    decoders) "$python" "$root/tests/peers/onnx_decoders.py" "$build" || code=1 ;;
    speed) "$python" "$root/tests/peers/onnx_speed.py" "$build" "$build/peers-work/speed" || code=1 ;;
    esac
    ;;
  export)
    "$python" -c 'import onnxruntime' 2>/dev/null || "$python" -m pip install --quiet onnxruntime
    "$python" "$root/tests/peers/onnx_export.py" "$build" || code=1
    ;;
  bridge)
    "$python" -c 'import onnxscript' 2>/dev/null || "$python" -m pip install --quiet onnxscript
    "$python" "$root/tests/peers/bridge.py" "$build" || code=1
    ;;
  llama_cpp)
    "$python" -c 'import tqdm, yaml' 2>/dev/null || "$python" -m pip install --quiet tqdm pyyaml
    "$python" "$root/tests/peers/llama_cpp.py" "$build" "$build/peers-work/llama_cpp" || code=1
    ;;
  memory) "$python" "$root/tests/peers/memory.py" "$build" || code=1 ;;
  *) echo "run.sh: no part is called '$part': training, trees, llama, lora, encoders, tokens, onnx, contrib, models, decoders, speed, export, bridge, memory, llama_cpp" >&2 && exit 2 ;;
  esac
done
exit $code
