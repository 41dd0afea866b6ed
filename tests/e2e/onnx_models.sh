# Models of ONNX as texts of protobuf, for tests that begin with   . "$(dirname "$0")/onnx_models.sh"   behind common.sh.

# encode_onnx FILE: a model of the text that it reads
encode_onnx() { protoc-c --proto_path="$here/lang/onnx" --encode=onnx.ModelProto onnx.proto >"$1" || fail "$1 could not be made"; }
encode_graph() { # encode_graph TEXT: as bytes of a text of protobuf
  printf '%s' "$1" | protoc-c --proto_path="$here/lang/onnx" --encode=onnx.GraphProto onnx.proto |
    od -An -v -to1 | tr -d '\n' | sed 's/ /\\/g'
}
body() { # body NODES INPUTS OUTPUTS: of a loop
  encode_graph "$1 $(for i in $2; do echo "input { name: '$i' }"; done) $(for i in $3; do echo "output { name: '$i' }"; done)"
}

# ---- weights ----
# floats COUNT SEED
floats() { awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%g", i ? ", " : "", ((i * 7 + s) % 13 - 6) / 8 }'; }
tensor() { # tensor NAME DIMS COUNT SEED
  echo "initializer { name: '$1' data_type: 1 dims: [$2] float_data: [$(floats "$3" "$4")] }"
}
# int64s NAME NUMBERS, between commas
int64s() { echo "initializer { name: '$1' data_type: 7 dims: $(echo "$2" | awk -F, '{ print NF }') int64_data: [$2] }"; }
# one NAME TYPE DATA
one() { echo "initializer { name: '$1' data_type: $2 $3 }"; }
