# SPDX-License-Identifier: BSD-2-Clause
"""wtr with wrong words and bad files: the status, one clear line, and nothing lost.

wtr_usage.py BUILD-FOLDER OWN-FOLDER
"""

import os
import struct
import subprocess
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import run_tests, same  # noqa: E402

GOOD, PARTIAL, BAD, USAGE = range(4)


def one_line(tools, words, status, *wants):
    """The command fails with that status and one line with these words."""
    out, err = tools.wtr(*words, status=status)
    lines = err.splitlines()
    what = "wtr %s: " % " ".join(map(str, words))
    same(len(lines), 1, what + "lines on standard error: " + err)
    for want in ("wtr: ", *wants):
        assert want in lines[0], "%sno '%s' in: %s" % (what, want, lines[0])
    same(out, "", what + "standard output")


def recorded(tools):
    program = tools.build("mix")
    trace, _ = tools.record(program, "2")
    return program, trace


def usage(tools):
    """Wrong words: status 3 and the way to help."""
    _, trace = recorded(tools)
    cases = [
        (["nonsense", trace], "nonsense"), (["list"], "list wants a trace"),
        (["list", "--frob", trace], "--frob"), (["list", "--task", trace], "--task"),
        (["list", trace, "--task"], "--task wants a value"),
        (["list", "--task", "x", trace], "--task wants a number"),
        (["list", "--first", "-1", trace], "--first"),
        (["list", "--count", "99999999999999999999", trace], "--count"),
        (["tree", "--depth", "0", trace], "from 1 to 1024"),
        (["tree", "--raw", trace], "tree does not take --raw"),
        (["fold", "--weight", "pounds", trace], "pounds"),
        (["list", trace, "another"], "another"),
        (["list", *["--elf", "x"] * 17, trace], "16 times"),
    ]
    for words, want in cases:
        one_line(tools, words, USAGE, want, "see wtr --help")
    _, err = tools.wtr(status=USAGE)
    assert err.startswith("usage: wtr "), err
    out, _ = tools.wtr("--help")
    commands = ("info list tree fold profile coverage lcov html perf btrace bts output "
                "check").split()
    same([word for word in commands if "\n  %s " % word not in out], [], "help")
    return "%d cases" % len(cases)


def bad_traces(tools):
    """Files that are no trace: status 2, the file's name and what to do."""
    _, trace = recorded(tools)
    data = trace.read_bytes()
    cases = {
        "absent": (None, "cannot read"), "empty": (b"", "record it again"),
        "text": (b"not a trace at all, but long enough to be one" * 4, "not a branch trace"),
        "lf": (data.replace(b"\r\n", b"\n", 1), "as binary"),
        "seven": (bytes([data[0] & 0x7F]) + data[1:], "as binary"),
        "version": (wtr_file.header(major=2) + data[80:], "version"),
        "header": (data[:20] + b"x" + data[21:], "header"),
        "short": (data[:50], "not a branch trace|transfer"),
    }
    for name, (content, want) in cases.items():
        path = tools.place / (name + ".wtr")
        if content is not None:
            path.write_bytes(content)
        for command in ("info", "list", "perf"):
            words = [command, path] if command != "perf" else ["perf", "-o", "x", path]
            out, err = tools.wtr(*words, status=BAD)
            assert str(path) in err and any(w in err for w in want.split("|")), err
            same((out, len(err.splitlines())), ("", 1), name)
    one_line(tools, ["list", tools.place], BAD, str(tools.place))
    return "%d files" % len(cases)


def bad_programs(tools):
    """Programs that are not the traced one: status 2, named, with the way out."""
    program, trace = recorded(tools)
    other = tools.build("mix-O2")
    data = program.read_bytes()
    cases = {
        "text": (b"#!/bin/sh\n", "not an ELF file"), "absent": (None, "No such file"),
        "thirty-two": (data[:4] + b"\1" + data[5:], "not an x86-64 program"),
        "arm": (data[:18] + struct.pack("<H", 183) + data[20:], "not an x86-64 program"),
        "cut": (data[:100], "damaged|lies outside|cannot be read"),
        "half": (data[:0x1100], "lies outside"),
    }
    for name, (content, want) in cases.items():
        path = tools.place / name / "mix"
        path.parent.mkdir(exist_ok=True)
        if content is not None:
            path.write_bytes(content)
        _, err = tools.wtr("list", "--elf", path, trace, status=BAD)
        assert str(path) in err and any(w in err for w in want.split("|")), err
        same(len(err.splitlines()), 1, name)
    one_line(tools, ["list", "--elf", other, trace], BAD, str(other), "give that build")
    program.rename(tools.place / "gone")
    _, err = tools.wtr("list", trace)
    assert str(program) in err and "--elf" in err, err
    one_line(tools, ["coverage", trace], BAD, str(program), "--elf")
    tools.wtr("coverage", "--elf", tools.place / "gone", trace)
    return "%d programs" % len(cases)


def damaged(tools):
    """A damaged or cut trace: what can be read is shown, and it says so."""
    _, trace = recorded(tools)
    records = list(wtr_file.read(trace.read_bytes()))
    pairs = [pair[1:] for pair in wtr_file.all_branches(trace.read_bytes())]
    head = [raw for kind, _, _, _, raw in records if kind in ("image", "task")]
    runs = [wtr_file.packed(pairs[at:at + 20]) for at in range(0, len(pairs), 20)]
    whole = wtr_file.whole([*head, *runs], len(pairs))
    start = 80 + sum(map(len, head))
    shown = "\n".join("%x %x" % pair for pair in pairs) + "\n"

    def raw(data, status):
        path = tools.place / "damaged.wtr"
        path.write_bytes(data)
        out, err = tools.wtr("list", "--raw", path, status=status)
        return out, err

    same(raw(whole, GOOD), (shown, ""), "whole")
    for cut in range(start, len(whole), 37):
        out, err = raw(whole[:cut], PARTIAL)
        assert shown.startswith(out) and "cut short" in err, err
        good = sum(1 for n in range(len(runs)) if start + sum(map(len, runs[:n + 1])) <= cut)
        same(len(out.splitlines()), min(good * 20, len(pairs)), "branches before %d" % cut)
    middle = start + len(runs[0]) + 30
    out, err = raw(whole[:middle] + b"\xFF" * 8 + whole[middle + 8:], PARTIAL)
    assert "damaged at byte %d" % (start + len(runs[0])) in err, err
    same(len(out.splitlines()), len(pairs) - 20, "branches around the damage")
    _, err = raw(wtr_file.whole([*head, *runs[1:]], len(pairs)), PARTIAL)
    assert "incomplete" in err, err
    _, err = raw(whole + b"tail", PARTIAL)
    assert "after the end" in err, err
    path = tools.place / "damaged.wtr"
    path.write_bytes(whole[:-40])
    for words in (["info"], ["tree"], ["fold"], ["coverage"], ["lcov"], ["html"],
                  ["perf", "-o", tools.place / "x"], ["check"]):
        out, _ = tools.wtr(*words, path, status=PARTIAL)
        assert out or words[0] == "perf"
    return "%d cuts" % len(range(start, len(whole), 37))


def impossible(tools):
    """`check` finds branches that no program can have taken."""
    _, trace = recorded(tools)
    data = trace.read_bytes()
    head = [raw for kind, _, _, _, raw in wtr_file.read(data) if kind in ("image", "task")]
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    path = tools.place / "impossible.wtr"
    for change, want in ((lambda: pairs[:30] + pairs[31:], "no straight way"),
                         (lambda: pairs[:30] + [(pairs[30][0] + 1, pairs[30][1])] + pairs[31:],
                          "breaks"),
                         (lambda: [(pairs[0][0], pairs[0][1] + 1)] + pairs[1:], "elsewhere"),
                         (lambda: without_a_call(pairs), "no straight way")):
        changed = change()
        path.write_bytes(wtr_file.whole([*head, wtr_file.packed(changed)], len(changed)))
        out, _ = tools.wtr("check", path, status=PARTIAL)
        assert want in out and "not ok" in out, out
    return "4 changes"


def crossings(tools):
    """An interrupt may strike at any instruction, a branch too, and come back to it."""
    _, trace = recorded(tools)
    data = trace.read_bytes()
    head = [raw for kind, _, _, _, raw in wtr_file.read(data) if kind in ("image", "task")]
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    path, handler = tools.place / "crossings.wtr", (0x1E000000, 0x1E000050)
    for at in range(10, 90):
        struck = pairs[at][0]
        changed = pairs[:at] + [(struck, handler[0]), (handler[1], struck)] + pairs[at:]
        path.write_bytes(wtr_file.whole([*head, wtr_file.packed(changed)], len(changed)))
        out, _ = tools.wtr("check", path)
        assert out.startswith("ok: %d branches" % len(changed)), out
        want, got = (tools.wtr("btrace", one)[0].splitlines() for one in (
            rewritten(tools, head, pairs), path))
        same(got, want, "GDB's document")
    return "80 places"


def rewritten(tools, head, pairs):
    path = tools.place / "rewritten.wtr"
    path.write_bytes(wtr_file.whole([*head, wtr_file.packed(pairs)], len(pairs)))
    return path


def without_a_call(pairs):
    """A call left out from its branch to its return: the way leads straight through it."""
    for at, (start, _) in enumerate(pairs):
        back = next((n for n in range(at + 1, len(pairs)) if pairs[n][1] == start + 5), None)
        if at and back and pairs[at - 1][1] <= start < pairs[back + 1][0]:
            return pairs[:at] + pairs[back + 1:]
    raise AssertionError("no call comes back")


def outputs(tools):
    """-o appears whole or not at all, never over its input; pipes and full disks work."""
    _, trace = recorded(tools)
    one_line(tools, ["list", "-o", "/nowhere/x", trace], BAD, "/nowhere/x")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([tools.wtr_path, "list", trace], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    same((done.returncode, "No space left" in done.stderr), (BAD, True), "full disk")
    target = tools.place / "listing"
    tools.wtr("list", "-o", target, trace)
    want, _ = tools.wtr("list", trace)
    same(target.read_text(), want, "-o")
    same(list(tools.place.glob("*.part")), [], "left over")
    pipe = tools.place / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        tools.wtr("list", "-o", pipe, trace)
        same((reader.stdout.read(), pipe.is_fifo()), (want, True), "-o to a pipe")
    link = tools.place / "link"
    link.symlink_to(trace)
    for name in (trace, link):
        one_line(tools, ["list", "-o", name, trace], USAGE, str(name), "overwrite")
    done = subprocess.run([tools.wtr_path, "list", "-"], input=trace.read_bytes(),
                          capture_output=True, check=True)
    same(done.stdout.decode(), want, "standard input")
    one_line(tools, ["list", "--task", "9", trace], BAD, "no task 9", "wtr info")
    window, _ = tools.wtr("list", "--first", "10", "--count", "5", trace)
    same([line for line in window.splitlines() if line[0] != "#"],
         [line for line in want.splitlines() if line[0] != "#"][10:15], "window")
    return "as documented"


if __name__ == "__main__":
    sys.exit(run_tests([usage, bad_traces, bad_programs, damaged, impossible, crossings,
                        outputs]))
