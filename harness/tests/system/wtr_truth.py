# SPDX-License-Identifier: BSD-2-Clause
"""wtr's list, tree, fold, coverage and lcov against what single steps of the programs showed.

wtr_truth.py BUILD-FOLDER OWN-FOLDER
"""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import (PROGRAMS, Truth, run_tests, same,  # noqa: E402
                                            sizes, source_lines)

LINE = re.compile(r" *(\d+) (.{8}) ([0-9a-f]+)(?: (\S+))? => ([0-9a-f]+)(?: (\S+))?"
                  r"(?:  (\S+) => (\S+))?$")
ROUNDS = "4"


def recorded(tools):
    """(name, trace, truth) of each program."""
    for name in PROGRAMS:
        program = tools.build(name)
        trace, steps = tools.record(program, ROUNDS)
        yield name, trace, Truth(program, steps)


def symbol(one):
    return "" if one is None else one.symbol + ("+0x%x" % one.offset if one.offset else "")


def branches_symbols_lines(tools):
    """`list` says every branch, kind, function, offset and line, and no other."""
    total = 0
    for name, trace, truth in recorded(tools):
        places = {place for branch in truth.branches for place in branch[:2] if place}
        lines = source_lines(truth.program, places)
        want = [(start and symbol(truth.listing[start]), kind, to and symbol(truth.listing[to]),
                 lines.get(start, ""), lines.get(to, "")) for start, to, kind in truth.branches]
        out, err = tools.wtr("list", trace)
        rows = [LINE.match(line) for line in out.splitlines() if line[0] != "#"]
        got = [(row[4], row[2].strip(), row[6], (row[7] or "").strip("?"),
                (row[8] or "").strip("?")) for row in rows]
        same(got, want, name)
        same(err, "", name + ": standard error")
        raw = [tuple(int(word, 16) for word in line.split())
               for line in tools.wtr("list", "--raw", trace)[0].splitlines()]
        same([(a if b else None, c if d else None) for (a, c), (b, d, _) in
              zip(raw, truth.branches)], [(a, b) for a, b, _ in truth.branches], name + " raw")
        total += len(want)
    return "%d branches" % total


def call_tree(tools):
    """`tree` and `fold` find the calls that the stack pointer shows."""
    total = 0
    for name, trace, truth in recorded(tools):
        if name == "labels":
            continue            # without function symbols a jump is no tail call
        want = truth.tree()
        got, path = {}, []
        for line in tools.wtr("tree", trace)[0].splitlines()[1:]:
            row = re.match(r" *(\d+) +(\d+) +(\d+) +(\d+) +[\d.]+%  ( *)(\S+)$", line)
            if not row:
                continue
            depth = len(row[5]) // 2
            path = path[:depth] + [row[6]]
            if depth:
                got[tuple(path)] = [int(row[2]), 0, int(row[4])]
        for line in tools.wtr("fold", trace)[0].splitlines():
            stack, weight = line.rsplit(" ", 1)
            got[tuple(stack.split(";"))][1] = int(weight)
        same({key: tuple(value) for key, value in got.items()}, want, name)
        total += len(got)
    return "%d nodes" % total


def parse_lcov(text):
    """Line and branch counts of a tracefile with one source."""
    lines, functions, branches = {}, {}, defaultdict(list)
    for row in text.splitlines():
        tag, _, rest = row.partition(":")
        parts = rest.split(",")
        if tag == "DA":
            lines[int(parts[0])] = int(parts[1])
        elif tag == "FNDA":
            functions[parts[1]] = int(parts[0])
        elif tag == "BRDA":
            branches[int(parts[0])].append(parts[3])
    return lines, functions, branches


def line_truth(truth):
    """The same from the steps: highest count in a function, added up over functions."""
    lines = source_lines(truth.program, truth.listing)
    highest = defaultdict(int)
    branches = defaultdict(list)
    functions = {}
    for address, one in sorted(truth.listing.items()):
        if not lines[address]:
            continue
        number = int(lines[address].split(":")[1])
        count = truth.counts[address]
        functions.setdefault(one.symbol, count)
        highest[number, one.symbol] = max(highest[number, one.symbol], count)
        if one.kind in ("jcc", "loop"):
            taken = truth.taken[address]
            branches[number] += [str(taken), str(count - taken)] if count else ["-", "-"]
    total = defaultdict(int)
    for (number, _), count in highest.items():
        total[number] += count
    return dict(total), functions, branches


def coverage(tools):
    """`lcov` and `coverage` count lines, functions and directions as the steps do."""
    total = 0
    for name, trace, truth in recorded(tools):
        text = tools.wtr("lcov", trace)[0]
        lines, functions, branches = parse_lcov(text)
        want_lines, want_functions, want_branches = line_truth(truth)
        same(lines, want_lines, name + ": lines")
        same(functions, want_functions, name + ": functions")
        same(dict(branches), dict(want_branches), name + ": directions")
        report = tools.wtr("coverage", "--all", trace)[0].splitlines()
        reached = {row[3]: (int(row[1]), int(row[2])) for row in (
            re.match(r" *(\d+)/(\d+) .*? (?:-|\d+%)  (\S+?)(?:  \S+)?$", line)
            for line in report) if row}
        want = defaultdict(lambda: [0, 0])
        size_of = sizes(truth.program)
        for address, one in truth.listing.items():
            if one.offset < size_of.get(one.symbol, 1 << 32):
                want[one.symbol][0] += truth.counts[address] > 0
                want[one.symbol][1] += 1
        if name != "labels":    # its data in the code are instructions to objdump
            same(reached, {key: tuple(value) for key, value in want.items()},
                 name + ": functions reached")
        total += len(lines)
    return "%d lines" % total


def genhtml(tools):
    """lcov's own programs accept the tracefile, and count what it says."""
    if not shutil.which("genhtml"):
        return "SKIP: genhtml is not installed (package lcov)"
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    info = tools.place / "mix.info"
    info.write_text(tools.wtr("lcov", trace)[0])
    text = info.read_text()
    done = subprocess.run(["genhtml", "--branch-coverage", "-o", tools.place / "genhtml", info],
                          capture_output=True, text=True, check=False)
    same(done.returncode, 0, "genhtml: " + done.stderr)
    for word, found, hit in (("lines", "LF", "LH"), ("functions", "FNF", "FNH"),
                             ("branches", "BRF", "BRH")):
        numbers = [int(re.search(r"^%s:(\d+)" % tag, text, re.M)[1]) for tag in (hit, found)]
        want = r"%s\.+: [\d.]+%% \(%d of %d %s\)" % (word, *numbers, word)
        assert re.search(want, done.stdout), done.stdout
    return "genhtml agrees"


def every_form(tools):
    """However a system call is recorded, the tree is the same but for the kernel."""
    program = tools.build("mix")
    trees = []
    for form in ("none", "flat", "kernel"):
        trace, _ = tools.record(program, ROUNDS, syscalls=form, tag="-" + form)
        text = tools.wtr("tree", trace)[0]
        rows = re.findall(r"^ *\d+ +\d+ +\d+ +(\d+) +[\d.]+%  ( *\S+)$", text, re.M)
        trees.append(sorted(row for row in rows if "[kernel]" not in row[1]))
    same(trees[0], trees[1], "none and flat")
    same(trees[1], trees[2], "flat and kernel")
    return "%d nodes" % len(trees[0])


def moved_image(tools):
    """An image at another address than in its file: the same names, lines and counts."""
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    made = tools.place / "moved.wtr"
    made.write_bytes(wtr_file.moved(trace.read_bytes(), 0x7F0000000000))

    def words(text):
        return [re.sub(r"\b[0-9a-f]{6,}\b", "", line) for line in text.splitlines()
                if line[0] != "#"]
    for command in ("list", "tree", "fold", "coverage", "lcov", "check"):
        before, after = (tools.wtr(command, path)[0] for path in (trace, made))
        if command in ("tree", "fold", "coverage", "lcov"):
            # Without EXIT what ran after the last branch is not known.
            before = tools.wtr(command, without_exit(tools, trace))[0]
        same(words(after), words(before), command)
    return "6 commands"


def without_exit(tools, trace):
    path = tools.place / "no-exit.wtr"
    path.write_bytes(wtr_file.moved(trace.read_bytes(), 0))
    return path


def facts(tools):
    """`info`, `output` and `check` say what the recorder knew."""
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    text = tools.wtr("info", trace)[0]
    for want in ("provider ptrace", "image     %s, process 1" % program, "exits with 7",
                 "lost      0 branches", "output    12 bytes", "whole"):
        assert want in text, want
    build_id = subprocess.run(["readelf", "-n", program], capture_output=True, text=True,
                              check=True).stdout.split("Build ID: ")[1].split()[0]
    assert "build-id " + build_id in text, build_id
    same(tools.wtr("output", trace)[0], "rounds done\n", "output")
    for _, trace, truth in recorded(tools):
        events = sum(kind == "event" for _, _, kind in truth.branches)
        text = tools.wtr("check", trace)[0]
        want = "ok: %d branches, %d events" % (len(truth.branches), events)
        assert text.startswith(want), text
    return "as recorded"


if __name__ == "__main__":
    sys.exit(run_tests([branches_symbols_lines, call_tree, coverage, genhtml, every_form,
                        moved_image, facts]))
