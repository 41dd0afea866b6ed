"""Writes unicode.def and canonical.def, the Unicode data that tokenizers need.

    tables.py FOLDER

Categories are those of the package unicodedata2, which has one version of Unicode for each of its own. Canonical forms
are those of Unicode 9.0, and BERT's categories those of 8.0, which the package tokenizers has: perl says which characters
these have, and the package which categories have changed since. Lower case is the package's.
"""
import subprocess
import sys
from pathlib import Path

import unicodedata2 as u
from tokenizers import normalizers, pre_tokenizers

CATEGORIES = ["Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "No", "Pc", "Pd", "Pe", "Pf",
              "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"]


def present_in(version):
    """The characters from U+00C0 on that a version of Unicode has."""
    program = rf'binmode STDOUT, ":utf8"; for (0xc0..0xd7ff, 0xe000..0x10ffff) {{ print chr, "\n" if chr =~ /\p{{Present_In: {version}}}/ }}'
    return set(subprocess.run(["perl", "-e", program], check=True, capture_output=True).stdout.decode().split("\n"))


OLD = present_in("9.0")
HEAD = f"/* Written by tables.py from Unicode {u.unidata_version}. "


def wrapped(items):
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > 98:
            lines.append(line.rstrip())
            line = ""
        line += item + " "
    return "\n".join(lines + [line.rstrip()]) + "\n"


def categories():
    """Where a run of code points of one category begins."""
    last = None
    for c in range(0x110000):
        category = u.category(chr(c))
        if category != last:
            yield f"R({c:#x},{category})"
        last = category


def first_ones():
    """Runs of code points, from U+0100 on, that Unicode 8.0 has and that are not unassigned today."""
    old, begin = present_in("8.0"), None
    for c in range(0x100, 0x110001):
        there = c < 0x110000 and chr(c) in old
        if there and begin is None:
            begin = c
        if not there and begin is not None:
            yield f"O({begin:#x},{c - 1:#x})"
            begin = None


def class_of(c):
    return u.combining(chr(c)) if chr(c) in OLD else 0


def classes():
    """Runs of code points of one canonical combining class other than 0."""
    c = 0
    while c < 0x110000:
        n, first = class_of(c), c
        while c < 0x110000 and class_of(c) == n:
            c += 1
        if n:
            yield f"C({first:#x},{c - 1:#x},{n})"


def scalars():
    return (c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000)


def lower():
    """Code points whose lower case is one other, in runs of one distance and stride; the only one with two is apart."""
    lowered = [(c, normalizers.Lowercase().normalize_str(chr(c))) for c in scalars()]
    todo = [(c, ord(text) - c) for c, text in lowered if len(text) == 1 and text != chr(c)]
    i = 0
    while i < len(todo):
        first, distance = todo[i]
        stride = todo[i + 1][0] - first if i + 1 < len(todo) and todo[i + 1][1] == distance else 1
        stride = stride if stride <= 2 else 1
        n = 1
        while i + n < len(todo) and todo[i + n] == (first + n * stride, distance):
            n += 1
        yield f"L({first:#x},{first + (n - 1) * stride:#x},{stride},{distance})"
        i += n


def marks():
    """Runs of the combining marks that StripAccents leaves out."""
    strip, first, last = normalizers.StripAccents(), None, None
    for c in list(scalars()) + [0x110000]:
        mark = c < 0x110000 and strip.normalize_str(chr(c)) == ""
        if mark and first is None:
            first = c
        if not mark and first is not None:
            yield f"M({first:#x},{last:#x})"
            first = None
        last = c


def changed():
    """Categories of Unicode 8.0 that are others today, as far as BERT's steps see them: marks and punctuation."""
    old = present_in("8.0")
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    for c in scalars():
        text = chr(c)
        category = u.category(text) if c < 0x100 or text in old else "Cn"
        mark, punctuation = accents.normalize_str(text) == "", not pre_tokenizers.Punctuation("removed").pre_tokenize_str(text)
        ascii_symbol = c < 0x80 and category[0] == "S"
        if mark != (category == "Mn"):
            yield f"X({c:#x},{'Mn' if mark else 'Po' if punctuation else 'Mc'})"
        elif punctuation != (category[0] == "P" or ascii_symbol):
            yield f"X({c:#x},{'Po' if punctuation else 'So'})"


def decompositions():
    """Canonical ones of one step: a code point and its parts; 0: there is no second one."""
    for c in range(0x110000):
        text = u.decomposition(chr(c))
        if text and text[0] != "<" and chr(c) in OLD and not 0xAC00 <= c <= 0xD7A3:
            parts = [int(p, 16) for p in text.split()] + [0]
            yield c, parts[0], parts[1]


def compositions():
    """Those whose parts compose to the code point, in the order of the parts."""
    found = [(a, b, c) for c, a, b in decompositions() if b and u.normalize("NFC", chr(a) + chr(b)) == chr(c)]
    for a, b, c in sorted(found):
        yield f"P({a:#x},{b:#x},{c:#x})"


folder = Path(sys.argv[1])
(folder / "unicode.def").write_text(
    HEAD + "R: a run of code points of a category begins. C: a run of a canonical\n   combining class. L: lower case is that far away. O: code points of Unicode 8.0. X: its\n   category there, where it has changed. M: combining marks. */\n"
    "// clang-format off\n#ifdef R\n" + wrapped(categories()) + "#endif\n#ifdef C\n" + wrapped(classes()) + "#endif\n#ifdef L\n" +
    wrapped(lower()) + "#endif\n#ifdef O\n" + wrapped(first_ones()) + "#endif\n#ifdef X\n" + wrapped(changed()) + "#endif\n#ifdef M\n" + wrapped(marks()) + "#endif\n")
(folder / "canonical.def").write_text(
    HEAD + "D: a canonical decomposition of one step. P: a\n   pair and the code point that it composes to, in the order of pairs. */\n"
    "// clang-format off\n#ifdef D\n" + wrapped(f"D({c:#x},{a:#x},{b:#x})" for c, a, b in decompositions()) + "#endif\n#ifdef P\n" +
    wrapped(compositions()) + "#endif\n")
