#!/bin/sh
# A library runs on the stack of whoever calls it: every function of every example's library (of a third of them, others
# on each commit, but at the level full), from a thread that has no more stack than docs/embedding.md names, beside the
# little that the thread itself takes.
. "$(dirname "$0")/common.sh"
kib=$(sed -n 's/.*a call takes at most \([0-9]*\) KiB of the calling.*/\1/p' "$here/docs/embedding.md")
[ "${kib:-0}" -gt 0 ] || fail 'docs/embedding.md names no size of the stack'
sizes() { # what makes an example quick to compile, and keeps buffers that are too large for a stack
  case $1 in
  gpt) echo L=1 ;;
  gpt2) echo B=1 T=64 L=1 V=1000 H=6 C=384 ;;
  lstm) echo T=4 ;;
  seq2seq) echo T=4 ;;
  resnet20) echo depth=1 ;;
  resnet50) echo N=2 S=64 classes=10 'blocks=[1,1,1,1]' ;;
  inception_bn) echo N=2 S=64 classes=10 width=0.25 ;;
  vgg) echo N=2 S=32 classes=10 width=16 ;;
  dcgan) echo N=8 ;;
  esac
}
# Calls of all functions of a header: zeros for every input, one buffer for every output.
calls() {
  awk -v m="$1" '
    /^bool / { text = "" }
    /^bool /, /;/ { text = text $0 }
    /;/ && text != "" {
      gsub(/\/\*[^*]*\*\//, "", text)
      name = text; sub(/\(.*/, "", name); sub(/^bool /, "", name)
      args = text; sub(/^[^(]*\(/, "", args); sub(/\);.*/, "", args)
      n = split(args, arg, /,/); call = ""
      for (i = 1; i <= n; i++) {
        a = arg[i]
        if (i == 1) call = "m"
        else if (a ~ /char \*path/) { call = ""; break }
        else if (a ~ /const .*\*/) call = call ", (const void *)zeros"
        else if (a ~ /\*/) call = call ", (void *)out"
        else call = call ", 1"
      }
      if (call != "") printf "  if (!%s(%s)) return \"%s\";\n", name, call, name
      text = ""
    }' "$1.h"
}
for file in "$here"/docs/examples/*.g; do
  name=$(basename "$file" .g)
  is_drawn "$name" 3 || continue
  define=
  for d in $(sizes "$name"); do define="$define -D $d"; done
  cc=${CC:-cc}
  is_optimised "$name" 12 3 || cc=$here/tests/cc-O0 # a turn of those that are drawn: a quarter of them
  # shellcheck disable=SC2086
  run 0 env CC="$cc" "$gc" "$file" $define -O2 --emit=lib -o "lib$name.so"
  {
    cat <<END
#define _GNU_SOURCE
#include "$name.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static $name *m;
static char *zeros, *out;
static const char *all(void) {
  (void)zeros, (void)out;
END
    calls "$name"
    cat <<END
  return NULL;
}
static void *thread(void *arg) { (void)arg; return (void *)all(); }
int main(void) {
  m = ${name}_open(1, 1);
  zeros = calloc(1, 256 << 20), out = malloc(256 << 20);
  pthread_attr_t a;
  pthread_t t;
  void *failed = "no thread";
  /* $kib KiB for the call; the thread itself needs its own descriptor and a page */
  if (!m || !zeros || !out || pthread_attr_init(&a) || pthread_attr_setstacksize(&a, ($kib + 16) * 1024)) return 2;
  if (!pthread_create(&t, &a, thread, NULL)) pthread_join(t, &failed);
  if (failed) printf("%s: %s\n", (char *)failed, ${name}_error(m));
  ${name}_close(m);
  return failed != NULL;
}
END
  } >"$name.c"
  grep -q "_open(1, 1)" "$name.c" && [ "$(grep -c 'return "' "$name.c")" -ge 2 ] || fail "$name: no functions found in $name.h"
  run 0 "${CC:-cc}" -std=gnu17 -O1 -I. "$name.c" -o "host_$name" -L. "-l$name" -Wl,-rpath,"$PWD" -pthread
  run 0 "./host_$name"
done
finish
