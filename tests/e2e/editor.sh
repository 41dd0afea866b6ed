# The language server by a real client, Neovim; and what it answers to messages that are none.
. "$(dirname "$0")/common.sh"
cat >used.g <<'END'
# the width of the hidden layer
let wide = 8
END
cat >net.g <<'END'
use "used.g"
hyper rate = 0.1

# a small net
def net(x : [n, d]) {
  # two layers
  hidden = relu(linear(x, wide) as first)
  return linear(hidden, 3) as second
}

entry train(x : f32[4, 5], label : i32[4]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(rate)
  return loss
}
END
export GC="$gc"
cat >wanted.txt <<'END'
diagnostics of net.g 0
hover linear -> def linear(x : [..., d], units : count, bias : flag = true, init : function = glorot) | x @ w + b over the last axis; w begins with what the initialiser gives | linear : f32[4,8] | 128 bytes, in entry train, below `net`
hover hidden -> hidden : f32[4,8] | 128 bytes, in entry train, below `net` | planned at byte 0 of the arena (448), alive from step 2 to 9 of 15
hover loss -> loss : f32[] | 4 bytes, in entry train | planned at byte 320 of the arena (448), alive from step 5 to 15 of 15
hover rate -> hyper rate = 0.1 | rate : f32[] | 4 bytes, `rate`, in entry train | planned at byte 0 of the hypers
hover loss -> loss : f32[] | 4 bytes, in entry train | planned at byte 320 of the arena (448), alive from step 5 to 15 of 15
definition wide -> used.g:2:5
definition x -> net.g:5:9
definition net -> net.g:5:5
definition rate -> net.g:2:7
definition linear nothing
complete linear( -> x units bias init hidden d n rate
complete mean(xent( -> logits labels loss label x rate net wide
complete linear(x, wi -> units bias init hidden d n x rate
complete bias = true,  -> units hidden d n x rate net wide
diagnostic net.g:7:42 1 expected a value or ')', found ','
diagnostics of net.g 1
diagnostic net.g:7:21 1 unknown function 'rely' | hint: did you mean 'relu'? | note: in net
diagnostics of net.g 1
definition net -> net.g:5:5
diagnostics of net.g 0
formatted   hidden = relu(linear(x, wide))
formatted again 0
symbol rate 2 2
symbol net 5 9
symbol train 11 15
done
END
run 0 timeout 100 nvim --headless -u NONE -i NONE -c "luafile $here/tests/e2e/editor.lua"
tr -d '\r' <out.txt >answers.txt
diff wanted.txt answers.txt >changes.txt || fail "$(cat changes.txt)"
checks=$((checks + 1))

# message TEXT: in the protocol's frame
message() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
# answers CODE COMMAND...: what the server says to the messages that the command prints; its exit code
answers() {
  want=$1
  shift
  "$@" >messages.txt
  run "$want" sh -c '"$0" --lsp <messages.txt' "$gc"
}
early() { message '{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{}}'; message '{"method":"exit"}'; }
answers 1 early
holds out.txt '"error":{"code":-32002'
polite() {
  message '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}'
  message '{"jsonrpc":"2.0","id":2,"method":"no/such","params":[]}'
  message '{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///no"}}}'
  message '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///tmp/a%20b.g","text":"let"}}}'
  message '{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///tmp/a%20b.g"},"contentChanges":7}}'
  message '{"jsonrpc":"2.0","id":4,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///tmp/a%20b.g"},"position":{"line":-5,"character":99999}}}'
  message '{"jsonrpc":"2.0","id":5,"method":"textDocument/completion","params":{"textDocument":{"uri":"file:///tmp/a%20b.g"},"position":{"line":9,"character":9}}}'
  message '{"jsonrpc":"2.0","id":6,"method":"textDocument/formatting","params":{"textDocument":{"uri":"file:///tmp/a%20b.g"}}}'
  message '{"jsonrpc":"2.0","id":8,"method":"shutdown"}'
  message '{"jsonrpc":"2.0","method":"exit"}'
}
answers 0 polite
for id in '"a","result":{"capabilities"' '2,"error":{"code":-32601' '3,"result":null' '4,"result":null' '5,"result":{"isIncomplete":false' \
  '6,"result":null' '8,"result":null'; do
  holds out.txt "\"id\":$id"
done
broken() { message '{bad}'; message '[1]'; polite; }
answers 0 broken
holds out.txt '"id":null,"error":{"code":-32700'
holds out.txt '"id":8,"result":null'
answers 2 echo 'no message'
holds out.txt 'a message is no JSON-RPC with a Content-Length'
answers 0 true # the end of the input
finish
