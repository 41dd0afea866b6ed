#!/bin/sh
# The installed compiler: what is installed, that it works from wherever the folder is moved to and by a link, with the
# runtime that is installed beside it and no other, and GC_PROGRAM_NAME.
. "$(dirname "$0")/common.sh"
unoptimised
build=$(dirname "$(dirname "$gc")")
cat >net.g <<'END_G'
entry twice(x : f32[4]) { return y = x * 2 }
END_G
"$mkdata" npy f32 4 1 x.npy || fail 'no data could be made'

# ---- a build that gives it another name: one that is configured, with what this one built ----
run 0 cmake -S "$here" -B named -DCMAKE_BUILD_TYPE=Release -DGC_PROGRAM_NAME=graph-compiler
mkdir -p named/bin named/lib && cp "$gc" named/bin/gc && cp -R "$build/lib/gc" named/lib/ || fail 'no build to install'
run 0 cmake --install named --prefix "$PWD/first"
(cd first && find . -type f | sort) >installed.txt
cat >wanted.txt <<'END_F'
./bin/graph-compiler
./lib/gc/embed.h
./lib/gc/gcrt.h
./lib/gc/gcrt_ranks.h
./lib/gc/libgcimages.a
./lib/gc/libgcranks.a
./lib/gc/libgcrt.a
./lib/gc/libgctokens.a
./lib/gc/mpi.c
./share/bash-completion/completions/graph-compiler
./share/fish/vendor_completions.d/graph-compiler.fish
./share/gc/gc.tmLanguage.json
./share/man/man1/graph-compiler.1
./share/vim/vimfiles/ftdetect/gc.vim
./share/vim/vimfiles/syntax/gc.vim
./share/zsh/site-functions/_graph-compiler
END_F
same installed.txt wanted.txt 'what is installed'
rm -rf named

# ---- it finds its runtime relative to itself ----
mkdir 'moved here' && mv first 'moved here/place' && mkdir linked && ln -s '../moved here/place/bin/graph-compiler' linked/ggc
for installed in 'moved here/place/bin/graph-compiler' linked/ggc; do
  run 0 "./$installed" net.g -v -o net
  holds out.txt "$PWD/moved here/place/lib/gc/libgcrt.a"
  run 0 ./net twice --x x.npy
  rm net
  run 0 "./$installed" net.g --emit=lib -o libnet.so
done
mv 'moved here/place/lib' 'moved here/place/elsewhere'
says 3 'libgcrt.a' "./moved here/place/bin/graph-compiler" net.g -o net
absent net
finish
