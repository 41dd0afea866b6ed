#!/bin/sh
# CSV files: columns by name, quotes, labels as words; and every wrong file with its one message.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
entry same(x : f32[2, 3], kind : u8[2]) { return y = x, label = i32(kind) }
entry one(v : f32[1]) { return w = v * 1 }
entry half(v : f16[1]) { return w = f32(v) }
entry whole(n : i64[1, 2]) { return m = n + 0 }
entry codes(kind : u8[2]) { return label = i32(kind) }
entry table(t : f64[4, 2], x : f32[3]) { return u = t, z = x * 1, ok = t > 3, box = reshape(t, [2, 2, 2]), s = f64(x[0]) / 3, none = x / 0, odd = (x - x) / 0 }
entry wide(x : f32[n <= 3, t <= 4]) { return y = x * 1 }
entry train(x : f32[2, 3], kind : u8[2]) {
  loss = mean(xent(linear(x, 3), kind))
  minimize loss with sgd(0.1)
  return loss }
entry test(x : f32[2, 3], kind : u8[2]) { return loss = mean(xent(linear(x, 3), kind)) }
G
run 0 "$gc" net.g -o net
printf '\357\273\277id,"size, m2",rooms,"the ""old"" town",kind\r\n1,10.5,2,-3,red\r\n2, 1e2 ,4,"5",green\r\n\r\n3,.5,6,7,"red"\r\n4,8,9,10,blue' >houses.csv
printf 'a\tb\n1\t2\n3\t-4\n5\t6\n' >pair.tsv
printf '1;2.5\n3;4\n5;6\n7;8\n' >plain.csv
gzip -k plain.csv
x='--x houses.csv:2..4' kind='--kind houses.csv:kind'
array() { python3 -c 'import struct,sys
raw = open(sys.argv[1], "rb").read()
n = 10 + raw[8] + 256 * raw[9]
print(*struct.unpack("<%d%s" % ((len(raw) - n) // struct.calcsize(sys.argv[2]), sys.argv[2]), raw[n:]))' "$1" "$2"; }
reads() { # reads FILE FORMAT NUMBERS
  exactly "$(array "$1" "$2")" "$3" "$1"
}

# ---- names, numbers, ranges of columns and of rows; quotes, blanks, line ends, a byte order mark ----
run 0 ./net same $x $kind --y y.npy --label l.npy
reads y.npy f '10.5 2.0 -3.0 100.0 4.0 5.0 0.5 6.0 7.0 8.0 9.0 10.0'
reads l.npy i '2 1 2 0'
holds out.txt 'note: houses.csv: kind is blue = 0, green = 1, red = 2; elsewhere: FILE:kind=blue|green|red'
run 0 ./net one --v 'houses.csv:the "old" town[1:3]' --w w.npy
reads w.npy f '5.0 7.0'
run 0 ./net same --x 'houses.csv:id,rooms,the "old" town[2:4]' --kind 'houses.csv:kind=red|green|blue[2:4]' --y y.npy --label l.npy
reads y.npy f '3.0 6.0 7.0 4.0 9.0 10.0'
reads l.npy i '0 2'
grep -q 'kind is' out.txt && fail 'words that were listed are printed'
for x_of in '"size, m2",rooms,"the ""old"" town"' '"size, m2".."the ""old"" town"'; do # names as the file has them
  run 0 ./net same --x "houses.csv:$x_of[2:4]" $kind'[2:4]' --y y.npy
  reads y.npy f '0.5 6.0 7.0 8.0 9.0 10.0'
done
printf '"size, m2";k\n3;"a|b"\n4;"dark, red"\n' >marks.csv # the comma in quotes separates nothing
run 0 ./net codes --kind marks.csv:k --label l.npy
reads l.npy i '0 1'
holds out.txt 'note: marks.csv: k is a|b = 0, dark, red = 1; elsewhere: FILE:k="a|b"|dark, red'
run 0 ./net codes --kind 'marks.csv:k=dark, red|"a|b"' --label l.npy
reads l.npy i '1 0'
printf ',a,b\n1,2,3\n4,5,6\n' >unnamed.csv # as of an index
for unnamed in '"",a,b' '..b' '"".."b",'; do
  run 0 ./net same --x "unnamed.csv:$unnamed" $kind'[0:2]' --y y.npy
  reads y.npy f '1.0 2.0 3.0 4.0 5.0 6.0'
done
printf 'side 5";"a,""b;";k\n1;2;3\n' >inches.csv # a quote in the midst of a name is a part of it
run 0 ./net one --v 'inches.csv:"a,""b;"' --w w.npy
reads w.npy f '2.0'
run 0 ./net whole --n pair.tsv --m m.npy
reads m.npy q '1 2 3 -4 5 6'
printf '1,2,3\n' >three.csv
for file in plain.csv plain.csv.gz; do # as a whole, for an input without the batch axis
  run 0 ./net table --t $file --x three.csv --u u.npy --z z.npy
  reads u.npy d '1.0 2.5 3.0 4.0 5.0 6.0 7.0 8.0'
done
run 0 ./net one --v plain.csv:2 --w w.npy
reads w.npy f '2.5 4.0 6.0 8.0'
run 0 ./net train --x houses.csv:2..4 $kind --epochs 2 --validate test --validate.x houses.csv:2..4 --validate.kind houses.csv:kind

# ---- UTF-16, with a byte order mark or without ----
for form in UTF-16 UTF-16LE UTF-16BE; do
  iconv -f UTF-8 -t $form plain.csv >excel.csv || fail 'iconv'
  says 1 'excel.csv: is UTF-16; tables are read as UTF-8' ./net one --v excel.csv:2 --w w.npy
  holds out.txt "iconv -f $form -t UTF-8 excel.csv >new.csv"
done

# ---- windows of lines: side by side, or from line k on and s lines apart ----
cat >windows.g <<'G'
entry lines(x : f32[n <= 4, 3, 2]) { return y = x * 1 }
entry next(x : f32[n <= 4, 3, 2], z : i32[n]) { return y = x * 1, w = z * 1 }
entry up(x : f32[n <= 4, t <= 3, 2]) { return y = x * 1 }
entry whole(x : f32[2, 2], s : f32[n <= 4]) { return y = x * 1, t = s }
G
run 0 "$gc" windows.g -o windows
{ echo 't,a,b,c~1'; for i in 0 1 2 3 4 5 6 7; do echo "$i,$((10 + i)),$((20 + i)),$((30 + i))"; done; } >series.csv
series() { # series ENTRY SUFFIX NUMBERS [OPTIONS]: of the first input
  name=$1 suffix=$2 numbers=$3 && shift 3 && rm -f lines.npy
  run 0 ./windows "$name" --x "series.csv:$suffix" --y lines.npy "$@"
  reads lines.npy f "$numbers"
}
side='10.0 20.0 11.0 21.0 12.0 22.0 13.0 23.0 14.0 24.0 15.0 25.0'
for options in '' '--data-memory 0 --threads 2 --poison' '--data-memory 0 --data-cache none'; do
  series lines 'a,b~3' "$side" $options
  series lines 'a..b~1[4:6]' '14.0 24.0 15.0 25.0 16.0 26.0 15.0 25.0 16.0 26.0 17.0 27.0' $options
  series lines '2..3+2~3' '12.0 22.0 13.0 23.0 14.0 24.0 15.0 25.0 16.0 26.0 17.0 27.0' $options
  series up 'a,b~3' "$side" $options
done
tail -n +2 series.csv | cut -d , -f 2,3 >bare.csv
for file in bare.csv bare.csv:; do # all of its columns
  rm lines.npy
  run 0 ./windows lines --x "$file~3" --y lines.npy
  reads lines.npy f "$side"
done
series lines 'b,c~1~3' '20.0 30.0 21.0 31.0 22.0 32.0 23.0 33.0 24.0 34.0 25.0 35.0' # a column has such a name
rm lines.npy
run 0 ./windows next --x series.csv:a,b~1 --z series.csv:t+3 --y lines.npy --w after.npy # what follows each window
reads after.npy i '3 4 5 6 7'
run 0 ./windows next --x series.csv:a,b~1 --z series.csv:t
holds out.txt 'note: series.csv: the last 2 windows of z are left out: row i of each input begins at the same line, but for +k'
says 1 'series.csv: x moves on by ~3 a row, z by ~1' ./windows next --x series.csv:a,b~3 --z series.csv:t+3
says 1 'series.csv: a line has 3 columns, but the last axis of the input x is 2' ./windows lines --x series.csv:t..b~1
says 1 'series.csv: windows are rows, and the input x has no batch axis' ./windows whole --x series.csv:a,b~1 --s series.csv:t
says 1 '2 columns are chosen, but the input x is f32[n <= 4, 3, 2]' ./windows lines --x series.csv:a,b
holds out.txt 'hint: windows of 3 lines are series.csv:NAME,NAME…~3, or ~1 where each begins a line after the one before'
printf 'a,b,c,d\n1,2,3,4\n' >wider.csv
says 1 '4 columns are chosen, but the input x is f32[n <= 4, 3, 2]' ./windows lines --x wider.csv
holds out.txt 'hint: windows of 3 lines are wider.csv:NAME,NAME…~3, or ~1 where each begins a line after the one before, with 2 of the columns a, b, c, d; else a row needs 6 columns'
says 1 '3 columns are chosen, but the input x is f32[n <= 4, 3, 2]' ./windows lines --x wider.csv:b..d
holds out.txt 'with 2 of the columns a, b, c, d; else'

# an output has each row once
awk 'BEGIN { print "v"; for (i = 0; i < 9000; i++) print i }' >lines.csv
run 0 ./net one --v lines.csv --expect 'w=lines.csv[0:]' --quiet
run 0 ./net one --v 'lines.csv[1:]' --expect w=lines.csv+1 --quiet
says 1 'lines.csv: ~s takes windows of lines, but an output has each row once' ./net one --v 'lines.csv~2' --expect w=lines.csv~2
holds out.txt 'hint: leave ~s out; FILE[a:b] chooses rows'

# ---- outputs as tables: with the rows of the arrays, names of columns, and all digits ----
table='./net table --t plain.csv --x three.csv --quiet --box box.npy'
for again in 1 2; do # a table of the same columns is replaced
  run 0 $table --u u.csv --z z.TSV --ok ok.tsv --s s.csv --none none.csv --odd odd.csv
  run 0 ./net wide --x plain.csv:2 --y wide.csv --quiet
done
exactly "$(cat u.csv)" '"u.0","u.1"
1,2.5
3,4
5,6
7,8' 'two columns'
exactly "$(cat wide.csv odd.csv)" "$(printf '"y.0"\n2.5\n4\n6\n8\n"odd"\nnan\nnan\nnan')" 'as many columns as a run has, and no numbers'
exactly "$(cat z.TSV s.csv none.csv ok.tsv)" "$(printf '"z"\n1\n2\n3\n"s"\n0.3333333333333333\n"none"\ninf\ninf\ninf\n"ok.0"\t"ok.1"\n0\t0\n0\t1\n1\t1\n1\t1')" 'tables'
run 0 ./net table --t u.csv:u.0,u.1 --x z.TSV:z --u u.npy --quiet # gc reads them
reads u.npy d '1.0 2.5 3.0 4.0 5.0 6.0 7.0 8.0'
# and compares with them, of the same rows and columns
run 0 $table --expect u=u.csv --expect z=z.TSV --expect ok=ok.tsv --expect s=s.csv --expect none=none.csv --expect odd=odd.csv --rtol 0 --atol 0
printf '1\n2\n3\n' >three.TSV
run 0 ./net table --t plain.csv --x three.csv --box box.npy --expect z=three.TSV
holds out.txt 'note: z is as in three.TSV (3 elements)'
printf '"u.0","u.1"\n1,2.5\n3,4\n5,6\n7,9\n' >u9.csv
says 1 'error: u differs from u9.csv: 1 of 8 elements; the first, element 7, is 8 and should be 9' $table --expect u=u9.csv
says 1 "error: u.csv[0:3]: holds 6 elements, but the run makes 8 of u" $table --expect 'u=u.csv[0:3]'
says 1 'error: z.TSV: 1 column is chosen, but the output u is f64[4, 2]' $table --expect u=z.TSV
says 2 'error: --expect: the entry has no such output: uu' $table --expect uu=u.csv
holds out.txt 'hint: did you mean u=u.csv?'
says 2 'error: --expect: the entry has no such output: nope' ./net one --v plain.csv:2 --expect nope=w.npy
holds out.txt 'hint: the outputs are listed by one --help'
says 2 'error: u.csv: a table has rows and columns, but box has 3 axes' ./net table --t plain.csv --x three.csv --quiet --expect box=u.csv
refused() { # refused MESSAGE HINT COMMAND…
  message=$1 hint=$2
  shift 2
  says 2 "error: $message" "$@"
  holds out.txt "hint: $hint"
}
own='remove it, or name another file'
refused 'u.csv: is a table with other columns, or that gc did not write, and would be replaced' "$own" $table --z u.csv
refused 'z.csv: is a table with other columns, or that gc did not write, and would be replaced' "$own" sh -c "printf '\"z\",1\n' >z.csv; $table --z z.csv"
for cell in 1.0 '"1"' one 1e0 ' 1' 0.10000000149; do # a foreign table that has gc's first line
  refused 'z.csv: is a table with other columns, or that gc did not write, and would be replaced' "$own" sh -c "printf '\"z\"\n1\n%s\n' '$cell' >z.csv; $table --z z.csv"
done
refused 'plain2.csv: is not a table of text, and would be replaced by one' "$own" sh -c "cp plain.csv plain2.csv; $table --z plain2.csv"
for ending in .txt .gz .json; do
  refused "z$ending: outputs are written as .npy, .csv or .tsv, not as $ending" 'FILE.npy is an array, FILE.csv a table of text with the same numbers' $table --z z$ending
done
refused 'box.csv: a table has rows and columns, but box has 3 axes' 'write an array, FILE.npy, or return the output in two axes: reshape(box, [dim(box, 0), -1])' ./net table --t plain.csv --x three.csv --box box.csv
ln -s /dev/null null.csv
says 2 'null.csv: a table has rows and columns, but box has 3 axes' ./net table --t plain.csv --x three.csv --box null.csv

# ---- wrong files ----
wrong() { # wrong TEXT OF THE FILE, MESSAGE, HINT, ARGUMENTS
  printf "$1" >bad.csv
  message=$2 hint=$3
  shift 3
  says 1 "error: bad.csv: $message" ./net "$@"
  holds out.txt "hint: $hint"
}
wrong 'a,b\n1,2\n3\n' 'line 3 has 1 field, but the first 2' 'a field with a separator in it needs quotes' one --v bad.csv:a
wrong 'a,b\n1,2\n"3,4\n' 'line 3: a quote is not closed' 'a quote within a field in quotes is written twice' one --v bad.csv:a
wrong 'a,b\n1,"2"3\n' 'line 2: text follows the quote that ends a field' 'a quote within' one --v bad.csv:a
wrong 'a,b\n1,2\nx,4\n' "line 3, column a: 'x' is no number" 'correct the file, or choose other columns' one --v bad.csv:a
wrong 'a,b\n1,2\n,4\n' 'line 3, column a: the field is empty' 'fill it in, or leave the line out' one --v bad.csv:a
wrong 'a,b\n1,2\nnan,4\n' "line 3, column a: 'nan' is no number" 'correct the file' one --v bad.csv:a
wrong 'a,b\n1,2\nNA,4\n' "line 3, column a: 'NA' is no number" 'correct the file: a missing value needs a number, as the mean of its column, or the line is left out' one --v bad.csv:a
wrong 'a;b\n-1,5e3;2\n' "line 2, column a: '-1,5e3' is no number" "numbers have decimal points: write -1.5e3; of a file with semicolons or tabs between fields, sed 's/,/./g' does it" one --v bad.csv:a
wrong 'a\n"1,234"\n' "line 2, column a: '1,234' is no number" 'write 1.234 if the comma is a decimal point, 1234 if it separates thousands' one --v bad.csv:a
for one in '1.234,5 1234.5' '-1,234.5 -1234.5' '1,234,567 1234567' '12.345.678 12345678'; do
  wrong "a;b\n${one% *};2\n" "line 2, column a: '${one% *}' is no number" "numbers have decimal points and no separators of thousands: write ${one#* }" one --v bad.csv:a
done
for one in '$1,234 1234' '1 234 1234' '-€ 1.234,50 -1234.50' '12 345,6 £ 12345.6' "1'234'567 1234567" '¥7 7'; do
  wrong "a;b\n${one% *};2\n" "line 2, column a: '${one% *}' is no number" "numbers have no signs of currency and no separators of thousands: write ${one##* }" one --v bad.csv:a
done
wrong 'a;b\n1 2;2\n' "line 2, column a: '1 2' is no number" 'correct the file, or choose other columns' one --v bad.csv:a
wrong 'a;b\n1,234;2\n' "line 2, column a: '1,234' is no whole number" 'numbers have decimal points and no separators of thousands: write 1234' whole --n bad.csv
wrong 'a;b\n1,2,3;2\n' "line 2, column a: '1,2,3' is no number" 'correct the file, or choose other columns' one --v bad.csv:a
wrong 'a,b\n1,5,2,0\n' 'line 2 has 4 fields, but the first 2' 'commas separate fields: write numbers with decimal points, or put what has a comma in it in quotes' one --v bad.csv:a
wrong '1,2\n0x10,4\n' "line 2, column 1: '0x10' is no number" 'correct the file' one --v bad.csv:1
wrong 'a,b\n1,2\n' "has no column 'c'" 'it has a, b' one --v bad.csv:c
wrong 'a,b\n1,2\n' "has no column ''" 'it has a, b' one --v bad.csv:a,..b
wrong 'a,b\n1,2\n' "has no column '3'" 'it has a, b' one --v bad.csv:3
wrong '"a, b",c\n1,2\n' "has no column 'a'" 'it has "a, b", c' one --v 'bad.csv:a, b'
wrong 'a,b\n1,2\n' 'a quote behind its name is not closed: "a' 'a quote within a name in quotes is written twice' one --v 'bad.csv:"a'
grep -q 'closed: "a$' out.txt || fail 'a name as it was written'
wrong 'a,b\n1,2\n' 'rows from 4 on were asked for, but it has 1 rows' '[a:b] takes rows' one --v 'bad.csv:a[4:]'
wrong 'a,a\n1,2\n' "2 columns are called 'a'" 'choose by number' one --v bad.csv:a
wrong 'a,b\n1,2\n' '2 columns are chosen, but the input v is f32[1]' 'a row needs 1: bad.csv:NAME,NAME… chooses of a, b' one --v bad.csv
wrong 'path,b\nat/1.png,2\n' '1 column is chosen, but the input x is f32[2, 3]' 'the column path names images; a program compiled with gc --images takes their folder, FOLDER/CLASS/NAME.png' same --x bad.csv:path --kind bad.csv:b
wrong 'a,b\n1.5,2\n' "line 2, column a: '1.5' is no whole number" 'correct the file, or declare the input with a type of floats' whole --n bad.csv
printf 'a,b,c\n1,2,3\n' >bad.csv
says 1 "error: bad.csv[0:1]:a: there is no such file, and '[0:1]:a' is no suffix of bad.csv" ./net one --v 'bad.csv[0:1]:a'
holds out.txt 'hint: columns stand before rows: bad.csv:NAME,NAME[a:b]'
printf '\001\002\003\004\005\006\007\010' >eight.bin
says 1 "error: eight.bin:uint16: there is no such file, and ':uint16' is no suffix of eight.bin" ./net one --v eight.bin:uint16
holds out.txt 'hint: behind a file stand [a:b], +k, ~s and :TYPE; types are bool u8 i8 i32 i64 f16 bf16 f32 f64 i16 u16 u32 u64'
says 1 'error: x has 1 rows (bad.csv), but kind has 8 (eight.bin)' ./net same --x bad.csv --kind eight.bin
holds out.txt 'hint: row i of each file must belong together: eight.bin is read as elements of u8, or of another TYPE with eight.bin:TYPE'
wrong 'a,b\n' 'has no rows for the input v' '' one --v bad.csv:a
kinds='same --x houses.csv:2..4 --kind bad.csv:k'
wrong 'k\nred\n3\nred\nred\n' "line 3, column k: '3' is a number among words" 'a column of labels holds words alone, or numbers' $kinds
wrong 'k\n"1,234"\n"2,345"\n"3,456"\n"4,567"\n' "line 2, column k: '1,234' is no whole number" 'numbers have decimal points and no separators of thousands: write 1234' $kinds
wrong 'k\n"$1,234"\n"$2,345"\n"$3,456"\n"$4,567"\n' "line 2, column k: '\$1,234' is no whole number" 'numbers have no signs of currency and no separators of thousands: write 1234' $kinds
wrong 'k\n1\n2\nred\n3\n' "line 4, column k: 'red' is no whole number" 'numbers and words are mixed' $kinds
wrong 'k\n1\n2\n300\n3\n' 'line 4, column k: 300 is beyond the input kind (u8)' 'correct the file, or declare the input with a wider type' $kinds
wrong 'k\nred\ngreen\nblue\nred\n' "line 4, column k: 'blue' is none of the words that were listed" 'list all words' same --x houses.csv:2..4 --kind 'bad.csv:k=red|green'
wrong 'k\nred\n' "the word 'red' is listed twice" 'a word has one number, its place in the list' same --x houses.csv:2..4 --kind 'bad.csv:k=red|green|red'
wrong 'p\n1\n\n3\n\n' 'line 3, column p: the field is empty' 'fill it in' one --v bad.csv
wrong 'p\n1\n1e39\n' 'line 3, column p: 1e39 is beyond the input v (f32)' 'correct the file, or declare' one --v bad.csv
wrong 'p\n-65519\n-70000\n' 'line 3, column p: -70000 is beyond the input v (f16)' 'correct the file, or declare' half --v bad.csv
wrong 'p\nred\n\nred\n' 'line 3, column p: the field is empty' 'fill it in' same --x 'houses.csv:2..4[0:2]' --kind bad.csv
wrong 'a,b,c\n1,2,3\n' 'the range c..b runs backwards' 'write b..c' one --v bad.csv:a,c..b
wrong 'a,b,c\n1,2,3\n' 'column b is given twice' 'name each column once' same --x bad.csv:b,a..b --kind houses.csv:kind
long=$(printf '%0300d' 0)
wrong "a,b\n$long,2\n" 'line 2, column a: the field has more than 255 bytes' 'choose columns of numbers' one --v bad.csv:a
wrong 'a,b\n1\0001,2\n' 'line 2, column a: the field has a byte 0 in it' 'save the file as UTF-8' one --v bad.csv:a
printf '\n\n1\n3\n\n\n' >single.csv # blank lines around
mkdir -p folder.tsv && cp plain.csv houses.csv folder.tsv
run 0 ./net one --v single.csv --w w.npy
reads w.npy f '1.0 3.0'
run 0 ./net same --x folder.tsv/houses.csv:2..4 $kind --y y.npy
reads y.npy f '10.5 2.0 -3.0 100.0 4.0 5.0 0.5 6.0 7.0 8.0 9.0 10.0'
{ echo word; seq -f 'word%03g' 0 99; } >words.csv
run 0 ./net codes --kind words.csv --label l.npy
holds out.txt 'note: words.csv: word is word000 = 0, word001 = 1'
grep -q ' … and [0-9]* more in alphabetical order; elsewhere, list all of them: FILE:word=WORD|WORD$' out.txt || { fail 'a long note has no end'; cat out.txt; }
printf 'k\nred\ngreen\nred\nred\n' >two.csv
printf '1,2,3,0\n4,5,6,1\n' >bare.csv
run 0 ./net same --x bare.csv:1..3 --kind bare.csv:4
exactly "$(grep -c 'note: bare.csv: has no header' out.txt)" 1 'notes of one file'
validated="./net train --x houses.csv:2..4 $kind --no-shuffle --steps 1 --validate test --validate.x houses.csv:2..4 --validate.kind"
run 0 $validated two.csv --save v.st # a part of the words: they have the numbers of the training
figure=$(sed -n 's/^test  step 1  //p' out.txt)
run 0 ./net test --x houses.csv:2..4 --kind 'two.csv:k=blue|green|red' --load v.st --quiet
exactly "$figure" "$(sed 's/ =//' out.txt)" 'a validation of fewer words'
printf 'k\nred\npink\nred\nred\n' >pink.csv
says 1 "error: pink.csv: line 3, column k: 'pink' is none of the words that houses.csv has for kind" $validated pink.csv
holds out.txt 'hint: it has blue = 0, green = 1, red = 2; a validation has the training'"'"'s numbers'
printf 'k\na\nb\nc\nd\n' >four.csv
says 1 'error: four.csv: the word d is number 3, which is not below 3' ./net train --x houses.csv:2..4 --kind four.csv
holds out.txt 'hint: it has 4 words, and the input kind is of 3: compile the program for as many, or give it fewer'
says 1 'error: houses.csv: words stand for whole numbers, in an input of one column' ./net one --v 'houses.csv:id=a|b'
says 2 'error: --v 7: there is no such file, and the input is f32[1]' ./net one --v 7
says 1 'houses.csv: a line has 5 columns, but the last axis of the input v is 1' ./net one --v houses.csv+1

# ---- whether the first line is a header, and other names of tables ----
printf '2019,2020,2021\n1,2,3\n4,5,6\n' >years.csv
run 0 ./net same --x years.csv --kind 'houses.csv:kind[0:3]' --y y.npy
holds out.txt 'note: years.csv: has no header, since its first line holds numbers; --csv-header yes reads it as one'
run 0 ./net same --x years.csv --kind 'houses.csv:kind[0:2]' --csv-header yes --y y.npy
reads y.npy f '1.0 2.0 3.0 4.0 5.0 6.0'
grep -q 'has no header' out.txt && fail 'a note although the option is given'
run 0 ./net same --x 'years.csv:2021,2019,2020' --kind 'houses.csv:kind[0:2]' --csv-header yes --y y.npy
reads y.npy f '3.0 1.0 2.0 6.0 4.0 5.0'
printf 'red\ngreen\n' >bare.csv
says 1 'error: x has 2 rows (years.csv), but kind has 1 (bare.csv)' ./net same --x years.csv --kind bare.csv --csv-header yes
run 1 ./net codes --kind bare.csv
run 0 ./net codes --kind bare.csv --csv-header no --label l.npy
reads l.npy i '1 0'
cat bare.csv bare.csv >double.csv && sed -i 1i\word double.csv
run 0 ./net codes --kind double.csv --label l.npy
holds out.txt 'note: double.csv: its first line is taken as a header; --csv-header no reads it as a row'
says 2 'error: --csv-header maybe: yes or no is expected' ./net codes --kind bare.csv --csv-header maybe
cp houses.csv HOUSES.CSV && cp houses.csv houses.txt && cp pair.tsv pair.txt && gzip -c houses.csv >Packed.CSV.gz
for x in HOUSES.CSV:2..4 houses.txt:2..4 houses.TXT:2..4 Packed.CSV.gz:2..4; do
  [ "$x" = houses.TXT:2..4 ] && mv houses.txt houses.TXT
  run 0 ./net same --x $x $kind --y y.npy
  reads y.npy f '10.5 2.0 -3.0 100.0 4.0 5.0 0.5 6.0 7.0 8.0 9.0 10.0'
done
run 0 ./net one --v pair.txt:b --w w.npy # tabs
reads w.npy f '2.0 -4.0 6.0'
printf '5\n6.5\n' >numbers.txt # of floats, bytes cannot be meant
run 0 ./net one --v numbers.txt --w w.npy
reads w.npy f '5.0 6.5'
printf 'ab' >text.txt
for text in text.txt text.txt:u8 text.txt:u8~1; do
  run 0 ./net codes --kind $text --label l.npy
  reads l.npy i '97 98'
done

# ---- the numbers of words go with the weights ----
run 0 ./net train --x houses.csv:2..4 $kind --epochs 2 --save words.st --checkpoint words.ck
printf 'kind\nred\nred\ngreen\nred\n' >some.csv
cat >guess.g <<'G'
entry test(x : f32[2, 3], kind : u8[2]) {
  logits = linear(x, 3)
  return loss = mean(xent(logits, kind)), read = i32(kind), digit = argmax(logits), y = logits }
entry train(x : f32[2, 3], kind : u8[2]) {
  loss = mean(xent(linear(x, 3), kind))
  minimize loss with sgd(0.1)
  return loss }
entry plain(rows : f32[n <= 4, 3]) { return z = rows * 1 }
entry other(x : f32[2, 3], color : u8[2]) {
  loss = mean(xent(linear(x, 3), color))
  minimize loss with sgd(0.1)
  return loss }
G
run 0 "$gc" guess.g -o guess
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --read l.npy
reads l.npy i '2 2 1 2'
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words read
grep -qx '\[0:2\] read = \[red red\]' out.txt && grep -qx '\[2:4\] read = \[green red\]' out.txt || { fail 'no words'; cat out.txt; }
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words read --read read.csv --quiet
exactly "$(cat read.csv)" "$(printf '"read"\n"red"\n"red"\n"green"\n"red"')" 'a table of words'
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words read --expect read=read.csv
run 0 "$gc" guess.g --weights=words.st -o own # in the program, too
run 0 ./own test --x houses.csv:2..4 --kind some.csv:kind --words read
grep -qx '\[0:2\] read = \[red red\]' out.txt || { fail 'no words of the own weights'; cat out.txt; }
run 0 "$gc" guess.g --emit=lib # a library keeps them
cat >library.py <<'P'
import ctypes
lib = ctypes.CDLL("./libguess.so")
lib.guess_open.restype = ctypes.c_void_p
lib.guess_load.restype = lib.guess_save.restype = ctypes.c_bool
m = ctypes.c_void_p(lib.guess_open(1, ctypes.c_uint64(1)))
assert lib.guess_load(m, b"words.st") and lib.guess_save(m, b"library.st")
lib.guess_close(m)
P
run 0 python3 library.py
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load library.st --words read
grep -qx '\[0:2\] read = \[red red\]' out.txt || { fail 'no words behind a library'; cat out.txt; }

# ---- columns of a table are found by the names that it had in the training, in any order and among others ----
printf '"the ""old"" town",id,rooms,"size, m2"\n-3,1,2,10.5\n5,2,4,1e2\n7,3,6,.5\n10,4,9,8\n' >turned.csv
printf 'a,b,c\n10.5,2,-3\n100,4,5\n.5,6,7\n8,9,10\n' >others.csv # by place
for weights in words.st library.st; do
  run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load $weights --y want.npy
  for x in turned.csv others.csv; do run 0 ./guess test --x $x --kind some.csv:kind --load $weights --expect y=want.npy --rtol 0 --atol 0; done
  holds out.txt "note: others.csv: columns of the input x are read by place, since they have other names than those of $weights, \"size, m2\",rooms,the \"old\" town; others.csv:NAME,NAME… chooses columns"
  run 0 ./guess test --x others.csv:a..c --kind some.csv:kind --load $weights --expect y=want.npy --rtol 0 --atol 0
  grep -q 'by place' out.txt && fail 'a note of columns that are chosen'
  rm want.npy
done
for x in turned.csv houses.csv:2..4; do # an input of another name, whose columns are those of the training
  run 0 ./guess plain --rows $x --load words.st --z rows.npy
  reads rows.npy f '10.5 2.0 -3.0 100.0 4.0 5.0 0.5 6.0 7.0 8.0 9.0 10.0'
  rm rows.npy
done
says 1 'error: turned.csv: the "old" town is the column 1 of the input rows, where words.st has size, m2' ./guess plain --rows turned.csv:1,3..4 --load words.st
says 1 'error: turned.csv: the "old" town is the column 1 of the input x, where words.st has size, m2' ./guess test --x turned.csv:1,3..4 --kind some.csv:kind --load words.st
holds out.txt 'hint: leave the names out, or choose turned.csv:"size, m2",rooms,the "old" town'
run 0 ./net train --x houses.csv:2..4 $kind --no-shuffle --steps 1 --validate test --validate.x turned.csv --validate.kind two.csv
exactly "$(sed -n 's/^test  step 1  //p' out.txt)" "$figure" 'a validation of columns in another order'
run 0 ./net train --x houses.csv:2..4 $kind --no-shuffle --steps 1 --validate test --validate.x others.csv --validate.kind two.csv
holds out.txt 'note: others.csv: columns of the input x are read by place, since they have other names than those of houses.csv'
sed 's/^a,b,c$/a,a,b/' others.csv >twice.csv # names that two columns have: by place
run 0 ./guess train --x twice.csv --kind some.csv:kind --load words.st --save twice.st
run 0 ./guess test --x twice.csv --kind some.csv:kind --load twice.st
holds out.txt 'y ='
grep -q 'by place' out.txt && fail 'a note of columns with the names of the training'
run 0 ./guess train --x houses.csv:2..4 --kind some.csv:kind --load words.st --save more.st
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load more.st --words digit=kind
grep -q '^\[0:2\] digit = \[\(red\|green\|blue\) ' out.txt || { fail 'no words for digits'; cat out.txt; }
run 0 ./net train --x houses.csv:2..4 $kind --epochs 3 --resume words.ck --save resumed.st
run 0 ./guess test --x houses.csv:2..4 --kind some.csv:kind --load resumed.st --read l.npy
reads l.npy i '2 2 1 2'
cat >pair.g <<'G' # words of two inputs: a file has them in one order, also behind a resumed training
entry train(town : u8[2], kind : u8[2]) {
  param w : f32[4, 4] = normal()
  loss = mean(xent(gather(w, town), kind))
  minimize loss with sgd(0.1)
  return loss
}
G
printf 'town,kind\nold,red\nnew,green\nnew,blue\nold,red\n' >pair.csv
run 0 "$gc" pair.g -o pair
pair='./pair train --town pair.csv:town --kind pair.csv:kind'
run 0 $pair --epochs 3 --save whole.st
run 0 $pair --epochs 2 --checkpoint pair.ck
run 0 $pair --epochs 3 --resume pair.ck --save parts.st
cmp whole.st parts.st || fail 'a resumed training saves another file'
printf 'kind\nred\npink\nred\ngreen\n' >new.csv
says 1 'error: none.st: cannot be read: No such file or directory' ./guess test --x houses.csv:2..4 --kind some.csv:kind --load none.st --words read
says 1 "error: new.csv: line 3, column kind: 'pink' is none of the words that words.st has for kind" ./guess test --x houses.csv:2..4 --kind new.csv:kind --load words.st
holds out.txt 'hint: it has blue = 0, green = 1, red = 2'
run 0 ./guess test --x houses.csv:2..4 --kind 'new.csv:kind=red|green|pink' --load words.st --read l.npy
reads l.npy i '0 2 0 1'
holds out.txt 'note: new.csv: the words that are listed are not those of words.st'
printf 'k\n"a\nb"\nc\nc\nc\n' >lines.csv
run 0 ./net train --x houses.csv:2..4 --kind lines.csv --save lines.st
holds out.txt 'note: lines.csv: its words are not UTF-8, or have line ends; weights are saved without them'
printf 'k\nd\351j\340\nc\nc\nc\n' >latin.csv
run 0 ./net train --x houses.csv:2..4 --kind latin.csv --save latin.st
holds out.txt 'note: latin.csv: its words are not UTF-8'
run 0 ./net test --x houses.csv:2..4 --kind latin.csv --load latin.st
printf 'k\nd\303\251j\303\240 "vu"\nback\\slash\nc\nc\n' >utf.csv
run 0 ./net train --x houses.csv:2..4 --kind utf.csv --save utf.st
run 0 ./guess test --x houses.csv:2..4 --kind utf.csv --load utf.st --words read
holds out.txt "[0:2] read = [$(printf 'd\303\251j\303\240') \"vu\" back\\slash]"
says 2 'error: --words: no words of labels are known' ./guess test --x houses.csv:2..4 --kind some.csv:kind --words read
says 2 'error: --words none: the entry has no such output' ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words none
says 2 'error: --words y: the output does not hold whole numbers' ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words y
says 2 'error: --words: the weights have no words for color' ./guess test --x houses.csv:2..4 --kind some.csv:kind --load words.st --words read=color
run 0 ./guess other --x houses.csv:2..4 --color some.csv --load words.st --save both.st
says 2 'error: --words: words of which input are meant' ./guess test --x houses.csv:2..4 $kind --load both.st --words read
holds out.txt 'hint: write --words OUTPUT=INPUT; the weights have words for color, kind'

# ---- rows of one batch stay in their order: they may be nodes of a graph; of more batches each epoch has its own ----
cat >order.g <<'END'
entry train(x : f32[n <= 6]) {
  param w : f32[1] = zeros()
  minimize mean((x - w) ** 2) with sgd(0.1)
  return place = sum(x * f32(10) ** f32(arange(n)))
}
END
run 0 "$gc" order.g -o order
printf '%s\n' 1 2 3 4 5 >five.csv
printf '%s\n' 1 2 3 4 5 6 7 8 >eight.csv
places() { # FILE [--shuffle | --no-shuffle]: how many different batches four epochs have
  rm -f places.csv
  run 0 ./order train --x "$1" --epochs 4 --log places.csv --quiet ${2-}
  awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "place") at = i} NR > 1 {print $at}' places.csv | sort -u | wc -l
}
exactly "$(places five.csv)" 1 'orders of one batch'
at_least "$(places five.csv --shuffle)" 2 'orders of one batch with --shuffle'
at_least "$(places eight.csv)" 3 'orders of two batches'
exactly "$(places eight.csv --no-shuffle)" 2 'orders of two batches with --no-shuffle'
finish
