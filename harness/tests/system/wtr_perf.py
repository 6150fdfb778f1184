# SPDX-License-Identifier: BSD-2-Clause
"""`wtr perf` read by a real perf: every branch, every symbol, losses, threads, samples.

wtr_perf.py BUILD-FOLDER OWN-FOLDER
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import TESTS, Truth, listing, run_tests, same  # noqa: E402

ROUNDS = "4"
KERNEL = (0xFFFFFFFF81000000, 0xFFFFFFFF81000050)
PLACE = r"([0-9a-f]+) (\[unknown\]|\S+?\+0x[0-9a-f]+)"


def perf(*words, cwd=None, errors=None):
    """perf's standard output; its standard error must be empty, or match."""
    done = subprocess.run(["perf", *map(str, words)], capture_output=True, text=True, cwd=cwd,
                          check=False, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, PERF_PAGER="cat", PAGER="cat"))
    if done.returncode or (done.stderr.strip() if errors is None
                           else not re.search(errors, done.stderr)):
        raise AssertionError("perf %s: status %d: %s" % (" ".join(map(str, words)),
                                                         done.returncode, done.stderr))
    return done.stdout


def export(tools, trace, *words, status=0):
    """The trace as perf.data."""
    data = trace.with_suffix(".data" if not words else ".samples")
    tools.wtr("perf", *words, "-o", data, trace, status=status)
    return data


def truth_of(tools, name):
    program = tools.build(name)
    trace, steps = tools.record(program, ROUNDS)
    return trace, Truth(program, steps)


def expected_pairs(truth):
    """(from, symbol+offset, to, symbol+offset) with the recorder's kernel addresses."""
    def place(address, kernel):
        if address is None:
            return (kernel, "[unknown]")
        one = truth.listing[address]
        return (address, "%s+0x%x" % (one.symbol, one.offset))
    return [place(start, KERNEL[1]) + place(to, KERNEL[0]) for start, to, _ in truth.branches]


def branches_and_symbols(tools):
    """perf script prints the stepped branches with the symbols of objdump, in order."""
    total = 0
    for name in ("mix", "mix-O2", "labels"):
        trace, truth = truth_of(tools, name)
        text = perf("script", "-i", export(tools, trace), "--itrace=b", "-F",
                    "ip,sym,symoff,addr")
        got = [(int(a, 16), b, int(c, 16), d) for a, b, c, d in
               re.findall(r"^ *%s => +%s$" % (PLACE, PLACE), text, re.M)]
        same(got, expected_pairs(truth), name)
        total += len(got)
    return "%d branches" % total


def own_runtime(tools):
    """Programs of `make program`: perf finds their functions, whatever .bss they have."""
    total = 0
    for program in sorted((tools.wtr_path.parent / "programs").iterdir()):
        if program.name not in ("calls", "primes", "strings"):
            continue
        trace, steps = tools.record(program)
        truth = Truth(program, steps)
        text = perf("script", "-i", export(tools, trace), "--itrace=b", "-F",
                    "ip,sym,symoff,addr")
        got = [(int(a, 16), b, int(c, 16), d) for a, b, c, d in
               re.findall(r"^ *%s => +%s$" % (PLACE, PLACE), text, re.M)]
        same(got, expected_pairs(truth), program.name)
        total += len(got)
    assert total
    return "%d branches" % total


def c_library(tools):
    """A program of 2000 functions: perf and wtr agree on every name but that of .plt."""
    program = tools.place / "libc"
    subprocess.run(["gcc", "-static", "-g", "-O1", "-o", program, TESTS / "traced_libc.c"],
                   check=True)
    trace, _ = tools.record(program)
    text = perf("script", "-i", export(tools, trace), "--itrace=b", "-F", "ip,sym,symoff,addr")
    theirs = [tuple(row) for row in re.findall(r"^ *%s => +%s$" % (PLACE, PLACE), text, re.M)]
    ours = []
    for line in tools.wtr("list", trace)[0].splitlines():
        row = re.match(r" *\d+ .{8} ([0-9a-f]+)(?: (\S+))? => ([0-9a-f]+)(?: (\S+))?(?:  |$)",
                       line)
        if row:
            ours.append((row[1], named(row[2]), row[3], named(row[4])))
    # The linker's stubs have no symbols; perf gives them to the function before.
    plt = {(a, b): (c, d) for row, real in zip(ours, theirs)
           for a, b, c, d in (row[:2] + real[:2], row[2:] + real[2:]) if b.startswith(".plt")}
    assert plt and all(d.startswith("_init") for _, d in plt.values()), plt
    same([plt.get(row[:2], row[:2]) + plt.get(row[2:], row[2:]) for row in ours], theirs,
         "branches and symbols")
    assert tools.wtr("check", trace)[0].startswith("ok: %d branches" % len(ours))
    return "%d branches" % len(ours)


def named(text):
    """wtr's words for a place, as perf has them."""
    if not text:
        return "[unknown]"
    return text if "+0x" in text else text + "+0x0"


def moved_image(tools):
    """An image at another address than in its file."""
    trace, truth = truth_of(tools, "mix")
    made = tools.place / "shifted.wtr"
    made.write_bytes(wtr_file.moved(trace.read_bytes(), 0x7F0000000000))
    text = perf("script", "-i", export(tools, made), "--itrace=b", "-F", "ip,sym,symoff,addr")
    got = [(a, b) for _, a, _, b in re.findall(r"^ *%s => +%s$" % (PLACE, PLACE), text, re.M)]
    same(got, [(row[1], row[3]) for row in expected_pairs(truth)], "symbols")
    return "%d branches" % len(got)


def kinds(tools):
    """Calls, returns and all: as many as were stepped."""
    trace, truth = truth_of(tools, "mix")
    data = export(tools, trace)
    count = Counter(kind for _, _, kind in truth.branches)
    calls = count["call"] + count["call*"] + count["syscall"]
    for letters, want in (("b", len(truth.branches)), ("c", calls), ("r", count["ret"]),
                          ("cr", calls + count["ret"])):
        same(len(perf("script", "-i", data, "--itrace=" + letters).splitlines()), want, letters)
    return dict(count)


def report(tools):
    """perf report's shares are the branches that start in each function."""
    trace, truth = truth_of(tools, "mix")
    text = perf("report", "-i", export(tools, trace), "--itrace=b", "--stdio", "-n",
                "--percent-limit", "0")
    got = {row[1]: int(row[0]) for row in
           re.findall(r"^ +[\d.]+% +(\d+) +\S+ +\S+ +\[\.\] (\S+) *$", text, re.M)}
    want = Counter(truth.listing[start].symbol for start, _, _ in truth.branches if start)
    same(got, dict(want), "branches of each function")
    return "%d functions" % len(got)


def gaps(tools):
    """A loss between three pieces: one complaint, in its place; nothing else is gone."""
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    data = trace.read_bytes()
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    head = [raw for kind, _, _, _, raw in wtr_file.read(data) if kind in ("image", "task")]
    third = len(pairs) // 3
    made = tools.place / "gaps.wtr"
    made.write_bytes(wtr_file.whole(
        [*head, wtr_file.packed(pairs[:third]), wtr_file.packed(pairs[third:2 * third]),
         wtr_file.lost(12), wtr_file.packed(pairs[2 * third:])], len(pairs)))
    exported = export(tools, made, status=4)
    text = perf("script", "-i", exported, "--itrace=be", "-F", "ip,addr",
                errors="AUX data lost 1 times out of")
    lines = [line for line in text.splitlines() if "code 5" not in line]
    lost = [number for number, line in enumerate(lines) if "code 9: Lost trace data" in line]
    same(lost, [2 * third], "place of the loss")
    same(len(lines), len(pairs) + 1, "lines")
    text = perf("script", "-i", exported, "--itrace=b", "-F", "ip,addr", errors="AUX data lost")
    got = [tuple(int(word, 16) for word in line.split(" => ")) for line in text.splitlines()]
    same(got, pairs, "branches around the loss")
    return "one loss, %d branches" % len(got)


def threads(tools):
    """Two threads of one process and another process, taking turns: order and owners."""
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    data = trace.read_bytes()
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    image = next(raw for kind, _, _, _, raw in wtr_file.read(data) if kind == "image")
    body = image[16:]
    records = [wtr_file.record("image", body, task=process) for process in (1, 3)]
    records += [wtr_file.task("main", task_number=1), wtr_file.task("second", task_number=2,
                                                                    parent=1),
                wtr_file.task("other", process=3, task_number=3)]
    want, at = [], 0
    while at < len(pairs):
        for number in (1, 2, 3):
            records.append(wtr_file.packed(pairs[at:at + 13], task=number))
            want += [(number, *pair) for pair in pairs[at:at + 13]]
        at += 13
    made = tools.place / "threads.wtr"
    made.write_bytes(wtr_file.whole(records, len(want)))
    text = perf("script", "-i", export(tools, made), "--itrace=b", "-F",
                "comm,pid,tid,ip,sym,addr")
    rows = re.findall(r"^ *(\S+) +(\d+)/(\d+) +([0-9a-f]+) (\S+) => +([0-9a-f]+) (\S+)", text,
                      re.M)
    same([(int(row[2]), int(row[3], 16), int(row[5], 16)) for row in rows], want, "turns")
    same({(row[0], row[1], row[2]) for row in rows},
         {("main", "1", "1"), ("second", "1", "2"), ("other", "3", "3")}, "owners")
    unknown = [row for row in rows if "[unknown]" in row[4] and int(row[3], 16) < 1 << 63]
    same(unknown, [], "unknown symbols")
    return "%d branches of 3 tasks" % len(rows)


def samples(tools):
    """The second form: all branches in the stacks, instructions as stepped, chains as calls."""
    trace, truth = truth_of(tools, "mix")
    data = export(tools, trace, "--samples")
    text = perf("script", "-i", data, "-F", "+brstackinsn")
    shown = [int(address, 16) for address in
             re.findall(r"^\t([0-9a-f]{16})\tinsn:", text, re.M)]
    order = {one: None for one, _ in truth.steps}
    strange = [address for address in shown if address not in order]
    same(strange, [], "instructions that never ran")
    marks = Counter(int(address, 16) for address in
                    re.findall(r"^\t([0-9a-f]{16})\tinsn: [^\n]*#", text, re.M))
    want = Counter(start for start, _, _ in truth.branches if start)
    missing = {hex(key): (marks[key], count) for key, count in want.items()
               if marks[key] not in (count, count - 1)}
    assert len(missing) < 3, "branches in the stacks: %s" % missing
    text = perf("report", "-i", data, "-b", "--stdio", "-n", "--percent-limit", "0")
    same(int(re.search(r"# Samples: (\d+) ", text)[1]), len(truth.branches), "branches")
    text = perf("report", "-i", data, "-g", "caller", "--stdio", "--percent-limit", "0")
    assert re.search(r"100\.00% .*_start", text) and "---_start" in text and "--fib" in text
    return "%d instructions shown" % len(shown)


def same_twice(tools):
    """Two exports are equal byte for byte; perf lists events, command line and build-id."""
    trace, truth = truth_of(tools, "mix")
    first = export(tools, trace).read_bytes()
    data = export(tools, trace)
    same(data.read_bytes() == first, True, "two exports")
    text = perf("report", "-i", data, "--header-only")
    assert "intel_bts//u" in text and "dummy:u" in text, text
    assert re.search(r"cmdline : \S*mix 4", text), text
    build_id = subprocess.run(["readelf", "-n", truth.program], capture_output=True, text=True,
                              check=True).stdout.split("Build ID: ")[1].split()[0]
    assert build_id in perf("buildid-list", "-i", data), "build-id"
    return "%d bytes" % len(first)


def moved_program(tools):
    """With --elf perf finds the program where it is now."""
    program = tools.build("mix")
    trace, _ = tools.record(program, ROUNDS)
    moved = tools.place / "elsewhere"
    moved.mkdir(exist_ok=True)
    shutil.move(program, moved / "mix")
    _, err = tools.wtr("list", trace)
    assert "give it with --elf" in err, err
    data = tools.place / "moved.data"
    tools.wtr("perf", "--elf", moved / "mix", "-o", data, trace)
    text = perf("script", "-i", data, "--itrace=b", "-F", "ip,sym")
    assert "fib" in text and listing(moved / "mix")
    return "found"


if __name__ == "__main__":
    # Ubuntu's wrapper is there without a perf for the running kernel.
    if not shutil.which("perf") or subprocess.run(["perf", "--version"], check=False,
                                                  capture_output=True).returncode:
        print("SKIP: perf is not installed (package linux-perf)")
        sys.exit(0)
    sys.exit(run_tests([branches_and_symbols, own_runtime, c_library, moved_image, kinds,
                        report, gaps, threads, samples, same_twice, moved_program]))
