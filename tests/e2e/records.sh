#!/bin/sh
# Instruction data: JSON lines of prompts and answers become tokens and marks of those that are learned, by the templates of
# chat, packed or each in a row of its own; what is no record is refused with its line.
. "$(dirname "$0")/common.sh"
unoptimised
cp "$here/tests/unit/tokens/smollm.json" "$here/tests/unit/tokens/tinyllama.json" .
cat >net.g <<'END'
entry look(tokens : i32[2, 12], next : i32[2, 12], learned : u8[2, 12]) { return n = sum(learned), last = tokens[:, 11], after = next[:, 11] }
END
run 0 "$gc" net.g --tokens -o net
cat >check.py <<'END'
import itertools, json, struct, subprocess
def npy(name):
    data = open(name, "rb").read()
    n = 10 + struct.unpack("<H", data[8:10])[0]
    kind = "B" if b"|u1" in data[:n] else "H"
    return list(struct.unpack("<%d%s" % ((len(data) - n) // struct.calcsize(kind), kind), data[n:]))
def ids(text, *options, tokenizer="smollm.json"):
    open("piece.txt", "w").write(text)
    subprocess.run(["./net", "tokenize", "piece.txt", "--tokenizer", tokenizer, "-o", "piece.npy", "--quiet", *options], check=True)
    return npy("piece.npy")
def records(lines, *options, tokenizer="smollm.json"):
    open("r.jsonl", "w").write("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    subprocess.run(["./net", "tokenize", "r.jsonl", "--tokenizer", tokenizer, "-o", "r.npy", "--mask", "m.npy", "--quiet", *options], check=True)
    return npy("r.npy"), npy("m.npy")
def joined(*parts):
    return [i for part, _ in parts for i in part], [m for part, m in parts for _ in part]

end = ids("<|im_end|>")
assert len(end) == 1
plain = ("--plain",)
first, more = {"prompt": "Where is it?\n", "completion": "Here, \u00e9 \"there\""}, {"prompt": "One", "completion": " two", "x": [1, {"y": None}]}
# plain: the texts as they are, and the token that ends an answer
want = joined((ids(first["prompt"]), 0), (ids(first["completion"], *plain), 1), (end, 1), (ids("One"), 0), (ids(" two", *plain), 1), (end, 1))
assert records([first, "", "  ", more], "--end", "<|im_end|>") == want
json.dump({"eos_token_id": [end[0], 1]}, open("config.json", "w"))  # beside the tokenizer
assert records([first, more]) == want
# chatml, with instructions and two answers
turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."},
         {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
head = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
want = joined((ids(head), 0), (ids("Yes.", *plain), 1), (end, 1), (ids("\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n", *plain), 0),
              (ids("So.", *plain), 1), (end, 1))
assert records([{"messages": turns}], "--template", "chatml") == want
assert records([{"messages": turns[1:3]}], "--template", "chatml") == records([{"prompt": "Hi", "completion": "Yes."}], "--template", "chatml")
# a template whose answers end in the middle of what follows
stop = 2
got, marks = records([{"messages": turns[1:]}], "--template", "llama2", tokenizer="tinyllama.json")
assert got[:marks.index(1)] == ids("[INST] Hi [/INST]", tokenizer="tinyllama.json")
runs = [list(g) for _, g in itertools.groupby(range(len(marks)), lambda i: marks[i])]
assert [marks[r[0]] for r in runs] == [0, 1, 0, 1] and [got[r[-1]] for r in runs[1::2]] == [stop, stop] and got.count(stop) == 2
assert got[runs[1][0]:runs[1][0] + 2] == ids("Yes.", *plain, tokenizer="tinyllama.json")[:2]
# of one length: cut, or padded with the end
long, short = records([first, more], "--length", "13"), records([more])
assert len(long[0]) == len(long[1]) == 26 and long[0][13:] == short[0] + end * (13 - len(short[0])) and long[1][13:] == short[1] + [0] * (13 - len(short[1]))
assert long[0][:13] == records([first])[0][:13]
END
run 0 python3 check.py
run 0 ./net tokenize r.jsonl --tokenizer smollm.json -o r.npy --mask m.npy --length 13
holds out.txt 'records: 1; tokens of answers: '
printf '{"prompt": "a", "completion": "b"}\n{"prompt": "c", "completion": "one two three four five six seven eight nine ten eleven twelve"}\n' >two.jsonl
run 0 ./net tokenize two.jsonl --tokenizer smollm.json -o two.npy --mask two_mask.npy --length 13
holds out.txt 'records: 2; tokens of answers: '
holds out.txt 'note: records of more than 13 tokens, which were cut: 1'
run 0 ./net look --tokens 'two.npy~13' --next 'two.npy+1~13' --learned 'two_mask.npy+1~13' # rows of T + 1
holds out.txt 'n = '
# ---- what is refused ----
printf '{"prompt": "one two three four", "completion": "b"}\n' >long.jsonl
says 1 'tokenize: no record has a token of an answer' ./net tokenize long.jsonl --tokenizer smollm.json -o none.npy --mask none_mask.npy --length 2
holds out.txt 'hint: --length cuts the answers away: raise it'
absent none.npy none_mask.npy
refuse() { # refuse TEXT LINE...
  text=$1
  shift
  printf '%s\n' "$@" >bad.jsonl
  says 1 "$text" ./net tokenize bad.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --template chatml
}
refuse 'bad.jsonl:2: the record is wrong at byte' '{"prompt": "a", "completion": "b"}' '{"prompt": "a",'
holds out.txt 'hint: each line is an object, as {"prompt": "…", "completion": "…"}'
refuse 'bad.jsonl:1' '["a"]'
refuse 'it has neither "messages" nor "prompt" and "completion"' '{"text": "a"}'
refuse 'it has no "completion"' '{"prompt": "a"}'
refuse 'completion' '{"prompt": "a", "completion": 3}'
refuse 'messages is no list' '{"messages": {"role": "user"}}'
refuse 'a message is no object' '{"messages": ["a"]}'
refuse 'the role tool is none of system, user, assistant' '{"messages": [{"role": "tool", "content": "a"}]}'
refuse 'a message of the assistant stands where one of the user is expected' '{"messages": [{"role": "assistant", "content": "a"}]}'
refuse 'a message of the user stands where one of the assistant is expected' '{"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "a"}]}'
refuse 'no answer of the assistant is at the end' '{"messages": [{"role": "user", "content": "a"}]}'
refuse 'no answer of the assistant is at the end' '{"messages": []}'
absent bad.npy bad_mask.npy
says 1 'the tokenizer has no token <|eot_id|>, which ends an answer of the template llama3' \
  ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --template llama3
says 2 '--template is one of plain, chatml, llama2, llama3, zephyr, not alpaca' \
  ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --template alpaca
says 2 '--end is for JSON lines of prompts and answers' ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --end x
says 2 '-o and --mask would both write this file' ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask "$PWD/./bad.npy"
says 2 '--plain and --mask exclude each other' ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --plain
says 2 '--end: an answer of the template chatml ends with <|im_end|>' \
  ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --template chatml --end '<|im_end|>'
says 2 '--end: the tokenizer has no token </answer>' ./net tokenize two.jsonl --tokenizer smollm.json -o bad.npy --mask bad_mask.npy --end '</answer>'
absent bad.npy bad_mask.npy
finish
