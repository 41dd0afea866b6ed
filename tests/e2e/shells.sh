# What shells and editors are given: completion by bash, zsh and fish themselves, the man page, syntax files.
. "$(dirname "$0")/common.sh"
for topic in man bash zsh fish vim textmate; do run 0 "$gc" "--help=$topic" && cp out.txt "gc.$topic"; done
touch net.g other.txt
mkdir folder bin zsh && cp gc.zsh zsh/_gc && ln -s "$gc" bin/gc
PATH="$PWD/bin:$PATH"

# bash_completes WORDS... -> the completions of the last word, one a line
bash_completes() {
  bash -c 'source ./gc.bash; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gc; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}
fish_completes() { fish --no-config -c "source gc.fish; complete -C '$1'" | cut -f1; }
# zsh completes in its line editor alone, so the words are typed in a terminal: what it makes of them.
zsh_completes() {
  python3 - "$1" "$2" <<'END'
import os, pty, select, subprocess, sys, time
master, slave = pty.openpty()
p = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, close_fds=True, start_new_session=True,
                     env=dict(os.environ, TERM="dumb", COLUMNS="200"))
os.close(slave)
text = b""
def read_until(mark):
    global text
    end = time.time() + 20
    while mark not in text:
        if not select.select([master], [], [], max(0, end - time.time()))[0]: sys.exit(f"zsh does not say {mark}: {text}")
        text += os.read(master, 65536)
os.write(master, b"PS1=; fpath=($PWD/zsh $fpath); autoload -U compinit; compinit -u -D; print rea''dy\n")
read_until(b"ready\r\n")
text = b""
os.write(master, sys.argv[1].encode() + b"\t")
read_until(sys.argv[2].encode())
os.close(master)
p.kill()
END
}
gives() { # gives COMPLETIONS WANTED SHELL: in whatever order
  checks=$((checks + 1))
  [ "$(echo "$1" | sort)" = "$(echo "$2" | tr ' ' '\n' | sort)" ] || fail "$3: completions are '$1', not '$2'"
}
gives "$(bash_completes gc --emit = li)" lib bash
gives "$(bash_completes gc --stat)" --stats bash
gives "$(bash_completes gc --mem)" '--memory= --memory-limit= --memory-curve --memory-report --memory-per-rank=' bash
gives "$(bash_completes gc -x i)" ir bash
gives "$(bash_completes gc '')" 'net.g bin/ folder/ zsh/' bash
gives "$(fish_completes 'gc --emit=li')" --emit=lib fish
gives "$(fish_completes 'gc --memory-r')" --memory-report fish
gives "$(fish_completes 'gc -x i')" ir fish
gives "$(fish_completes 'gc n')" net.g fish
run 0 zsh -n gc.zsh
run 0 zsh_completes 'gc --memory-re' --memory-report
run 0 zsh_completes 'gc --dump-plan=tr' --dump-plan=trace

# Every option stands in the man page, which has no mistake.
run 0 sh -c 'man --warnings -l gc.man 2>&1 >page.txt | grep . && exit 1; exit 0'
"$gc" --help | grep -oE '^  --?[A-Za-z-]+' | sed 's/^  //' >options.txt
[ "$(wc -l <options.txt)" -ge 30 ] || fail 'few options'
while read -r option; do
  grep -q -- "^ *$option" page.txt || fail "the man page lacks $option"
done <options.txt

# Vim colours a program as the words are meant.
printf 'let N = 64 # how many\ndef net(x : f32[N]) { return relu(x) + 0.5 if N > 2 else "text" }\n' >net.g
cat >colours.lua <<'END'
vim.cmd('edit net.g | syntax clear | unlet! b:current_syntax | source gc.vim')
for _, at in ipairs({ { 1, 1 }, { 1, 5 }, { 1, 9 }, { 1, 12 }, { 2, 5 }, { 2, 13 }, { 2, 23 }, { 2, 30 }, { 2, 40 }, { 2, 61 } }) do
  io.stdout:write(vim.fn.synIDattr(vim.fn.synID(at[1], at[2], 1), 'name'), ' ')
end
vim.cmd('quitall!')
END
run 0 timeout 60 nvim --headless -u NONE -i NONE -c 'syntax on | luafile colours.lua'
exactly "$(cat out.txt)" 'gcKeyword gcDeclared gcNumber gcComment gcDeclared gcType gcKeyword gcFunction gcNumber gcString ' Vim
python3 - <<'END' || fail 'the grammar of TextMate'
import json, re
grammar = json.load(open("gc.textmate"))
scopes = {}
for p in grammar["patterns"]:
    for key in ("match", "begin", "end"):
        if key in p: re.compile(p[key])
    for word in re.findall(r"[A-Za-z_0-9]+", p.get("match", "")): scopes.setdefault(word, p.get("name"))
assert grammar["scopeName"] == "source.gc"
assert [scopes[w] for w in ("minimize", "bf16", "none", "attention", "linear")] == [
    "keyword.control.gc", "storage.type.gc", "constant.language.gc", "support.function.gc", "support.function.gc"], scopes
END
finish
