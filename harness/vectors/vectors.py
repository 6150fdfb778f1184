# SPDX-License-Identifier: BSD-2-Clause
"""`make vectors`: programs, the branches that they took, and what readers should make of them.

vectors.py --build OUT FOLDER

For people who test debuggers and decoders: no QEMU is needed, neither here nor to use them.
The branches are ground truth: each program is single-stepped on this processor by ptrace, and
objdump says what is a branch.  One tree and one compiler give the same files, byte for byte.
"""

import argparse
import hashlib
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(ROOT)

from harness.tests.fakes import wtr_file  # noqa: E402

# Paths in the debugging information are relative to the folder.
GCC = ["gcc", "-static", "-no-pie", "-nostdlib", "-g", "-fcf-protection=none",
       "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-Wl,--build-id"]

# Program: its source in harness/tests/traced, its name here, options.
PROGRAMS = {
    "calls": ("traced_gdb.c", "calls.c", ["-O1"]),
    "labels": ("traced_labels.S", "labels.S", []),
    "mix": ("traced_mix.c", "mix.c", ["-O2", "-freorder-blocks-and-partition"]),
}

# Trace: program, form of system calls, its words, what it is about.
TRACES = {
    "calls": ("calls", "none", [], "calls, recursion, loops; a system call leaves no record"),
    "labels": ("labels", "none", [], "assembly: labels without type and size, data in code"),
    "mix": ("mix", "flat", ["2"], "every kind of near branch, tail calls, a longjmp, a signal "
            "handler, string instructions; a system call is a record to what follows it"),
    "mix-kernel": ("mix", "kernel", ["2"], "the same, with a record into the kernel and one "
                   "back"),
    "mix-gap": ("mix", None, ["2"], "the same, 12 branches lost after the first third and an "
                "unknown number after the second"),
    "mix-tasks": ("mix", None, ["2"], "the same in two threads of one process and in another "
                  "process, taking turns every 13 branches"),
}

FILES = """\
PROGRAM, PROGRAM.c       the ELF file and its source
TRACE.wtr                the trace; harness/tracefile/wtr_format.h describes the format
TRACE.bts                the branches as the processor's 24-byte records: from, to, flags
TRACE.branches           from and to of each branch, in hexadecimal
TRACE.list               with kinds, functions, offsets, source lines, and events between them
TRACE.steps              address of every instruction that was run (where it was stepped), a
                         repeated string instruction once; the last never came back, and a
                         debugger does not show it
TRACE.btrace.xml         what a remote target sends GDB for qXfer:btrace:read:all (of several
                         tasks a file each); it begins behind the last gap
TRACE.perf.data          for perf, opened in this folder
TRACE.perf-script        what `perf script -i TRACE.perf.data --itrace=b -F ip,sym,symoff,addr`
                         prints
TRACE.info               coverage for `genhtml --branch-coverage TRACE.info`, in this folder
SHA256SUMS               of all of them
"""


class Maker:
    """The tools that were built, and the folder."""

    def __init__(self, build, folder):
        self.wtr_path = (build / "wtr").resolve()
        self.recorder = (build / "host/record_ptrace").resolve()
        self.folder = folder.resolve()

    def run(self, *words):
        return subprocess.run([str(word) for word in words], cwd=self.folder, check=True,
                              capture_output=True).stdout

    def write(self, name, data):
        (self.folder / name).write_bytes(data)

    def wtr(self, *words):
        """wtr's output; a trace with gaps is none the worse for it here."""
        done = subprocess.run([self.wtr_path, *words], cwd=self.folder, capture_output=True,
                              check=False)
        if done.returncode not in (0, 1, 4) or (done.stderr and done.returncode != 4):
            raise OSError("wtr %s: %s" % (" ".join(words), done.stderr.decode()))
        return done.stdout

    def program(self, name):
        source, here, options = PROGRAMS[name]
        shutil.copyfile(ROOT / "harness/tests/traced" / source, self.folder / here)
        # An object file of no name of its own would leave a random one in the symbols.
        self.run(*GCC, *options, "-ffile-prefix-map=%s=." % self.folder,
                 "-Wa,--debug-prefix-map=%s=." % self.folder, "-c", "-o", name + ".o", here)
        self.run(*GCC, "-o", name, name + ".o")
        (self.folder / (name + ".o")).unlink()

    def record(self, trace, form, program, words):
        """Single-step the program; its steps as lines of addresses."""
        self.run(self.recorder, "-s", form, "-n", program, "-t", "steps", "-o", trace + ".wtr",
                 "./" + program, *words)
        steps = self.folder / "steps"
        self.write(trace + ".steps", "".join("%x\n" % rip for rip in once(
            [rip for rip, _ in struct.iter_unpack("<QQ", steps.read_bytes())],
            wtr_file.all_branches((self.folder / (trace + ".wtr")).read_bytes()))).encode())
        steps.unlink()

    def readings(self, trace):
        """What can be made of a trace."""
        name = trace + ".wtr"
        listing = self.wtr("list", name)
        self.write(trace + ".list", listing)
        self.write(trace + ".branches", self.wtr("list", "--raw", name))
        self.write(trace + ".bts", self.wtr("bts", name))
        self.write(trace + ".info", self.wtr("lcov", name))
        self.write(trace + ".perf.data", self.wtr("perf", "--as-recorded", name))
        self.write(trace + ".perf-script", perf_script(listing.decode()).encode())
        for task in ("1", "2", "3") if trace == "mix-tasks" else (None,):
            self.write("%s%s.btrace.xml" % (trace, "." + task if task else ""),
                       self.wtr("btrace", *(["--task", task] if task else []), name))


def once(steps, branches):
    """The steps with each string instruction once, however often it was repeated."""
    loops = {start for _, start, to in branches if start == to}
    return [rip for at, rip in enumerate(steps)
            if at == 0 or steps[at - 1] != rip or rip in loops]


def perf_script(listing):
    """The branches of `wtr list` as perf script prints them."""
    lines = []
    for line in listing.splitlines():
        row = re.match(r" *\d+(?: t\d+)? .{8} ([0-9a-f]+)(?: (\S+))? => ([0-9a-f]+)(?: (\S+))?"
                       r"(?:  |$)", line)
        if row:
            lines.append("%17s %s => %16s %s" % (row[1], perf_name(row[2]), row[3],
                                                 perf_name(row[4])))
    return "".join(line + "\n" for line in lines)


def perf_name(text):
    if not text:
        return "[unknown]"
    return text if "+0x" in text else text + "+0x0"


def with_gaps(data):
    """Two losses, of a known and of an unknown number."""
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    about = [(kind, raw) for kind, _, _, _, raw in wtr_file.read(data)]
    head = [raw for kind, raw in about if kind in ("image", "task", "arguments")]
    tail = [raw for kind, raw in about if kind in ("output", "exit")]
    third = len(pairs) // 3
    kept = pairs[:third], pairs[third + 12:2 * third], pairs[2 * third + 5:]
    return wtr_file.whole([*head, wtr_file.packed(kept[0]), wtr_file.lost(12, reason=2),
                           wtr_file.packed(kept[1]), wtr_file.lost(),
                           wtr_file.packed(kept[2]), *tail], sum(map(len, kept)),
                          provider=b"ptrace", producer=b"vectors.py")


def with_tasks(data):
    """Three tasks that do the same in turns of 13 branches."""
    pairs = [pair[1:] for pair in wtr_file.all_branches(data)]
    image = next(body for kind, _, _, body, _ in wtr_file.read(data) if kind == "image")
    records = [wtr_file.record("image", image, task=process) for process in (1, 3)]
    records += [wtr_file.task("main", task_number=1),
                wtr_file.task("second", task_number=2, parent=1),
                wtr_file.task("other", process=3, task_number=3)]
    for at in range(0, len(pairs), 13):
        records += [wtr_file.packed(pairs[at:at + 13], task=number) for number in (1, 2, 3)]
    return wtr_file.whole(records, 3 * len(pairs), provider=b"ptrace", producer=b"vectors.py")


def readme():
    """The text beside the files."""
    rows = "".join("%-12s %-8s %s\n" % (trace, program, about)
                   for trace, (program, _, _, about) in TRACES.items())
    return """\
Branch traces with what a debugger or decoder should make of them.

Each program was single-stepped on a processor by ptrace; a branch is what objdump calls one and
what the instruction pointer did. Nothing here comes from a decoder of branch traces. The gaps
and the tasks of the last two traces are made up from the same branches.

trace        program  about
%s
files
%s
Serve one to GDB, without a process behind it:

    python3 harness/vectors/vector_stub.py FOLDER calls
    gdb -ex 'target remote :PORT' -ex 'record instruction-history' FOLDER/calls
""" % (rows, FILES)


def sums(folder):
    rows = ["%s  %s\n" % (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
            for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS"]
    return "".join(rows)


def make(build, folder):
    """All of them, in a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    maker = Maker(build, folder)
    for name in PROGRAMS:
        maker.program(name)
    for trace, (program, form, words, _) in TRACES.items():
        if form:
            maker.record(trace, form, program, words)
        else:
            made = {"mix-gap": with_gaps, "mix-tasks": with_tasks}[trace]
            maker.write(trace + ".wtr", made((folder / "mix.wtr").read_bytes()))
        maker.readings(trace)
    maker.write("README.txt", readme().encode())
    maker.write("SHA256SUMS", sums(folder).encode())
    return len(list(folder.iterdir()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("out"), help="where wtr was built")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    try:
        print("%d files in %s" % (make(args.build, args.folder), args.folder))
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None)
        sys.exit("vectors: %s%s" % (error, ": " + said.decode() if said else ""))


if __name__ == "__main__":
    main()
