"""The code blocks of the pages do what they say: every block is executed, compared or compiled, or the page says why
it is not.   docs.py GC ROOT MKDATA SCRATCH

Each page has a folder of its own with the examples, made-up data and `gc` on the path; its blocks run there in their
order. What a block is stands in its language, and in comments right above it:
  ```sh, ```python                      executed; each must end with exit code 0
  ```g                                  has an entry, and is compiled by tests/docs.sh
  ```diff                               its + lines begin lines of the file that +++ names, in this order
  <!-- from … -->, <!-- lines of … -->  compared by tests/docs.sh
  <!-- sed: EXPRESSION -->              ... of the block before it is executed: fewer steps, say
  <!-- file: NAME -->                   the block becomes that file
  <!-- part of: PATH -->                its lines begin lines of the file, in this order
  <!-- output -->                       its lines begin lines that the block before it prints, blanks aside
  <!-- gc says of PROGRAM -->           gc says exactly this of the program, which may go on over lines
  <!-- not run: WHY -->                 nothing of these
  <!-- needs COMMAND -->                is executed where that is installed; else the test says that it was not
Above a table, <!-- messages --> says that what stands in backquotes in its first column is in messages of the sources;
"…" stands for what varies. The page of results is short: older figures go to docs/results/*.csv, whose rows have the
fields of their first one.
"""
import csv
import os
import re
import shutil
import subprocess
import sys

RESULTS_LINES = 150  # what a reader takes in: the current figures
FENCE = re.compile(r"^```(\w*)$")
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.S)


def blocks_of(text):
    """(line, language, body, comments right above, heading) of each block."""
    lines, blocks, above, i, heading = text.split("\n"), [], [], 0, ""
    while i < len(lines):
        fence = FENCE.match(lines[i])
        if fence:
            end = i + 1
            while lines[end] != "```":
                end += 1
            blocks.append((i + 1, fence[1], "\n".join(lines[i + 1 : end]) + "\n", above, heading))
            above, i = [], end
        elif lines[i].startswith("<!--"):
            end = i
            while "-->" not in lines[end]:
                end += 1
            above = above + [COMMENT.match("\n".join(lines[i : end + 1]))[1]]
            i = end
        elif lines[i].strip():
            above = []
            heading = lines[i] if lines[i].startswith("#") else heading
        i += 1
    return blocks


def messages_of(text):
    """(line, message) in the first column of the tables under <!-- messages -->, but for names of programs."""
    marked = False
    for i, line in enumerate(text.split("\n")):
        if line == "<!-- messages -->":
            marked = True
        elif not line.startswith("|"):
            marked = False
        elif marked:
            for message in re.findall(r"`([^`]*)`", line.split("|")[1]):
                if " " in message:
                    yield i + 1, message


def literals(root):
    """The string literals of the sources, those that stand side by side as one."""
    text = ""
    for part in "ir", "passes", "codegen", "lang", "runtime":
        for folder, _, names in sorted(os.walk(os.path.join(root, part))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".y", ".def")):
                    with open(os.path.join(folder, name)) as f:
                        text += re.sub(r'"\s*\n\s*"', "", f.read())
    return text


class Page:
    def __init__(self, gc, root, mkdata, path, folder):
        self.gc, self.root, self.path, self.folder = gc, root, path, folder
        self.said, self.failures, self.done, self.skips = "", 0, 0, None
        os.makedirs(folder)
        examples = os.path.join(root, "docs", "examples")
        for name in os.listdir(examples):
            shutil.copy(os.path.join(examples, name), folder)
        os.symlink(os.path.join(root, "docs"), os.path.join(folder, "docs"))
        os.symlink(os.path.dirname(os.path.dirname(gc)), os.path.join(folder, "build"))
        for text, size in ("book.txt", 20000), ("letter.txt", 400):
            with open(os.path.join(root, "tests", "prose.txt"), "rb") as f:
                prose = f.read(size)
            with open(os.path.join(folder, text), "wb") as f:
                f.write(prose)
        for rows, part in (640, "train"), (320, "t10k"):
            for shape, kind in ((f"{rows},28,28", "images-idx3"), (f"{rows}", "labels-idx1")):
                name = os.path.join(folder, f"{part}-{kind}-ubyte")
                subprocess.run([mkdata, "idx", "u8", shape, "1" if rows == 640 else "2", name], check=True)
                subprocess.run(["gzip", "-1f", name], check=True)

    def fail(self, line, why):
        self.failures += 1
        print(f"{os.path.relpath(self.path, self.root)}:{line}: {why}")

    def run(self, command):
        env = dict(os.environ, PATH=os.path.dirname(self.gc) + os.pathsep + os.environ["PATH"])
        r = subprocess.run(command, cwd=self.folder, env=env, text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return r.returncode, r.stdout

    def execute(self, line, command):
        code, self.said = self.run(command)
        if code:
            self.fail(line, f"exit code {code}:\n{self.said}")

    def in_order(self, line, body, text, where):
        have = iter(" ".join(x.split()) for x in text.split("\n"))
        for want in filter(None, (" ".join(x.split()) for x in body.split("\n"))):
            if want != "…" and not any(x.startswith(want) for x in have):
                self.fail(line, f"{where} does not say there: {want}")
                return

    def diff(self, line, body):
        for part in re.split(r"^\+\+\+ ", body, flags=re.M)[1:]:
            name, lines = part.split("\n", 1)
            added = "\n".join(x[1:] for x in lines.split("\n") if x.startswith("+"))
            with open(os.path.join(self.root, name)) as f:
                self.in_order(line, added, f.read(), name)

    def gc_says(self, line, program, body):
        with open(os.path.join(self.folder, "err.g"), "w") as f:
            f.write(program + "\n")
        said = self.run(["gc", "err.g", "--emit=ir", "-o", "-"])[1]
        if said.strip() != body.strip():
            self.fail(line, f"gc says:\n{said}")

    def block(self, line, language, body, above, heading):
        self.done += 1
        marks = dict((a + ": ").split(": ", 1) for a in above if not a.startswith("gc says of"))
        says = [a for a in above if a.startswith("gc says of")]
        if any(a.startswith(("from ", "lines of ")) for a in above) or "not run" in marks or self.skips == heading:
            return
        if language == "python" and "numpy" in body and self.run(["python3", "-c", "import numpy"])[0]:
            print(f"NOT TESTED: {os.path.relpath(self.path, self.root)} from line {line} to the next heading: numpy is missing")
            self.skips = heading
            return
        needs = [a.split()[1] for a in above if a.startswith("needs ")]
        if needs and not shutil.which(needs[0]):
            print(f"NOT TESTED: {os.path.relpath(self.path, self.root)}, line {line}: {needs[0]} is missing")
            return
        if says:
            self.gc_says(line, says[0][len("gc says of") :].lstrip("\n "), body)
        elif "file" in marks:
            with open(os.path.join(self.folder, marks["file"].rstrip(": ")), "w") as f:
                f.write(body)
        elif "part of" in marks:
            name = marks["part of"].rstrip(": ")
            own = os.path.join(self.folder, name)
            with open(own if os.path.exists(own) else os.path.join(self.root, name)) as f:
                self.in_order(line, body, f.read(), name)
        elif "output" in marks:
            self.in_order(line, body, self.said, "the block above")
        elif language in ("sh", "python"):
            if "sed" in marks:
                sed = subprocess.run(["sed", "-E", marks["sed"].rstrip(": ")], input=body, text=True,
                                     stdout=subprocess.PIPE, check=True).stdout
                if sed == body:
                    self.fail(line, "its sed expression changes nothing")
                body = sed
            self.execute(line, ["sh", "-euc", body] if language == "sh" else ["python3", "-c", body])
        elif language == "diff":
            self.diff(line, body)
        elif language != "g" or not re.search(r"^entry ", body, re.M):
            self.fail(line, "this block is neither executed nor compared: tests/docs.py says how")


def broken_rows(folder):
    """Says which rows of the tables in the folder have not the fields of the first one; how many."""
    count = 0
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".csv")):
        with open(os.path.join(folder, name), newline="") as f:
            rows = csv.reader(f)
            columns = len(next(rows))
            for row in rows:
                if len(row) != columns:
                    count += 1
                    print(f"docs/results/{name}:{rows.line_num}: {len(row)} fields, where the first row has {columns}")
    return count


def main():
    gc, root, mkdata, scratch = (os.path.abspath(a) for a in sys.argv[1:5])
    shutil.rmtree(scratch, ignore_errors=True)
    docs = os.path.join(root, "docs")
    pages = [os.path.join(root, "README.md")] + sorted(os.path.join(docs, n) for n in os.listdir(docs) if n.endswith(".md"))
    failures, done = broken_rows(os.path.join(docs, "results")), 0
    sources = literals(root)
    for path in pages:
        with open(path) as f:
            text = f.read()
        if path == os.path.join(docs, "results.md") and text.count("\n") > RESULTS_LINES:
            failures += 1
            print(f"docs/results.md has {text.count(chr(10))} lines, more than {RESULTS_LINES}: older figures go to docs/results/*.csv")
        for line, message in messages_of(text):
            done += 1
            for part in filter(str.strip, message.split("…")):
                if part not in sources:
                    failures += 1
                    print(f"{os.path.relpath(path, root)}:{line}: no message of the sources has: {part}")
        blocks = blocks_of(text)
        if not blocks:
            continue
        page = Page(gc, root, mkdata, path, os.path.join(scratch, os.path.basename(path)[:-3]))
        for block in blocks:
            page.block(*block)
        failures, done = failures + page.failures, done + page.done
    print(f"{done} blocks of {len(pages)} pages, {failures} failures")
    return failures > 0 or done == 0


sys.exit(main())
