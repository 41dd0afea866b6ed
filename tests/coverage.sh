#!/bin/sh
# Which lines and functions of the compiler and the runtime the tests reach, by gcov.
#   tests/coverage.sh BUILD [ctest options]      BUILD: a folder of its own; it is made
# Without options the default tests run, but for those of the GPU's code. Prints a row for each room, as
# docs/results.md has them, and writes the functions that nothing called to BUILD/unreached.txt. A program that
# ends by a signal or _exit counts for nothing, so the figures are lower bounds.
set -eu
[ $# -gt 0 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
build=$(cd "$1" && pwd) root=$(cd "$(dirname "$0")/.." && pwd)
shift
[ $# -gt 0 ] || set -- -E '^(cuda/|cuda_runtime/|gpu/|ptx/|sanitized/)'
# The runtime inside of programs counts, too, so every link needs gcov's library. Nothing is inlined: gcov takes inlined
# functions for ones that nothing calls.
mkdir -p "$build/tools"
for name in cc gcc; do
  printf '#!/bin/sh\nexec %s "$@" -lgcov\n' "$(command -v gcc)" >"$build/tools/$name"
  chmod +x "$build/tools/$name"
done
export PATH="$build/tools:$PATH" XDG_CACHE_HOME="$build/cache" CUDA_VISIBLE_DEVICES= GC_TEST_SEED="${GC_TEST_SEED:-0}"
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$build/tools/cc" \
  -DCMAKE_C_FLAGS="--coverage -fprofile-update=atomic -fno-inline" -DCMAKE_C_FLAGS_RELEASE=-O1 >/dev/null
cmake --build "$build" -j "$(nproc)" >"$build/build.txt" 2>&1 || { tail -n 40 "$build/build.txt" >&2; exit 1; }
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" -j "$(nproc)" --output-on-failure "$@" | tail -n 20 >&2 || true
python3 - "$root" "$build" <<'PY'
import json, os, subprocess, sys
root, build = sys.argv[1:]
notes = [os.path.join(d, f) for d, _, files in os.walk(build) for f in files if f.endswith(".gcno")]
notes = [n for n in notes if "/tests/" not in n[len(build):]]
lines, functions = {}, {}  # (file, line) and (file, line, name): how often
for at in range(0, len(notes), 50):
    said = subprocess.run(["gcov", "--json-format", "--stdout"] + notes[at : at + 50], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd=build, check=True).stdout
    for text in said.decode().splitlines():
        of = json.loads(text)
        for file in of["files"]:
            path = os.path.realpath(os.path.join(of["current_working_directory"], file["file"]))
            path = os.path.relpath(path, root)
            if path.split("/")[0] not in ("ir", "passes", "codegen", "lang", "runtime"):
                continue
            for line in file["lines"]:
                key = path, line["line_number"]
                lines[key] = lines.get(key, 0) + line["count"]
            for f in file["functions"]:
                key = path, f["start_line"], f["name"]
                functions[key] = functions.get(key, 0) + f["execution_count"]
rooms = {}
for counts, at in (lines, 0), (functions, 2):
    for key, count in counts.items():
        parts = os.path.dirname(key[0]).split("/")
        for room in ("/".join(parts[:2]), "all"):
            row = rooms.setdefault(room, [0, 0, 0, 0])
            row[at] += 1
            row[at + 1] += count > 0
print("| room | lines | reached | functions | reached |\n|---|---|---|---|---|")
for room, (n, hit, m, called) in sorted(rooms.items(), key=lambda r: (r[0] == "all", r[0])):
    print(f"| {room} | {n:,} | {100 * hit / n:.1f} % | {m:,} | {100 * called / max(m, 1):.1f} % |")
with open(os.path.join(build, "unreached.txt"), "w") as out:
    for (path, line, name), count in sorted(functions.items()):
        if not count:
            out.write(f"{path}:{line}: {name}\n")
PY
