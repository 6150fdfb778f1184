# SPDX-License-Identifier: BSD-2-Clause
"""Programs traced for real in QEMU: branches, output and exit code are compared with those of
the same file run and single-stepped on the host.

trace_session.py few|programs|files|full|avx BUILD-FOLDER OWN-FOLDER
"""

import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.ending import conclude  # noqa: E402

# Program, its words, further options of the run.
RUNS = (
    ("fib", [], []), ("sort", [], []), ("calls", [], []), ("deep", [], []), ("floats", [], []),
    ("strings", ["a b", "%x #y", "the quick brown fox jumps over the lazy dog"], []),
    # Memory for few records only: the program stops and goes on many times.
    ("writes", [], ["--option", "trace-kib=512"]),
    ("loop", ["20000"], []),
    ("fault", [], []),
    # Where the processor cannot leave CPL 0 out, the recorder does.
    ("strings", ["a b"], ["--option", "cpuid=no-dscpl"]),
    ("deep", [], ["--option", "cpuid=no-dscpl", "--option", "trace-kib=512"]),
    # Interrupts and page faults come at branches too, and the kernel is in no file.
    ("deep", [], ["--option", "crossings=1", "--option", "trace-kib=512"]),
    ("writes", [], ["--option", "crossings=1", "--option", "cpuid=no-dscpl"]),
)
FEW = (RUNS[2], RUNS[8], RUNS[11])      # calls, an exception, the kernel's branches as well
PROGRAM_END = 1 << 24       # all of them lie below, the kernel above


class Session:
    """Where things are, and what went wrong so far."""

    def __init__(self, out, place):
        self.out, self.place = Path(out), Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.complaints = []

    def same(self, got, want, what):
        if got != want:
            self.complaints.append("%s: %.300r, expected %.300r" % (what, got, want))

    def trace(self, program, words=(), options=(), status=0):
        """Trace it; what the runner said."""
        done = subprocess.run(
            [sys.executable, ROOT / "harness/trace_run.py", "--image",
             self.out / "BOOTX64.EFI", "--out", self.place, *options, program, "--", *words],
            capture_output=True, text=True, errors="replace", check=False)
        self.same(done.returncode, status, "%s: status (%s)" % (
            Path(program).name, "\n".join(done.stdout.splitlines()[-3:])))
        return done.stdout

    def branches(self, trace):
        """(from, to) of each branch, by the second reader of the format."""
        return [pair[1:3] for pair in wtr_file.all_branches(trace.read_bytes())]


def compare(session, name, words, options):
    """One program here and there; the number of branches."""
    program = session.out / "programs" / name
    host = subprocess.run([program, *words], capture_output=True, check=False)
    text = session.trace(program, words, options, status=1 if host.returncode < 0 else 0)
    for stream, path in ((host.stdout, "program.out"), (host.stderr, "program.err")):
        session.same((session.place / path).read_bytes(), stream, name + ": " + path)
    if host.returncode >= 0:
        session.same(re.findall(r"^program: exit (\d+)", text, re.M), [str(host.returncode)],
                     name + ": exit code")
    else:
        check_fault(session, text)
    recorded = session.place / (name + ".ptrace.wtr")
    subprocess.run([session.out / "host/record_ptrace", "-o", recorded, program, *words],
                   stdout=subprocess.DEVNULL, check=True)
    want = session.branches(recorded)
    got = session.branches(session.place / "trace.wtr")
    inside = [pair for pair in got if max(pair) < PROGRAM_END]
    session.same(len(got) > len(inside), "crossings=1" in options, name + ": has crossings")
    got = inside
    if got != want:
        at = next((i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]),
                  min(len(got), len(want)))
        session.complaints.append("%s: branch %d of %d is %s, expected %s of %d" % (
            name, at, len(got), got[at:at + 1], want[at:at + 1], len(want)))
    check_trace(session, name, [str(program.resolve()), *words])
    return len(want)


def check_fault(session, text):
    """A fault is told with its place, its registers, and the way to it."""
    session.same(re.findall(r"^program: (page fault) at 0x[0-9a-f]+ \(address 0x[0-9a-f]+, "
                            r"error 0x7\)$", text, re.M), ["page fault"], "fault")
    session.same(len(re.findall(r"^ +rax=", text, re.M)), 1, "registers")
    rows = text.split("last branches:\n")[-1].splitlines()
    session.same(any("spoil" in row for row in rows[:32]), True, "spoil in the last branches")
    kinds = dict((kind, body) for kind, _, _, body, _ in wtr_file.read(
        (session.place / "trace.wtr").read_bytes()))
    vector, error, rip, _ = struct.unpack("<IIQQ", kinds["exception"])
    how, code, last = struct.unpack("<IiQ", kinds["exit"])
    session.same((vector, error, how, code, last), (14, 7, 1, 14, rip), "exception and exit")


def check_trace(session, name, words):
    """The trace explains itself: wtr finds it whole, possible and with its words."""
    trace = session.place / "trace.wtr"
    done = subprocess.run([session.out / "wtr", "check", trace], capture_output=True, text=True,
                          check=False)
    session.same((done.returncode, done.stdout[:4]), (0, "ok: "), name + ": wtr check: " +
                 done.stdout + done.stderr)
    kinds = {kind: body for kind, _, _, body, _ in wtr_file.read(trace.read_bytes())}
    count = struct.unpack_from("<I", kinds["arguments"])[0]
    session.same(kinds["arguments"][8:8 + count],
                 b"".join(word.encode() + b"\0" for word in words), name + ": words")
    session.same("lost" in kinds, False, name + ": lost")


def programs(session):
    """Every program of RUNS."""
    total = sum(compare(session, *run) for run in RUNS)
    print("%d branches of %d programs" % (total, len(RUNS)))


def few(session):
    """One of each kind, where programs takes minutes."""
    for run in FEW:
        compare(session, *run)


def unlike(program, target, at, value):
    """A copy of the program with other bytes at an offset."""
    data = bytearray(program.read_bytes())
    data[at:at + len(value)] = value
    target.write_bytes(data)
    return target


def dynamic(target):
    """A program that wants its libraries at run time."""
    source = target.with_suffix(".c")
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-no-pie", "-o", target, source], check=True)
    return target


def segment(program, target, number, **fields):
    """A copy with other fields in one of its program headers, named as in <elf.h>."""
    at = struct.unpack_from("<Q", program.read_bytes(), 32)[0] + 56 * number
    places = {"flags": (4, "<I"), "vaddr": (16, "<Q"), "memsz": (40, "<Q")}
    copy = program
    for name, value in fields.items():
        offset, form = places[name]
        copy = unlike(copy, target, at + offset, struct.pack(form, value))
    return copy


def files(session):
    """Files that are no program to trace: one line each, status 3, nothing run."""
    good, place = session.out / "programs/fib", session.place
    text = place / "script"
    text.write_text("#!/bin/sh\n")
    short = place / "short"
    short.write_bytes(good.read_bytes()[:3000])
    empty = place / "empty"
    empty.touch()
    wrong = [(text, "is not an ELF file"), (short, "is cut short"), (empty, "is empty"),
             (unlike(good, place / "32-bit", 4, b"\1"), "is a 32-bit program"),
             (Path("/bin/true"), "needs shared libraries"),
             (unlike(good, place / "entry", 24, struct.pack("<Q", 16)), "does not start in"),
             (dynamic(place / "dynamic"), "needs shared libraries"),
             (segment(good, place / "overlap", 1, vaddr=0x400010), "has segments that overlap"),
             (segment(good, place / "high", 1, vaddr=0xFFFFFFFF80401000), "has a segment at 0"),
             (segment(good, place / "zero", 0, vaddr=0), "has a segment at 0"),
             (segment(good, place / "huge", 3, memsz=0xB0000000), "needs more memory"),
             (segment(good, place / "endless", 3, memsz=(1 << 64) - 1), "has a segment at 0")]
    for path, words in wrong:
        said = session.trace(path, status=3).splitlines()[-1]
        session.same(said.startswith("status: 3 %s %s" % (path.name, words)), True, said)
        session.same((place / "trace.wtr").exists(), False, path.name + " left a trace")
    said = session.trace(good, options=["--option", "trace-kib=1"], status=3)
    session.same("status: 3 option 'trace-kib'" in said, True, said)
    said = session.trace(place / "nothing", status=3)
    session.same("is no file" in said, True, said)
    kept = session.trace(good, options=["--option", "crossings=1"])
    pairs = session.branches(place / "trace.wtr")
    session.same(any(max(pair) < 1 << 40 and pair[1] > 1 << 24 for pair in pairs), True,
                 "crossings=1 keeps none: " + kept)


def avx(session):
    """OSXSAVE is 0, so AVX gets #UD; one line says what to do."""
    said = session.trace(session.out / "programs/avx", status=1)
    session.same(re.findall(r"^program: (.*?) at 0x", said, re.M), ["invalid opcode"], said)
    session.same(re.findall(r"^ *AVX is off here: compile without -mavx.*$", said, re.M) != [],
                 True, said)
    rows = said.split("last branches:\n")[-1].splitlines()
    session.same(any("sum_of" in row for row in rows[:32]), True, "sum_of in the last branches")
    session.same("ended by an exception: invalid opcode" in said.splitlines()[-1], True, said)


def full(session):
    """A volume too small for the trace: the program ends all the same, losses are counted."""
    rounds, trace = 700000, session.place / "trace.wtr"
    # What follows a program's last byte is nobody's: here it takes room on the volume.
    program, image = session.place / "loop", session.out / "BOOTX64.EFI"
    program.write_bytes((session.out / "programs/loop").read_bytes())
    room = (2 << 20) - (1300 << 10) - image.stat().st_size
    with open(program, "ab") as stream:
        stream.truncate(max(room, program.stat().st_size))
    text = session.trace(program, [str(rounds)],
                         ["--volume", "2", "--option", "trace-kib=512"], 1)
    kinds = {kind: body for kind, _, _, body, _ in wtr_file.read(trace.read_bytes())}
    lost, reason = struct.unpack_from("<QI", kinds["lost"])
    kept = struct.unpack("<QQ", kinds["end"])[1]
    session.same(reason, 2, "reason")
    session.same(len(session.branches(trace)), kept, "branches, against END's count")
    # The rest is what prints the sum.
    session.same(0 < kept + lost - rounds < 100, True, "%d kept, %d lost" % (kept, lost))
    session.same(re.search(r"(\d+) branches are lost", text)[1], str(lost), "said")
    for command in ("check", "tree", "fold", "coverage", "lcov", "btrace", "bts", "list"):
        done = subprocess.run([session.out / "wtr", command, trace], capture_output=True,
                              text=True, errors="replace", check=False)
        session.same((done.returncode, "not whole: the recorder lost %d " % lost in done.stderr,
                      done.stdout.startswith("ok")), (4, True, False), "wtr " + command)
    said = session.trace(session.out / "programs/loop", ["100000000"], ["--seconds", "1"], 1)
    session.same("stopped after 1 seconds" in said, True, said)
    done = subprocess.run([session.out / "wtr", "check", trace], capture_output=True,
                          check=False)
    session.same(done.returncode, 0, "wtr check of a program that was stopped")


def main():
    what, out, place = sys.argv[1:]
    session = Session(out, place)
    {"few": few, "programs": programs, "files": files, "full": full,
     "avx": avx}[what](session)
    return conclude(what, session)


if __name__ == "__main__":
    sys.exit(main())
