# SPDX-License-Identifier: BSD-2-Clause
"""Linux on the resident model: its own drivers, perf and GDB judge what the processor stores.

linux_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected: `
and what it saw.

What a program did is known from single steps on the host (wtr_tools.Truth).  What the kernel
took from the processor is read from perf.data itself: perf's decoder leaves records out.
"""

import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.tests.fakes import perf_file  # noqa: E402
from harness.tests.system.wtr_tools import Tools, Truth  # noqa: E402

SECONDS = 1500
STACK_DEPTH = 16
PERIOD = 97                 # prime, so that no loop keeps step with it
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
        for words in ("Broken", "BUG:", "WARNING: CPU", "unchecked MSR", "Oops", "stuck"):
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
    return "cd /out\n" + "\n".join(names) + "\ntrue"     # perf's status is the program's


def inside(pairs):
    """The branches within the program."""
    return [pair for pair in pairs if max(pair) < PROGRAM_END]


def stored(lists):
    """(from, to) of each record; the driver fills what it skips in a buffer with zeros."""
    return [record[:2] for records in lists for record in records if record[:2] != (0, 0)]


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


def driver_words():
    return ["perf record -BN --per-thread -e intel_bts//u -o %s.data %s >%s.out 2>&1" % (
        words[0], " ".join(words), words[0]) for words in PROGRAMS]


def driver(session):
    """intel_bts: each branch of five programs, in order; and how perf decodes them."""
    total = crossings = dropped = 0
    for words in PROGRAMS:
        name, data = words[0], session.results / (words[0] + ".data")
        buffers = list(perf_file.buffers(data))
        pairs = stored(buffer.records for buffer in buffers)
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
    want = stored(buffer.records[:-1] for buffer in buffers)
    wrong = differ(got, want)
    session.expect(not wrong, "%s: perf script: %s" % (name, wrong))
    return len(stored(buffer.records for buffer in buffers)) - len(want)


def counters_words():
    return ["perf stat -x, -o %s.stat -e instructions:u,branches:u %s >%s.out" % (
        words[0], " ".join(words), words[0]) for words in PROGRAMS]


def counters(session):
    """perf stat exactly as the steps say, for each program."""
    said = []
    for words in PROGRAMS:
        truth = session.truth(*words)
        text = (session.results / (words[0] + ".stat")).read_text()
        got = tuple(int(value) for value in re.findall(r"^(\d+),,(?:instr|branch)", text, re.M))
        want = retired(truth)
        session.expect(got == want, "%s: %r, stepped %r" % (words[0], got, want))
        said.append("%s %d and %d" % (words[0], *want))
    return "instructions and branches of " + ", ".join(said)


def retired(truth):
    """(instructions, branches) of a run; SYSCALL is a branch, too: a far one."""
    return (sum(truth.counts.values()),
            sum(count for address, count in truth.counts.items()
                if truth.listing[address].kind))


def samples_words():
    return ["perf record -BN -e instructions:upp -c %d -o fib.precise fib 2>&1" % PERIOD]


def samples(session):
    """PEBS: the record is of the event behind the one that overflows, and then it reloads."""
    rips = [rip for rip, _ in session.truth("fib").steps]
    got = [int(ip, 16) for ip in script(session, "fib.precise", "ip").split()]
    want = rips[PERIOD::PERIOD + 1]
    session.expect(got == want, "%d precise samples, %d expected, %s" % (
        len(got), len(want), " ".join("%x" % ip for ip in got[:8])))
    return "%d precise samples, each instruction %d behind the last" % (len(got), PERIOD + 1)


def stacks(session):
    """The branch stack at each sample is a piece of the trace (16 deep, as Haswell's is)."""
    session.linux(listed(["perf record -BN -e branches:u -c %d -b -o fib.stack fib 2>&1" %
                          PERIOD]), "--tools", "perf", "--cpu", "Haswell,+svm",
                  *BY_INSTRUCTIONS, files=[session.program("fib")])
    return branch_stacks(session)


def branch_stacks(session):
    """What perf has of each sample's stack, newest first."""
    trace = " ".join("%x:%x" % pair for pair in stepped_branches(session.truth("fib"))) + " "
    rows = script(session, "fib.stack", "brstack").splitlines()
    full = 0
    for row in rows:
        pairs = re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", row)
        own = [pair for pair in reversed(pairs) if max(int(x, 16) for x in pair) < PROGRAM_END]
        text = " ".join(":".join(pair) for pair in own) + " "
        session.expect(own and text in trace, "no piece of the trace: " + row)
        full += len(own) == STACK_DEPTH
    session.expect(full > 10, "%d full branch stacks of %d" % (full, len(rows)))
    return "%d branch stacks, %d of them full" % (len(rows), full)


def script(session, name, field):
    """One field of each sample, as perf prints it."""
    return subprocess.run(["perf", "script", "-i", session.results / name, "-F", field],
                          capture_output=True, text=True, check=True).stdout


def debugger_words():
    commands = ("break main", "run", "record btrace bts", "tbreak exit", "continue",
                "info record", "record function-call-history /c", "reverse-stepi",
                "info record")
    return ["gdb -nx -batch %s /fib >gdb.txt 2>&1" % " ".join(
        "-ex '%s'" % command for command in commands)]


def debugger(session):
    """GDB records by BTS, knows the calls and goes backwards."""
    text = (session.results / "gdb.txt").read_text(errors="replace")
    for words in ("Recording format: Branch Trace Store", "Replay in progress",
                  r"Recorded \d{3,} instructions in \d{3,} functions"):
        session.expect(re.search(words, text), "GDB does not say '%s':\n%s" % (
            words, text[-1500:]))
    calls = re.findall(r"^\d+\t +(\w+)", text, re.M)
    session.expect(calls.count("fib") > 5, "the history of calls: %s" % calls)
    found = re.search(r"Recorded .*", text)
    return found[0] if found else "nothing"


def kernel_words():
    return ["perf record --kcore -BN --per-thread -e intel_bts//k -o kernel.data fib 2>&1"]


def kernel(session):
    """Branches of the kernel alone: none from outside, each from a branch or to an entry."""
    folder = session.results / "kernel.data"
    pairs = stored(buffer.records for buffer in perf_file.buffers(folder / "data"))
    entries = entry_points(folder / "kcore_dir/kallsyms")
    sources = sorted({start for start, to in pairs if to not in entries})
    words = mnemonics(folder / "kcore_dir/kcore", sources)
    wrong = [start for start in sources if not BRANCH.match(words.get(start, "nothing there"))]
    session.expect(not wrong, "no branches in the kernel's text: %s" % " ".join(
        "%x (%s)" % (start, words.get(start)) for start in wrong[:10]))
    session.expect(len(pairs) > 1000, "%d branches of the kernel" % len(pairs))
    return "%d branches of the kernel from %d places, %d of %d at no branch" % (
        len(pairs), len(sources), len(wrong), len(sources))


BRANCH = re.compile(r"(j[a-z]+|call|ret|loop|iret|sysret|int|syscall)")


def entry_points(path):
    """Where interrupts and exceptions begin, by name: their `from` may be any instruction."""
    return {int(address, 16) for address, name in
            re.findall(r"^([0-9a-f]+) . ((?:asm_|irq_entries|entry_|nmi|error_).*?)(?:\t|$)",
                       path.read_text(), re.M)}


def mnemonics(kcore, addresses):
    """What stands at each address, by objdump, each in a slot of its own."""
    data, found = kcore.read_bytes(), {}
    table, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    parts = [struct.unpack_from("<IIQQQQ", data, table + 56 * i) for i in range(count)]
    image = bytearray()
    for address in addresses:
        for _, _, offset, start, _, size in parts:
            if start <= address < start + size:
                at = offset + address - start
                image += data[at:at + 16].ljust(16, b"\x90") + b"\x90" * 16
                found[address] = len(image) - 32
    blob = kcore.with_name("slots.bin")
    blob.write_bytes(image)
    text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-w",
                           "--no-show-raw-insn", blob], capture_output=True, text=True,
                          check=True).stdout
    at = {int(place, 16): words for place, words in
          re.findall(r"^ *([0-9a-f]+):\t(?:(?:bnd|notrack|rep[a-z]*|cs|ds|data16) )*(\S+)",
                     text, re.M)}
    return {address: at.get(place, "") for address, place in found.items()}


# All in one boot: (what the guest runs, who judges what it left).
JUDGES = ((driver_words, driver), (counters_words, counters), (samples_words, samples),
          (debugger_words, debugger), (kernel_words, kernel))
# Guest time follows the instructions, so that a busy host does not drown it in clock ticks.
BY_INSTRUCTIONS = ["--qemu-word=-icount", "--qemu-word=shift=1,sleep=off"]


def judges(session):
    """All of them, each with what it saw."""
    session.linux(listed(line for words, _ in JUDGES for line in words()), *BY_INSTRUCTIONS,
                  files=[session.program(words[0]) for words in PROGRAMS])
    said = []
    for _, judge in JUDGES:
        try:
            said.append("%s: %s" % (judge.__name__, judge(session)))
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            session.expect(False, "%s: %r" % (judge.__name__, error))
    print("\n".join(said))
    return "%d judges" % len(JUDGES)


CASES = {case.__name__: case for case in (words, judges, stacks)}


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
