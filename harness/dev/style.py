# SPDX-License-Identifier: BSD-2-Clause
"""House rules that a formatter does not know, each checked over every file of the tree.

One function a rule; it gets a File and yields (line number, text).  The rules about what
depends on what read the compiler's own dependency files under OUT as well, so that they prove
what was really included.
"""

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness.dev import kept  # noqa: E402

COLUMNS = 96
FILE_LINES = 400
ASM_LINES = 150
FUNCTION_LINES = 60         # most; a few may be longer
FUNCTION_LIMIT = 100        # none may be

COMMENT = {".c": "/*", ".h": "/*", ".cc": "/*", ".rs": "//", ".adb": "--", ".pas": "{",
           ".def": "/*", ".ld": "/*", ".asm": ";",
           ".inc": ";", ".py": '"""', ".sh": "#", ".mk": "#", ".gdb": "#", ".yml": "#",
           ".1": '.\\"', ".js": "/*", ".css": "/*", ".html": "<!--"}
BY_NAME = {"Makefile": ".mk", "run": ".sh", ".clang-format": ".mk", ".gitignore": ".mk"}
EXEMPT_FROM_HEADER = {"LICENSE", "VERSION", ".clang-format", ".gitignore"}
NO_HEADER = {".md", ".json", ".log", ".xsd", ".txt", ".bin", ".tap"}

# What each folder may include besides itself.  hw/model stands alone.
MAY_INCLUDE = {"hw": set(), "ds": {"hw"}, "guest": {"hw"}, "harness": {"hw", "ds", "guest"},
               "boot": {"hw", "ds", "guest", "harness"}}
MODEL_SYSTEM = {"stdint.h", "stddef.h", "stdbool.h", "stdarg.h"}
# The one header of the model that others may see: how to enter and leave it.
MODEL_PUBLIC = "hw/model/model.h"

# Numbers of the registers that the suite uses; the short ones are left out where they would
# also be sizes.
MSR_NUMBERS = {0x8B, 0x1A0, 0x1C8, 0x1C9, 0x1D9, 0x174, 0x175, 0x176, 0x345, 0x38D,
               0x38F, 0x390, 0x3F1, 0xDA0, 0xC0000080, 0xC0000081, 0xC0000082, 0xC0000083,
               0xC0000084, 0xC0000100, 0xC0000101, 0xC0000102, 0xC0010114, 0xC0010117}
FORBIDDEN = [(re.compile(pattern), why) for pattern, why in (
    (r"\b(TODO|FIXME|XXX)\b", "unfinished work"),
    (r"/(root|home|mnt)/", "a path of one machine"),
    (r"(?i)\bissue #?\d", "a reference nobody can follow"))]
# A declaration on one line, of the types that are known by sight.
DECLARATION = re.compile(
    r"    (static |const )*((struct|enum|union) \w+|unsigned|bool|char|int|size_t|u?int\d+_t) "
    r"[^()=]*(=.*)?;( /\*.*\*/)?$")
# Functions that the image does not need: who calls them.
HOST_CALLS = {"model_defect_count": "docs/defects.md is made with it",
              "model_policy_count": "docs/defects.md is made with it",
              "branch_taken": "the host's steps of workloads are judged by it",
              "quirk_source": "tests hold every row of the table to have one",
              "session_set_reset": "a driver's call; its tests and fuzzer are on the host"}
CHECK_HEADINGS = ("Claim:", "How:", "Wrong if:")


class File:
    """One text file of the tree."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.kind = BY_NAME.get(Path(path).name, Path(path).suffix)
        self.folder = path.split("/")[0] if "/" in path else ""
        self.model = path.startswith("hw/model/")
        self.test = "/tests/" in path

    def code(self):
        """(line number, line without comments and strings) of C and assembly."""
        text = re.sub(r'"(\\.|[^"\\\n])*"', '""', self.text)
        if self.kind in (".c", ".h"):
            text = re.sub(r"/\*.*?\*/|//[^\n]*",
                          lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
        elif self.kind in (".asm", ".inc"):
            text = re.sub(r";[^\n]*", "", text)
        return enumerate(text.split("\n"), 1)


def rule_characters(file):
    """ASCII, no tab, no trailing blank, one line end at the end."""
    for number, line in enumerate(file.lines, 1):
        if not line.isascii():
            yield number, "not ASCII"
        if "\t" in line and not (file.kind == ".mk" and line.startswith("\t")):
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if len(line) > COLUMNS and file.kind not in (".md", ".json", ".log"):
            yield number, "%d columns, at most %d" % (len(line), COLUMNS)
    if file.text and (not file.text.endswith("\n") or file.text.endswith("\n\n")):
        yield len(file.lines), "must end with one line end"


def rule_header(file):
    """The licence in the first line, then a comment that says what the file is about."""
    name = Path(file.path).name
    if name in EXEMPT_FROM_HEADER or file.kind in NO_HEADER:
        return
    start = 1 if file.text.startswith("#!") else 0
    line = file.lines[start] if len(file.lines) > start else ""
    if "SPDX-License-Identifier: BSD-2-Clause" not in line:
        yield start + 1, "no SPDX line"
        return
    second = next((text for text in file.lines[start + 1:] if text.strip()), "")
    mark = COMMENT.get(file.kind, "#")
    if not second.startswith(mark):
        yield start + 2, "no comment that says what the file is about"
    elif len(re.findall(r"[A-Za-z]+", "\n".join(file.lines[start + 1:start + 6]))) < 4:
        yield start + 2, "the opening comment says too little"


def rule_size(file):
    """Files and functions small enough to be read at once."""
    lines = file.text.count("\n")
    if file.kind == ".asm" and lines >= ASM_LINES:
        yield 1, "%d lines, an assembly file has less than %d" % (lines, ASM_LINES)
    limit = FILE_LINES * (2 if file.test else 1)
    if file.kind in (".c", ".h", ".py", ".sh") and lines >= limit:
        yield 1, "%d lines, less than %d wanted" % (lines, limit)
    for line, name, length in functions(file):
        if length > FUNCTION_LIMIT:
            yield line, "%s has %d lines" % (name, length)


def functions(file):
    """(line, name, length in lines) of each function, in C by the formatter's brace rule."""
    if file.kind == ".py":
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.name, node.end_lineno - node.lineno + 1
    elif file.kind == ".c":
        begin, name = 0, ""
        for number, line in enumerate(file.lines, 1):
            if line == "{":
                begin = number
            elif line == "}" and begin:
                yield begin, name, number - begin + 1
                begin = 0
            elif not begin and re.match(r"\w[^;=]*?\w\(", line):
                name = re.match(r".*?(\w+)\(", line)[1]


def rule_words(file):
    """Nothing unfinished, nothing that only its writer can follow."""
    if file.path in ("harness/dev/style.py", "harness/tests/unit/test_style.py"):
        return
    for number, line in enumerate(file.lines, 1):
        for pattern, why in FORBIDDEN:
            found = pattern.search(line)
            if found:
                yield number, "'%s': %s" % (found[0], why)


def includes(file):
    """(line, name, is a system header) of each include."""
    for number, line in enumerate(file.lines, 1):
        found = re.match(r'\s*[#%]include\s+(["<])([^">]+)[">]', line)
        if found:
            yield number, found[2], found[1] == "<"


def resolve(file, name):
    """An include's path from the root, as the compiler would find it beside the file first."""
    beside = str(Path(file.path).parent / name)
    return beside if (ROOT / beside).is_file() else name


def allowed(path, target):
    """May the file at path depend on the file at target?  Both relative to the root."""
    if path.startswith("hw/model/"):
        return target.startswith("hw/model/")
    if target.startswith("hw/model/"):
        return target == MODEL_PUBLIC
    here, there = path.split("/")[0], target.split("/")[0]
    return here == there or "/" not in target or there in MAY_INCLUDE.get(here, set())


def rule_includes(file):
    """Dependencies point one way: boot, harness, guest and ds, hw; the model stands alone."""
    if file.folder not in MAY_INCLUDE or file.test or file.kind == ".py":
        return
    for number, name, system in includes(file):
        if system:
            if file.model and name not in MODEL_SYSTEM:
                yield number, "the model includes <%s>" % name
        elif not allowed(file.path, resolve(file, name)):
            yield number, "%s must not include %s" % (file.path, name)


def rule_numbers(file):
    """Numbers of registers and CPUID leaves live under hw/ only."""
    if file.folder == "hw" or file.kind not in (".c", ".h", ".asm", ".inc"):
        return
    for number, line in file.code():
        for text in re.findall(r"\b0[xX][0-9a-fA-F]+|\b[0-9][0-9a-fA-F]*[hH]\b", line):
            value = int(text.rstrip("hH").removeprefix("0x").removeprefix("0X"), 16)
            if value in MSR_NUMBERS and not file.test:
                yield number, "%s is the number of a register" % text
        if re.search(r"\bcpuid\w*\((0x)?[0-9]", line):
            yield number, "the number of a CPUID leaf"


def rule_casts(file):
    """On x86-64 a uint64_t is an unsigned long: %lx prints it without a cast."""
    if file.kind in (".c", ".h"):
        for number, line in file.code():
            if re.search(r"\((unsigned )?long long\)", line):
                yield number, "a cast to long long: print a uint64_t by %lx"


def rule_check_file(file):
    """A file of checks opens with the claim, how it decides, and how it can be wrong."""
    if not (file.path.startswith("harness/checks/") and file.kind == ".c"):
        return
    if "CHECK(" not in file.text:
        return
    opening = file.text.split("*/")
    opening = opening[1] if len(opening) > 2 and len(opening[0]) < 60 else opening[0]
    for heading in CHECK_HEADINGS:
        if heading not in opening:
            yield 2, "the opening comment lacks '%s'" % heading


def guard_of(path):
    """The name of a header's include guard: its path."""
    return re.sub(r"[^A-Z0-9]", "_", path.upper())


def rule_guard(file):
    """A header is guarded by the name of its path, which no other header can have."""
    if file.kind != ".h":
        return
    name = guard_of(file.path)
    if not re.search(r"^#ifndef %s\n#define %s$" % (name, name), file.text, re.M):
        yield 3, "no include guard %s" % name


def rule_manner(file):
    """What the formatter leaves open: openers of comments, digits of hex, tests for NULL."""
    if file.kind not in (".c", ".h"):
        return
    for number, line in enumerate(file.lines, 1):
        if re.match(r" */\* *[^* ]", line) and "*/" not in line:
            yield number, "a comment of several lines opens with a line of its own"
    for number, line in file.code():
        found = re.search(r"\b0x[0-9A-F]*[a-f]\w*", line)
        if found:
            yield number, "%s: digits of hex are capitals" % found[0]
        if re.search(r"[!=]= NULL\b", line):
            yield number, "a pointer is its own test: no comparison with NULL"


def rule_declarations(file):
    """A blank line behind the declarations that open a function."""
    if file.kind != ".c":
        return
    for number, line in enumerate(file.lines):
        if line != "{":
            continue
        at = number + 1
        while at < len(file.lines) and DECLARATION.match(file.lines[at]):
            at += 1
        after = file.lines[at] if at < len(file.lines) else ""
        if at > number + 1 and re.match(r"    (return|if|for|while|switch|do)\b", after):
            yield at + 1, "no blank line behind the declarations"


def rule_routines(file):
    """Above each assembly routine that C calls: its contract."""
    if file.kind != ".asm" or file.folder == "guest":
        return
    for found in re.finditer(r"^global\s+(\w+):function", file.text, re.M):
        label = found[1] + ":"
        if label not in file.lines:
            continue
        at = above = file.lines.index(label)
        while above > 0 and re.match(r";|align|global|section|\w+:$", file.lines[above - 1]):
            above -= 1
        if not any(line.startswith(";") for line in file.lines[above:at]):
            yield at + 1, "%s has no contract above it" % found[1]


RULES = [value for name, value in sorted(globals().items()) if name.startswith("rule_")]


def prerequisites(text):
    """(target, [prerequisites]) of a dependency file's first rule."""
    rule = text.replace("\\\n", " ").split("\n")[0]
    target, _, rest = rule.partition(":")
    return target.strip(), rest.split()


def dependency_proof(out):
    """Findings from the compiler's dependency files; a missing file is one, too."""
    seen = set()
    for path in sorted((out / "obj").rglob("*.d")):
        _, needs = prerequisites(path.read_text())
        needs = [str((ROOT / need).resolve().relative_to(ROOT)) for need in needs
                 if (ROOT / need).resolve().is_relative_to(ROOT) and
                 not (ROOT / need).resolve().is_relative_to(out.resolve())]
        if not needs:
            continue
        source = needs[0]
        seen.add(source)
        for need in needs[1:]:
            if source.split("/")[0] in MAY_INCLUDE and not allowed(source, need):
                yield source, "depends on %s" % need
    for pattern in ("hw/model/**/*.c", "hw/model/**/*.asm"):
        for source in sorted(ROOT.glob(pattern)):
            name = str(source.relative_to(ROOT))
            if name not in seen:
                yield name, "no dependency file proves what it includes; build first"


def dead_code(out):
    """Functions of ours that nothing in the image calls, by what the linker left out."""
    left_out = re.compile(r"removing unused section '\.text\.(\w+)' in file '\S*/obj/(\S+)\.o'")
    found = left_out.findall((out / "waymark.gc").read_text())
    for name, source in found:
        if name not in HOST_CALLS:
            yield source + ".c", "nothing in the image calls %s" % name
    for name in sorted(set(HOST_CALLS) - {name for name, _ in found}):
        yield "harness/dev/style.py", "HOST_CALLS has %s, which the image has too" % name


def tree():
    """Every text file of the project that git knows or would take."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=True).stdout.split("\n")
    for name in sorted(set(filter(None, names))):
        path = ROOT / name
        if path.is_file() and path.suffix not in (".bin", ".png"):
            yield File(name, path.read_text(encoding="utf-8", errors="surrogateescape"))


def findings(files):
    """All findings as lines of text."""
    for file in files:
        for rule in RULES:
            for number, text in rule(file):
                yield "%s:%d: %s" % (file.path, number, text)


def report_lengths(files):
    """The longest functions and the share that is short, for a person."""
    lengths = [(length, file.path, name) for file in files for _, name, length in
               functions(file)]
    short = sum(1 for length, _, _ in lengths if length < FUNCTION_LINES)
    lengths.sort(reverse=True)
    yield "functions: %d, under %d lines: %d, median %d" % (
        len(lengths), FUNCTION_LINES, short,
        sorted(lengths)[len(lengths) // 2][0] if lengths else 0)
    for length, path, name in lengths[:5]:
        yield "  %3d lines  %s  %s" % (length, path, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="build folder with the dependency files")
    args = parser.parse_args()
    files = list(tree())
    found = list(findings(files))
    if args.out:
        found += ["%s:1: %s" % pair for pair in dependency_proof(args.out)]
        found += ["%s:1: %s" % pair for pair in dead_code(args.out)]
        found += ["%s:1: %s" % pair for pair in kept.findings(args.out / "waymark.elf")]
    for line in found:
        print(line)
    for line in report_lengths(files):
        print(line)
    print("%d files, %d findings" % (len(files), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
