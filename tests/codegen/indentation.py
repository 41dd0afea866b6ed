#!/usr/bin/env python3
"""Generated kernels are laid out as people read them: every line stands as deep as the braces around it say.
   indentation.py GC FILE.g...: the C and the CUDA C of each"""
import re
import subprocess
import sys

PREFIX = re.compile(r"^(GC_ROLLED )?(GC_IVDEP|GC_ROLLED)$")  # of a loop on the next line; other lines without an end go on deeper


def kernels(source):
    lines = source.split("\n")
    first = next(i for i, line in enumerate(lines) if "/* ---- kernels ---- */" in line)
    for number, line in enumerate(lines[first:], first + 1):
        if "/* ---- tables ---- */" in line:
            return
        code = re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', "", line).rstrip()
        if code.strip() and not code.lstrip().startswith(("#", "/*")):
            yield number, line, code


def check(name, source):
    depth, deeper, wrong, seen = 0, 0, 0, 0
    for number, line, code in kernels(source):
        text = code.strip()
        expected = 2 * (depth - text.startswith("}")) + 2 * deeper
        if len(code) - len(code.lstrip()) != expected:
            wrong += 1
            if wrong <= 3:
                print(f"{name}:{number}: {expected} spaces were expected: {line}")
        depth += text.count("{") - text.count("}")
        more = not text.endswith((";", "{", "}", ":", ",")) and not PREFIX.search(text)
        deeper = deeper + 1 if more else 0
        seen += 1
    print(f"{name}: {seen} lines, {wrong} wrong")
    return wrong == 0 and seen > 0


ok = True
for file in sys.argv[2:]:
    for options in (["--emit=c", "-march=x86-64-v3"], ["--emit=cuda", "--target=cuda"]):
        made = subprocess.run([sys.argv[1], file, "-O2", *options, "-o", "-"], capture_output=True, text=True, check=True)
        ok = check(f"{file} {options[0]}", made.stdout) and ok
sys.exit(not ok)
