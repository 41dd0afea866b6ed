#!/bin/sh
# Cumulative sums of long lines, whose chunks threads share: the same bits on any number of threads and of a bounded
# length, in both directions, and as near to the true sums as the chunks make them.
. "$(dirname "$0")/common.sh"
cat >exact.g <<'END'
let N = 255
entry rows(x : f32[3, N], dy : f32[3, N]) { return y = cumsum(x, axis = 1), g = grad(sum(cumsum(x, axis = 1) * dy), x) }
entry columns(x : f32[N, 5], dy : f32[N, 5]) { return y = cumsum(x, axis = 0), g = grad(sum(cumsum(x, axis = 0) * dy), x) }
entry wide(x : f32[2, N, 40], dy : f32[2, N, 40]) { return y = cumsum(x, axis = 1), g = grad(sum(cumsum(x, axis = 1) * dy), x) }
END
sed -e '/^let/d' -e 's/N/n <= 25000/; s/\[\(3, \)N\]/[\1n]/g; s/\[N, 5\]/[n, 5]/g; s/\[2, N, 40\]/[2, n, 40]/g' exact.g >bounded.g
run 0 "$gc" bounded.g -O2 -o bounded
cat >check.py <<'END'
import struct, sys
def npy(name):
    with open(name, "rb") as f:
        f.read(8)
        head = f.read(struct.unpack("<H", f.read(2))[0]).decode()
        data = f.read()
    shape = [int(n) for n in head.split("(")[1].split(")")[0].split(",") if n.strip()]
    return shape, struct.unpack(f"<{len(data) // 4}f", data)
def worst(of, sums, axis, backward):
    shape, x = npy(of)
    y, n, inner, far = npy(sums)[1], shape[axis], 1, 0.0
    for d in shape[axis + 1:]: inner *= d
    for line in range(len(x) // n):
        at, true, size = line // inner * n * inner + line % inner, 0.0, 0.0
        for i in (reversed(range(n)) if backward else range(n)):
            true += x[at + i * inner]
            size += abs(x[at + i * inner])
            far = max(far, abs(y[at + i * inner] - true) / (size or 1))
    return far
axis = int(sys.argv[1])
far = max(worst("x.npy", "y1.npy", axis, False), worst("dy.npy", "g1.npy", axis, True))
if far > 2e-6: sys.exit(f"{far:.2g} of the sum of magnitudes")
END
for n in 256 257 8193 24777; do
  run 0 "$gc" exact.g -D N=$n -O2 -o exact
  for entry in rows columns $([ $n = 8193 ] && echo wide); do
    case $entry in
      rows) dims=3,$n axis=1 ;;
      columns) dims=$n,5 axis=0 ;;
      wide) dims=2,$n,40 axis=1 ;;
    esac
    rm -f ./*.npy
    "$mkdata" npy f32 $dims 1 x.npy && "$mkdata" npy f32 $dims 2 dy.npy || fail 'no data could be made'
    run 0 ./exact $entry --x x.npy --dy dy.npy --y y1.npy --g g1.npy --threads 1
    python3 check.py $axis || fail "sums of $entry of $n"
    for threads in 1 2 3; do
      rm -f y.npy g.npy
      run 0 ./bounded $entry --x x.npy --dy dy.npy --y y.npy --g g.npy --threads $threads
      same y1.npy y.npy "$entry of $n, bounded, $threads threads"
      same g1.npy g.npy "$entry of $n, backward, bounded, $threads threads"
    done
    rm -f y.npy g.npy
    run 0 ./exact $entry --x x.npy --dy dy.npy --y y.npy --g g.npy --threads 3 --share-parts yes
    same y1.npy y.npy "$entry of $n, 3 threads that share parts"
    same g1.npy g.npy "$entry of $n, backward, 3 threads that share parts"
  done
done
finish
