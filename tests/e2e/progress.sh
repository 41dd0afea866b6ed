#!/bin/sh
# While a search for less memory takes seconds, a terminal gets a line about it; what is no terminal gets nothing.
. "$(dirname "$0")/common.sh"
cat >net.g <<'END'
def twice(x, c) {
  h = relu(conv(x, c, 3) as a)
  return relu(conv(h, c, 3) as b)
}
def doubled(x : [n, c, h, w]) {
  return reshape(broadcast(reshape(x, [n, c, h, 1, w, 1]), [n, c, h, 2, w, 2]), [n, c, 2 * h, 2 * w])
}
def net(x) {
  a = twice(x, 16) as d1
  b = twice(max_pool(a, 2), 32) as d2
  c = twice(max_pool(b, 2), 64) as d3
  c = twice(concat([c, doubled(twice(max_pool(c, 2), 128) as d4)], 1), 64) as u3
  b = twice(concat([b, doubled(c)], 1), 32) as u2
  return conv(twice(concat([a, doubled(b)], 1), 16) as u1, 2, 1) as head
}
entry train(x : f32[4, 3, 64, 64], t : f32[4, 2, 64, 64]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with adamw(1e-3)
  return loss
}
END
cat >terminal.py <<'END'
import os, pty, signal, sys
signal.alarm(100)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b" s since the first\x1b[K\r" not in said:
    said += os.read(terminal, 4096)
os.kill(pid, signal.SIGKILL)
print(said.decode())
END
if run 0 python3 terminal.py "$gc" net.g --memory-limit=1M --emit=plan; then
  grep -q 'gc: the pass [a-z-]*, [3-9] s since the first' out.txt || fail "the line is not there: $(cat out.txt)"
fi
timeout 5 "$gc" net.g --memory-limit=1M --emit=plan >out.txt 2>&1
[ -s out.txt ] && fail "no terminal has a line: $(cat out.txt)"
finish
