#!/bin/sh
# Several files as one input: the bits of the joined file, in memory and from disk; CSV with words over all files;
# images; and every wrong pattern with its one message.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
entry train(x : f32[4, 6], y : u8[4]) {
  loss = mean(xent(linear(x, 5), y))
  minimize loss with sgd(0.1)
  return loss }
entry same(x : f32[1, 6]) { return z = x * 1 }
entry whole(y : f32[n <= 2, 6], x : f32[42]) { return z = x, w = y * 1 }
entry chars(y : f32[n <= 2, 6], k : u8[n, 4]) { return w = y * 1, c = i32(k) }
entry fixed(y : f32[n <= 2, 6], k : u8[3, 4]) { return w = y * 1, c = i32(k) }
entry codes(k : u8[1]) { return n = i32(k) }
entry pair(v : f32[1, 2]) { return w = v * 1 }
entry next(a : i32[n <= 5, 4], b : i32[n, 4]) { return c = a * 1, d = b * 1 }
entry ahead(a : i32[n <= 5, 4], z : u8[n]) { return c = a * 1, d = i32(z) }
entry small(k : u8[n <= 5, 4]) { return n = gather(f32(iota(60)), k) }
G
run 0 "$gc" net.g -o net
"$mkdata" npy f32 50,6 1 x.npy && "$mkdata" npy i64 50 5 y.npy || fail 'no data could be made'
python3 - <<'P'
import struct
def read(name, row):
    raw = open(name, "rb").read()
    head = 10 + raw[8] + 256 * raw[9]
    return raw[:head].decode("latin1"), [raw[head + i * row:head + (i + 1) * row] for i in range(50)]
for name, row, tail in (("x", 24, ", 6"), ("y", 8, ",")):
    head, rows = read(name + ".npy", row)
    at = 0
    for part, n in (("1", 7), ("10", 1), ("2", 30), ("3", 12)): # byte by byte 10 stands before 2
        text = head[10:].replace("(50%s)" % tail, "(%d%s)" % (n, tail)).rstrip()
        text = (text.ljust(117) + "\n").encode("latin1")
        with open("%s-%s.npy" % (name, part), "wb") as f:
            f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + b"".join(rows[at:at + n]))
        at += n
    open(name + ".raw", "wb").write(b"".join(rows))
P
head -c 240 x.raw >flat-1.bin && tail -c 960 x.raw >flat-2.bin

# ---- the same bits ----
run 0 ./net train --x x.npy --y y.npy --epochs 3 --seed 2 --save one.st --checkpoint one.ck
for options in '' '--data-memory 0' '--data-memory 0 --threads 2 --poison'; do
  run 0 ./net train --x 'x-*.npy' --y 'y-?*.npy' --epochs 3 --seed 2 --save several.st $options
  same one.st several.st "weights $options"
done
run 0 ./net train --x 'x-*.npy' --y 'y-*.npy' --epochs 4 --resume one.ck
run 0 ./net same --x 'x.npy[5:41]' --z one.npy
for options in '' '--data-memory 0'; do
  for x in 'x-*.npy[5:41]' 'x-*.npy[5:-9]' 'flat-?.bin:f32[5:41]'; do
    run 0 ./net same --x "$x" --z several.npy $options
    same one.npy several.npy "rows of $x $options"
  done
done

# ---- windows go from one file into the next; two inputs of the same files are cut to the rows that both have ----
python3 - <<'P'
import struct
def npy(name, data):
    head = "{'descr': '<u2', 'fortran_order': False, 'shape': (%d,), }" % len(data)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dH" % len(data), *data))
tokens, at = [i * 7 % 61 for i in range(64)], 0
for part, n in (("1", 25), ("2", 2), ("3", 1), ("4", 36)): # two are shorter than a window
    npy("token-%s.npy" % part, tokens[at:at + n])
    open("token-%s.bin" % part, "wb").write(struct.pack("<%dH" % n, *tokens[at:at + n]))
    at += n
npy("tokens.npy", tokens)
P
for windows in '~4 +1~4' '~1 +1~1' '+13~3 +14~3' '+27~5[1:4] +27~5[1:4]'; do
  a=${windows% *} b=${windows#* }
  rm -f one.npy next.npy several.npy after.npy
  run 0 ./net next --a "tokens.npy$a" --b "tokens.npy$b" --c one.npy --d next.npy
  for options in '' '--data-memory 0 --threads 2 --poison'; do
    for files in 'token-?.npy' 'token-?.bin:u16'; do
      run 0 ./net next --a "$files$a" --b "$files$b" --c several.npy --d after.npy $options
      same one.npy several.npy "windows $a of $files $options"
      same next.npy after.npy "windows $b of $files $options"
    done
  done
done
# the input that is declared first may have the later rows
for windows in '~4 +1~4' '~4[3:8] ~4[0:5]'; do
  a=${windows% *} b=${windows#* }
  rm -f one.npy next.npy several.npy after.npy
  run 0 ./net next --a "tokens.npy$a" --b "tokens.npy$b" --c one.npy --d next.npy
  run 0 ./net next --a "tokens.npy$b" --b "tokens.npy$a" --c after.npy --d several.npy
  same one.npy several.npy "windows $a, declared behind $b"
  same next.npy after.npy "windows $b, declared before $a"
done

gzip -k x-2.npy && mkdir packed && mv x-2.npy.gz packed/b.gz && cp x-1.npy packed/a.gz # each is what it is
rm several.npy
run 0 ./net same --x 'packed/?.gz' --z several.npy

# ---- CSV: words are numbered over all files ----
printf 'a,b,kind\n1,2,red\n3,4,green\n' >t1.csv
printf 'kind,b,a\ngreen,6,5\n' >t2.csv
printf 'a,b,kind\n7,8,blue\n' >t3.csv
array() { tail -c "$2" "$1" | od -An -v "$3" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }
run 0 ./net codes --k 't?.csv:kind' --n n.npy
holds out.txt 'note: t?.csv: kind is blue = 0, green = 1, red = 2; elsewhere: FILE:kind=blue|green|red'
exactly "$(array n.npy 16 -td4)" '2 1 1 0' 'words of three files'
run 0 ./net codes --k 't?.csv:kind=red|green|blue' --n n.npy
exactly "$(array n.npy 16 -td4)" '0 1 1 2' 'words that are listed'
run 0 ./net pair --v 't*.csv:a,b' --w w.npy
exactly "$(array w.npy 32 -tfF | sed 's/\.0//g')" '1 2 3 4 5 6 7 8' 'columns by name'

# ---- what is wrong ----
wrong() { # wrong MESSAGE HINT ARGUMENTS...
  message=$1 hint=$2
  shift 2
  says 1 "error: $message" ./net "$@"
  holds out.txt "hint: $hint"
}
wrong 'z-*.npy: matches no file' '* stands for any characters and ? for one' same --x 'z-*.npy'
wrong 'x-1.npy: has rows of its own; +k, ~s and :type are for flat files' 'choose rows with x-1.npy[a:b]' same --x 'x-*.npy~1'
says 1 'error: x-1.npy: has rows of its own; +k, ~s and :type are for flat files' ./net next --a x-1.npy~1 --b x-1.npy
holds out.txt 'hint: choose rows with x-1.npy[a:b]; windows are taken of an array of one axis, as numpy.ravel makes it: ~6 is then a row of this one'
wrong 'token-?.npy: has no rows for the input a' 'the input is i32[n <= 5, 4]: a row has 4 elements, and the file has 64' next --a 'token-?.npy+61' --b token-4.npy~1
wrong 'token-?.bin: input row 26 holds 60, which is not below 60' 'the input k must hold 0 to 59: correct the file' small --k 'token-?.bin:u16~1'
wrong 'token-?.bin: input row 26 holds 60, which is not below 60' 'the input k must hold 0 to 59: correct the file' small --k 'token-?.bin:u16~1[3:]' --data-memory 0
printf '\000\001' >>token-4.bin
for memory in 0 1G; do
  says 1 'token-4.bin: element 36 is 256, which the input k (u8) cannot hold' ./net small --k 'token-?.bin:u16+1~4' --data-memory $memory
done
wrong 'x-*.npy: matches 4 files, but the input x has no batch axis' 'give one file' whole --x 'x-*.npy' --y x.npy
# an input without a batch axis takes a flat file as a whole: nothing behind it is left out unsaid
wrong 'x.raw: holds 300 elements, but the input x is f32[42]' 'it takes 42; those from element k on, and no more, are x.raw+k' whole --x x.raw --y x.npy
head -c 168 x.raw >flat-42.raw
for x in x.raw+0 x.raw[0:1] x.raw~42; do
  run 0 ./net whole --x "$x" --y x.npy --z "whole.npy"
  run 0 ./net whole --x flat-42.raw --y x.npy --expect z=whole.npy --rtol 0 --atol 0
done
printf 'one more line than that\n' >line.txt
says 1 'error: y has 50 rows (x.npy), but k has 6 (line.txt)' ./net chars --y x.npy --k line.txt
holds out.txt 'hint: row i of each file must belong together: line.txt is text, and its rows are 4 characters each, line ends included'
printf 'four letters' >line.txt
run 0 ./net fixed --y x.npy --k line.txt
printf 'four letters\n' >line.txt # the end of its line
run 0 ./net fixed --y x.npy --k line.txt
printf 'four letters\nand' >line.txt
wrong 'line.txt: holds 16 elements, but the input k is u8[3, 4]' 'it takes 12; those from element k on, and no more, are line.txt+k' fixed --y x.npy --k line.txt
cp y-1.npy x-4.npy
wrong 'x-4.npy: holds i64[7], but the input x is f32[1, 6]' 'the elements of a row' same --x 'x-*.npy'
"$mkdata" npy f64 3,6 1 x-4.npy
wrong 'x-4.npy: holds f64, but x-1.npy holds f32' 'files of a pattern have one type; convert one of them' same --x 'x-*.npy'
head -c 100 x-1.npy >x-4.npy
says 1 'error: x-4.npy: ' ./net same --x 'x-*.npy'
rm x-4.npy
wrong 'x-*.npy: rows 40 to 51 were asked for, but it has 50 rows' '[a:b] takes rows' same --x 'x-*.npy[40:51]'
head -c 250 x.raw >flat-3.bin
says 1 'error: flat-3.bin: has ' ./net same --x 'flat-*.bin:f32'
head -c 256 x.raw >flat-3.bin
wrong 'flat-3.bin: has 64 elements, which is no whole number of rows of 6' '~6 behind the pattern lets rows go from one file into the next' same --x 'flat-*.bin:f32'
wrong 't2.csv: has the column kind where t1.csv has a' 'files of a pattern have the same columns' pair --v 't?.csv:1..2'
"$mkdata" npy i64 50 5 y.npy
cp y-2.npy bad-1.npy && python3 - <<'P'
raw = bytearray(open("y-2.npy", "rb").read())
raw[-5 * 8] = 9
open("bad-2.npy", "wb").write(raw)
raw[-5 * 8 + 1] = 1
open("bad-2.npz.npy", "wb").write(raw)
P
for memory in 0 1G; do
  says 1 'bad-2.npy: input row 25 holds 9, which is not below 5' ./net train --x 'x-2*.npy' --y 'bad-2.npy' --data-memory $memory
  says 1 'bad-2.npy: input row 25 holds 9, which is not below 5' ./net train --x 'x-[23]*y' --y 'bad-?.npy[14:56]' --data-memory $memory
  says 1 'bad-2.npz.npy: element 25 (row 25) is 265, which the input k (u8) cannot hold' ./net codes --k 'bad-?.n*y' --data-memory $memory
done
says 2 'an option was expected' ./net same --x x-1.npy x-2.npy
holds out.txt 'files are given as --INPUT FILE, a pattern in quotes, and several words that are one value as well'
# two inputs of one file whose steps are other bytes, and windows that another input cuts
says 1 'token-4.bin: a moves on by 4 bytes a row, as u16, and z by 2, as u8' ./net ahead --a token-4.bin:u16~2 --z token-4.bin:u8~2
holds out.txt '~s counts elements of the TYPE that is given: say steps of the same bytes'
printf 'abcdabcdabcd' >words.txt
run 0 ./net ahead --a words.txt~1 --z words.txt
holds out.txt 'note: words.txt: the last 3 windows of z are left out: row i of each input begins at the same element, but for +k'
run 0 ./net ahead --a words.txt~1 --z words.txt+4
grep -q 'are left out' out.txt && fail 'a note of windows that +k cuts'
run 0 ./net next --a words.txt --b words.txt:u8
holds out.txt 'note: words.txt is text: each byte is an element of a; words.txt:u8 says so'
says 1 '1,2,3: cannot be read' ./net next --a 1,2,3 --b words.txt
holds out.txt 'numbers stand in a file, as rows of a .csv'
for none in e .e; do
  says 1 "$none: cannot be read" ./net next --a "$none" --b words.txt
  holds out.txt 'check the path; this is looked up from the current directory'
done
says 2 'unknown option --output' ./net next --a words.txt --b words.txt --output c.npy
holds out.txt 'the file that its own name gives: --NAME FILE.npy'
cp x-1.npy out-1.npy
says 2 'error: out-1.npy: --z would overwrite what --x reads' ./net same --x 'out-?.npy' --z out-1.npy
finish
