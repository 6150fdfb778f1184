# SPDX-License-Identifier: BSD-2-Clause
"""wtr on a million branches: processor time and memory of every command, and that they grow
with the trace and not faster.

wtr_speed.py BUILD-FOLDER OWN-FOLDER
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import run_tests, same  # noqa: E402

COMMANDS = [["info"], ["list"], ["list", "--raw"], ["tree"], ["fold"], ["coverage"], ["lcov"],
            ["html"], ["perf"], ["perf", "--samples"], ["btrace"], ["bts"], ["check"]]
SECONDS = 2.0               # for a million branches
MEMORY = 400                # bytes a branch
ROUNDS = 8


def cycle_of(data, truth_call):
    """Numbers of two branches between which the program came back to where it was."""
    at = [number for number, (_, start, _) in enumerate(wtr_file.all_branches(data))
          if start == truth_call]
    return at[1], at[-1]


def call_of_round(tools, program):
    """Address of the call of round_of in rounds."""
    listing = subprocess.run(["objdump", "-d", "--disassemble=rounds", program], check=True,
                             capture_output=True, text=True).stdout
    line = next(one for one in listing.splitlines() if "<round_of>" in one and "call" in one)
    return int(line.split(":")[0], 16)


def stretched(tools, total):
    program = tools.build("mix")
    trace, _ = tools.record(program, str(ROUNDS))
    data = trace.read_bytes()
    made, count = wtr_file.stretched(data, cycle_of(data, call_of_round(tools, program)), total)
    path = tools.place / ("stretched-%d.wtr" % total)
    path.write_bytes(made)
    return path, count


def measured(tools, words, trace):
    """Processor seconds and peak memory in bytes of one command."""
    with subprocess.Popen([tools.wtr_path, *words, "-o", tools.place / "result", trace],
                          stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    same(process.returncode, 0, "status of " + " ".join(words))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def million(tools):
    """Every command within its time and memory."""
    trace, count = stretched(tools, 1000000)
    assert tools.wtr("check", trace)[0].startswith("ok: %d branches" % count)
    print("%d branches, %d bytes" % (count, trace.stat().st_size))
    for words in COMMANDS:
        seconds, memory = measured(tools, words, trace)
        print("%-16s %5.2f s  %4d MB  %5.1f MB written" % (
            " ".join(words), seconds, memory >> 20,
            (tools.place / "result").stat().st_size / 1e6))
        assert seconds < SECONDS, "%s takes %.2f s" % (words, seconds)
        assert memory < MEMORY * count, "%s takes %d bytes" % (words, memory)
    return "%d branches" % count


def linear(tools):
    """Four times the trace takes no more than about four times as long."""
    small, _ = stretched(tools, 250000)
    large, _ = stretched(tools, 1000000)
    for words in COMMANDS:
        best = [min(measured(tools, words, trace)[0] for _ in range(2))
                for trace in (small, large)]
        assert best[1] < 8 * best[0] + 0.1, "%s: %.2f s, then %.2f s" % (words, *best)
    return "all commands"


def deep(tools):
    """Calls that never return, and returns to nobody: the worst for a stack."""
    program = tools.build("labels")
    listing = subprocess.run(["objdump", "-d", program], check=True, capture_output=True,
                             text=True).stdout.splitlines()
    call = int(next(one for one in listing if "<call_me>" in one and "call " in one)
               .split(":")[0], 16)
    ret = int(next(one for one in listing if one.rstrip().endswith("ret")).split(":")[0], 16)
    trace, _ = tools.record(program)
    image = next(raw for kind, _, _, _, raw in wtr_file.read(trace.read_bytes())
                 if kind == "image")
    for name, pairs in (("calls", [(call, call)] * 500000),
                        ("returns", [(ret, ret + 16 * (n % 99)) for n in range(500000)])):
        blocks = [wtr_file.packed(pairs[at:at + 8000]) for at in range(0, len(pairs), 8000)]
        path = tools.place / (name + ".wtr")
        path.write_bytes(wtr_file.whole([image, *blocks], len(pairs)))
        for words in COMMANDS:
            if words[0] in ("check", "lcov"):
                continue    # one finds it impossible, the other needs lines
            seconds, _ = measured(tools, words, path)
            assert seconds < SECONDS, "%s of %s takes %.2f s" % (words, name, seconds)
    return "500000 each"


if __name__ == "__main__":
    sys.exit(run_tests([million, linear, deep]))
