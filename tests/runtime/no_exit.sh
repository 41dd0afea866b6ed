#!/bin/sh
# No call of a library ends its host's process: of libgcrt.a's own objects two alone name a function that does.
# usage: no_exit.sh LIBGCRT_OWN.a NM
set -eu
[ -s "$1" ] || { echo "$1 is not there"; exit 1; }
"$2" -A -u "$1" >symbols.txt
grep -q 'malloc' symbols.txt || { echo 'no undefined symbols were listed'; exit 1; }
# Those are of executables: what calls them is in no library.
if grep -E ' U (bus_error_catch|ranks_open)$' symbols.txt | grep -vE ':(command|chat)\.c\.o:' ||
  grep -E ' U ranks_start_begins$' symbols.txt | grep -vE ':ranks\.c\.o:'; then
  echo '^ a library would end the process of its host'
  exit 1
fi
if grep -vE ':(bus_error|ranks_start)\.c\.o:' symbols.txt | grep -E ' U (exit|_exit|_Exit|quick_exit|abort|__assert_fail|raise|kill)(@.*)?$'; then
  echo '^ a library would end the process of its host'
  exit 1
fi
# Only what finds its own memory overwritten may: the guards that the compiler and libc put in.
for guard in __stack_chk_fail '__[a-z]*_chk'; do
  grep -qE " U $guard(@.*)?\$" symbols.txt || { echo "libgcrt.a was built without $guard"; exit 1; }
done
