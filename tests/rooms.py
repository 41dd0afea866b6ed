"""Fails where files of different rooms include each other in a circle, or a room uses one that it may not.

    rooms.py SOURCE_DIR

A room is a folder of a floor (passes/plan), or the files that stand in the floor itself (passes). rooms.txt lists, for
each room, the others of its floor that it uses; nothing else may be used.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
FLOORS = ["ir", "passes", "codegen", "lang", "runtime"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
files = {str(p.relative_to(root)) for f in FLOORS for p in (root / f).rglob("*") if p.suffix in (".c", ".h", ".def", ".y", ".l")}
if not files:
    sys.exit("no sources were found")


def uses(name):
    for other in INCLUDE.findall((root / name).read_text(errors="replace")):
        beside = (root / name).parent / other
        for place in (other, str(beside.resolve().relative_to(root.resolve())) if beside.exists() else other):
            if place in files:
                yield place
                break


def room(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


graph = {name: sorted(set(uses(name))) for name in sorted(files)}
bad = False

# ---- circles of files: Tarjan's strongly connected components, without recursion ----
index, low, stack, waiting = {}, {}, [], set()
for start in graph:
    work = [(start, iter(graph[start]))] if start not in index else []
    if work:
        index[start] = low[start] = len(index)
        stack.append(start), waiting.add(start)
    while work:
        at, others = work[-1]
        for other in others:
            if other not in index:
                index[other] = low[other] = len(index)
                stack.append(other), waiting.add(other)
                work.append((other, iter(graph[other])))
                break
            if other in waiting:
                low[at] = min(low[at], index[other])
        else:
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[at])
            if low[at] == index[at]:
                circle = [stack.pop()]
                while circle[-1] != at:
                    circle.append(stack.pop())
                waiting.difference_update(circle)
                if len({room(name) for name in circle}) > 1:
                    print("files of different rooms include each other:", *sorted(circle))
                    bad = True

# ---- walls ----
allowed = {}
for line in (Path(__file__).parent / "rooms.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        name, _, others = line.partition(":")
        allowed[name.strip()] = set(others.split())
found = {}
for name, others in graph.items():
    for other in others:
        a, b = room(name), room(other)
        if a != b and a.split("/")[0] == b.split("/")[0]:
            found.setdefault(a, {}).setdefault(b, f"{name} includes {other}")
if "--write" in sys.argv:
    for name in sorted(found):
        print(f"{name}: {' '.join(sorted(found[name]))}")
    sys.exit(0)
for name in sorted(found):
    for other in sorted(set(found[name]) - allowed.get(name, set())):
        print(f"{name} may not use {other}: {found[name][other]}")
        bad = True
if bad:
    print("  ^ see tests/rooms.txt: which rooms a room may use")
sys.exit(bad)
