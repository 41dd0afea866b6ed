#!/bin/sh
# Programs compiled with --tokens: texts to arrays of tokens that training takes in windows, and back; what cannot be
# read is refused, and no file appears.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
let T = 8
entry train(tokens : i32[4, T], next : i32[4, T]) {
  param table : f32[600, 16] = normal(std = 0.1)
  loss = mean(xent(gather(table, tokens) @ table', next))
  minimize loss with sgd(0.1)
  return loss
}
END
run 0 "$gc" net.g --tokens -O1 -o net
cp "$here/tests/unit/tokens/"* .
prose 20000
run 0 ./net tokenize text.txt --tokenizer qwen2.json -o text.npy
holds out.txt 'tokens of'
run 0 ./net tokenize text.txt text.txt --tokenizer llama3.json --plain -o twice.npy --quiet
run 0 ./net tokenize text.txt --tokenizer llama3.json --plain --output=once.npy --quiet
cat >check.py <<'END'
import struct
def ids(name):
    data = open(name, "rb").read()
    head = 10 + struct.unpack("<H", data[8:10])[0]
    assert b"'<u2'" in data[:head], data[:head]
    return data[head:]
assert ids("twice.npy") == 2 * ids("once.npy")
END
python3 check.py || fail 'two texts are not their tokens one after the other'
# back, byte for byte
./net detokenize text.npy --tokenizer qwen2.json >back.txt || fail 'detokenize'
cmp -s text.txt back.txt || fail 'the text that comes back differs'
bytes=$(wc -c <back.txt)
{ ./net detokenize 'text.npy[:9]' --tokenizer qwen2.json && ./net detokenize 'text.npy[9:]' --tokenizer qwen2.json; } >parts.txt || fail 'rows of detokenize'
cmp -s text.txt parts.txt || fail "the first 9 tokens and the others are not the text, of $bytes bytes"
says 1 'rows from 1000000 on were asked for' ./net detokenize 'text.npy[1000000:]' --tokenizer qwen2.json
says 2 'detokenize takes rows of an array, as text.npy[0:20], and no other part' ./net detokenize 'text.npy+3' --tokenizer qwen2.json
# windows of an array of one axis; of two axes there are rows
run 0 ./net train --tokens 'text.npy~8' --next 'text.npy+1~8' --steps 5 --quiet
run 0 ./net train --tokens 'text.npy[0:8]~8' --next 'text.npy+1~8[0:8]' --steps 2 --quiet
"$mkdata" npy i32 8,8 1 rows.npy
says 1 'has rows of its own' ./net train --tokens 'rows.npy~2' --next 'rows.npy~2' --steps 1
printf "[]" >empty.json
# what the command line lists, and what it refuses
run 0 ./net --help
holds out.txt 'net tokenize TEXT'
run 0 ./net tokenize --help
holds out.txt '--tokenizer FILE.json'
says 2 'tokenize needs --tokenizer FILE.json' ./net tokenize text.txt -o x.npy
says 2 'no text is named' ./net tokenize --tokenizer gpt2.json -o x.npy
says 2 'unknown option --tokeniser' ./net tokenize text.txt --tokeniser gpt2.json
says 1 'is no tokenizer.json' ./net tokenize text.txt --tokenizer empty.json -o x.npy
printf 'ab\377c' >bad.txt
says 1 'bad.txt: the text is not UTF-8 at byte 2' ./net tokenize text.txt bad.txt --tokenizer gpt2.json -o x.npy
says 1 'text.txt: is no .npy file' ./net detokenize text.txt --tokenizer gpt2.json
holds out.txt 'an entry: --OUTPUT FILE.npy'
printf '{"model":{"vocab":{"a":0},"merges":[]}}' >tiny.json
says 1 'which is no token of 1' ./net detokenize text.npy --tokenizer tiny.json
absent x.npy
# an entry of that name is the command; other programs have none
printf 'entry tokenize(x : f32[4]) { return y = x * 2 }\n' >own.g
run 0 "$gc" own.g --tokens -o own
"$mkdata" npy f32 4 1 x4.npy
run 0 ./own tokenize --x x4.npy
run 0 "$gc" net.g -O1 -o plain
says 2 'this program has no entry: tokenize' ./plain tokenize text.txt
says 2 '--tokens is for executables' "$gc" net.g --tokens --emit=lib -o libnet.so
finish
