# RUN: echo '# Parsed by gc precious' > %t.out
# RUN: not-14 %gc --emit=ast -D N=1 -O9 %s -o %t.out 2> %t.err
# RUN: grep -q 'takes 0, 1, 2 or 3' %t.err
# RUN: printf 'let a = ' > %t.bad.g
# RUN: not-14 %gc --emit=ast %t.bad.g -o %t.out 2> %t.err
# RUN: grep -q precious %t.out
# RUN: %gc --emit=ast %s -o %t.out
# RUN: grep -qx 'let N = 3' %t.out
# RUN: ls %t.out* | wc -l | grep -qx 1
# RUN: not-14 %gc --emit=ast %s -o %t.none/out 2>&1 | grep -A1 'cannot write .*/out: No such file or directory' | grep '^hint: make its folder first: mkdir -p .*none$'
# RUN: (%gc %s -o %t.none/out || echo $?) 2>&1 | grep -A2 'cannot write .*none/out.: No such file or directory$' | grep -c -e '^3$' -e '^hint: make its folder first: mkdir -p .*none$' | grep -x 2
# RUN: (%gc --emit=ast %s -o /dev/full || echo $?) 2>&1 | grep -A1 'cannot write /dev/full: No space left' | grep -x 3
# RUN: (%gc --emit=ast %s > /dev/full || echo $?) 2>&1 | grep -A1 'cannot write the standard output: No space left' | grep -x 3
# RUN: for o in --help --version --list-passes --help=all; do (%gc $o > /dev/full || echo $?) 2>&1; done | grep -A1 'cannot write the standard output: No space left' | grep -cx 3 | grep -x 4
# RUN: (%gc %s --dump-plan=html -o %t.html || echo $?) 2>&1 | grep -A1 'html would be the executable' | grep -x 2
# RUN: not-14 ls %t.html
# RUN: (%gc %S || echo $?) 2>&1 | grep -A1 'is a directory; gc compiles one file NAME.g$' | grep -x 2
# RUN: touch %t.named.g && (%gc %t.named || echo $?) 2>&1 | grep -A1 'named is not named NAME.g; did you mean .*named.g?$' | grep -x 2
# RUN: (%gc %t.none || echo $?) 2>&1 | grep -A1 'cannot read .*none: No such file or directory$' | grep -x 2
# RUN: touch %t.npy && (%gc %t.npy || echo $?) 2>&1 | grep -A1 'npy is not named NAME.g; if it is a program, name the executable with -o$' | grep -x 2
# RUN: (%gc -x onnx %t.npy || echo $?) 2>&1 | grep -A1 'npy is not named NAME.onnx; if it is a model, name the executable with -o$' | grep -x 2
# RUN: %gc - --emit=ast < %s | grep -qx 'let N = 3'
# RUN: (cat %s | %gc - || echo $?) 2>&1 | grep -A1 'error: - is not named NAME.g; if it is a program, name the executable with -o$' | grep -x 2
# An output appears whole or not at all, and a failing run keeps the old file.
let N = 3
