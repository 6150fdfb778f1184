# SPDX-License-Identifier: BSD-2-Clause
"""Linux on the resident model: its own drivers, perf and GDB judge what the processor stores.

linux_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected: `
and what it saw.

What a program did is known from single steps on the host (wtr_tools.Truth).  What the kernel
took from the processor is read from perf.data itself: perf's decoder leaves records out.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.tests.fakes import perf_file  # noqa: E402
from harness.tests.system.wtr_tools import Tools, Truth  # noqa: E402

SECONDS = 1500
PROGRAM_END = 1 << 24       # the programs lie below, everything of the kernel above
# Recursion, calls through pointers, signals, system calls, 100 000 branches.
PROGRAMS = (("fib",), ("calls",), ("signals",), ("writes",), ("loop", "100000"))
BRANCHES = ("call", "call*", "jmp", "jmp*", "ret", "jcc", "loop")


class Session:
    """Where things are, what the guest left there, and what went wrong so far."""

    def __init__(self, out, place):
        self.out, self.place = Path(out), Path(place)
        self.tools = Tools(out, place)
        self.results = self.place / "linux"
        self.complaints, self.truths = [], {}

    def expect(self, good, text):
        if not good:
            self.complaints.append(text)

    def linux(self, words, *options, files=(), status=0):
        """The words run in the guest; what they printed."""
        # The kernel is downloaded once for all.
        command = [sys.executable, ROOT / "harness/linux.py", "--image",
                   self.out / "BOOTX64.EFI", "--out", self.place, "--cache",
                   self.out / "kernel", "--seconds", str(SECONDS), "--run", words, *options]
        for path in files:
            command += ["--file", path]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              check=False)
        self.expect(done.returncode == status, "status %d: %s" % (done.returncode,
                                                             done.stdout[-1500:]))
        self.check_messages()
        return done.stdout

    def check_messages(self):
        """Nothing in the kernel's log that speaks of trouble with what the model supplies."""
        path = self.results / "dmesg.txt"
        text = path.read_text(errors="replace") if path.is_file() else ""
        for words in ("Broken", "BUG:", "WARNING:", "unchecked MSR", "Oops", "stuck"):
            for line in re.findall(r".*%s.*" % words, text):
                self.expect(False, "the kernel says: " + line)

    def program(self, name):
        return self.out / "programs" / name

    def truth(self, name, *words):
        """The same program stepped on the host."""
        if name not in self.truths:
            _, steps = self.tools.record(self.program(name), *words, syscalls="none")
            self.truths[name] = Truth(self.program(name), steps)
        return self.truths[name]


def listed(names):
    """Words for the guest's shell, a line each."""
    return "cd /out\n" + "\n".join(names)


def inside(pairs):
    """The branches within the program."""
    return [pair for pair in pairs if max(pair) < PROGRAM_END]


def differ(got, want):
    """Where two lists of branches part, in words; '' where they do not."""
    for at, (one, other) in enumerate(zip(got, want)):
        if one != other:
            return "branch %d is %x -> %x, expected %x -> %x" % (at, *one, *other)
    return "" if len(got) == len(want) else "%d branches, expected %d" % (len(got), len(want))


def stepped_branches(truth):
    """(from, to) of each taken branch that is the program's own."""
    return [(start, to) for start, to, kind in truth.branches if kind in BRANCHES]


def words(session):
    """The plumbing: files in, what is printed, megabytes back, the status."""
    text = session.linux(
        "fib; echo fib=$?; ls -d /sys/bus/event_source/devices/intel_bts; "
        "uname -m >/dev/stderr; mkdir /out/folder; "
        "yes 0123456789abcde | head -c 8388608 >/out/folder/large; exit 5",
        "--tools", "perf", files=[session.program("fib")], status=5)
    for line in ("fib=233", "/sys/bus/event_source/devices/intel_bts", "x86_64"):
        session.expect(line in text.splitlines(), "not printed: " + line)
    large = session.results / "folder/large"
    session.expect(large.is_file() and large.read_bytes() == b"0123456789abcde\n" * (1 << 19),
                   "8 MiB did not come back as they were")
    return "8 MiB came back"


def driver(session):
    """intel_bts: each branch of five programs, in order; and how perf decodes them."""
    session.linux(listed("perf record -BN --per-thread -e intel_bts//u -o %s.data %s >%s" % (
        words[0], " ".join(words), words[0]) for words in PROGRAMS), "--tools", "perf",
        files=[session.program(words[0]) for words in PROGRAMS])
    total = crossings = dropped = 0
    for words in PROGRAMS:
        name, data = words[0], session.results / (words[0] + ".data")
        buffers = list(perf_file.buffers(data))
        pairs = [record[:2] for buffer in buffers for record in buffer.records]
        want = stepped_branches(session.truth(*words))
        wrong = differ(inside(pairs), want)
        session.expect(not wrong, "%s: %s" % (name, wrong))
        session.expect(not [pair for pair in pairs if min(pair) >= PROGRAM_END],
                       "%s: a branch inside the kernel with //u" % name)
        total += len(want)
        crossings += len(pairs) - len(inside(pairs))
        dropped += decoded(session, name, data, buffers)
    return "%d branches of %d programs, %d crossings; perf's decoder left %d out" % (
        total, len(PROGRAMS), crossings, dropped)


def decoded(session, name, data, buffers):
    """perf script leaves out the last record of each buffer, and no other."""
    text = subprocess.run(["perf", "script", "-i", data, "--itrace=b", "-F", "ip,addr"],
                          capture_output=True, text=True, check=True).stdout
    got = [(int(a, 16), int(b, 16)) for a, b in
           re.findall(r"^ *([0-9a-f]+) => +([0-9a-f]+)", text, re.M)]
    want = [record[:2] for buffer in buffers for record in buffer.records[:-1]]
    wrong = differ(got, want)
    session.expect(not wrong, "%s: perf script: %s" % (name, wrong))
    return len(buffers)


def counters(session):
    """perf stat exactly as the steps say, for each program."""
    session.linux(listed("perf stat -x, -o %s.stat -e instructions:u,branches:u %s >%s.out" % (
        words[0], " ".join(words), words[0]) for words in COUNTED), "--tools", "perf",
        files=[session.program(words[0]) for words in COUNTED])
    said = []
    for words in COUNTED:
        truth = session.truth(*words)
        text = (session.results / (words[0] + ".stat")).read_text()
        got = tuple(int(value) for value in re.findall(r"^(\d+),,(?:instr|branch)", text, re.M))
        # SYSCALL is a branch, too: a far one.
        want = (sum(truth.counts.values()),
                sum(count for address, count in truth.counts.items()
                    if truth.listing[address].kind))
        session.expect(got == want, "%s: %r, stepped %r" % (words[0], got, want))
        said.append("%s %d and %d" % (words[0], *want))
    return "instructions and branches of " + ", ".join(said)


COUNTED = (("fib",), ("calls",), ("signals",), ("loop", "10000"))

CASES = {case.__name__: case for case in (words, driver, counters)}


def main(name, out, place):
    session = Session(out, place)
    found = CASES[name](session)
    for line in session.complaints:
        print(line)
    print("%s: %s" % (name, "%d wrong" % len(session.complaints) if session.complaints
                      else "as expected: " + found))
    return 1 if session.complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
