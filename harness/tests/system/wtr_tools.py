# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of wtr share: traced programs, their recorder, and judges of its own.

The judges know objdump's listing, addr2line's lines and the RIP and RSP of every step.  They
share nothing with wtr: it recovers the same from branches alone.
"""

import re
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "traced"
GCC = ["gcc", "-static", "-nostdlib", "-g", "-fcf-protection=none", "-fno-stack-protector",
       "-fno-asynchronous-unwind-tables", "-Wl,--build-id"]

# Name: source, further options.
PROGRAMS = {
    "mix": ("traced_mix.c", ["-O1"]),
    "mix-O2": ("traced_mix.c", ["-O2", "-freorder-blocks-and-partition"]),
    "mix-O0": ("traced_mix.c", ["-O0"]),
    # One table of lines for each function, each ending where the next begins.
    "sections": ("traced_mix.c", ["-O0", "-ffunction-sections"]),
    "labels": ("traced_labels.S", []),
}


class Tools:
    """The built programs, and a folder to work in."""

    def __init__(self, out, place):
        self.wtr_path = Path(out) / "wtr"
        self.recorder = Path(out) / "host/record_ptrace"
        self.place = Path(place)
        self.place.mkdir(parents=True, exist_ok=True)

    def build(self, name):
        """The traced program, built."""
        source, options = PROGRAMS[name]
        target = self.place / name
        subprocess.run([*GCC, *options, "-o", target, TESTS / source], check=True)
        return target

    def record(self, program, *arguments, syscalls="kernel", tag=""):
        """Record a run; the trace and the file of its steps."""
        trace = self.place / ("%s%s.wtr" % (program.name, tag))
        steps = trace.with_suffix(".steps")
        subprocess.run([self.recorder, "-s", syscalls, "-t", steps, "-o", trace, program,
                        *arguments], check=True, stdout=subprocess.DEVNULL)
        return trace, steps

    def wtr(self, *words, status=0):
        """Run wtr; its standard output and error.  The status must be the given one."""
        done = subprocess.run([self.wtr_path, *map(str, words)], capture_output=True,
                              check=False)
        if done.returncode != status:
            raise AssertionError("wtr %s: status %d, expected %d: %s" % (
                " ".join(map(str, words)), done.returncode, status, done.stderr.decode()))
        return done.stdout.decode(), done.stderr.decode()


@dataclass
class Instruction:
    """A line of objdump's listing."""
    address: int
    length: int
    mnemonic: str
    indirect: bool
    repeated: bool
    symbol: str
    offset: int

    @property
    def kind(self):
        """wtr's word for this branch, None when it is none."""
        name = self.mnemonic
        if name.startswith("call") or name.startswith("jmp"):
            return name[:4].rstrip("q") + ("*" if self.indirect else "") \
                if name.startswith("call") else "jmp" + ("*" if self.indirect else "")
        if name.startswith("ret"):
            return "ret"
        if name.startswith("loop") or name in ("jrcxz", "jecxz"):
            return "loop"
        if name.startswith("j"):
            return "jcc"
        return "syscall" if name == "syscall" else None


def listing(program):
    """Address to Instruction, by objdump."""
    text = subprocess.run(["objdump", "-d", "-w", "-M", "intel64", program], check=True,
                          capture_output=True, text=True).stdout
    found, symbol, start = {}, "", 0
    for line in text.splitlines():
        head = re.match(r"([0-9a-f]+) <(.+)>:$", line)
        if head:
            start, symbol = int(head[1], 16), head[2]
            continue
        parts = line.split("\t")
        if len(parts) < 3 or not parts[0].strip().endswith(":"):
            continue
        address = int(parts[0].strip()[:-1], 16)
        words = parts[2].split()
        repeated = words[0].startswith("rep")
        while words[0] in ("rep", "repz", "repnz", "lock", "bnd", "notrack", "cs", "ds"):
            words.pop(0)
        found[address] = Instruction(address, len(parts[1].split()), words[0].split(",")[0],
                                     len(words) > 1 and words[1].startswith("*"), repeated,
                                     symbol, address - start)
    return found


def sizes(program):
    """Symbol to its size, by nm; what follows in the listing is padding."""
    text = subprocess.run(["nm", "-S", program], check=True, capture_output=True,
                          text=True).stdout
    return {row[3]: int(row[1], 16) for row in map(str.split, text.splitlines())
            if len(row) == 4}


def source_lines(program, addresses):
    """Address to "file.c:12", by addr2line; "" where it knows none."""
    addresses = sorted(addresses)
    text = subprocess.run(["addr2line", "-e", program], check=True, capture_output=True,
                          text=True, input="".join("%x\n" % a for a in addresses)).stdout
    lines = [re.sub(r" \(discriminator.*", "", line) for line in text.splitlines()]
    return {address: "" if "?" in line else line.split("/")[-1]
            for address, line in zip(addresses, lines)}


class Truth:
    """What one run did, step by step."""

    def __init__(self, program, steps):
        self.program = program
        self.listing = listing(program)
        data = steps.read_bytes()
        self.steps = list(struct.iter_unpack("<QQ", data))
        self.branches = list(self.find_branches())
        self.counts = Counter()
        self.taken = Counter()
        self.count()

    def pairs(self):
        """(instruction, RIP after it, RSP after it), repeats of one string one merged."""
        for (rip, _), (after, rsp) in zip(self.steps, self.steps[1:]):
            one = self.listing[rip]
            if not (one.repeated and after == rip):
                yield one, after, rsp

    def find_branches(self):
        """(from, to, kind) of each taken branch; a system call goes to no known place."""
        for one, after, _ in self.pairs():
            elsewhere = after != one.address + one.length
            if one.kind == "syscall":
                yield one.address, None, "syscall"
                yield None, after, "?"
            elif one.kind is None and elsewhere:
                yield one.address, after, "event"
            elif one.kind and (elsewhere or one.kind not in ("jcc", "loop")):
                yield one.address, after, one.kind

    def count(self):
        """How often each instruction ran to its end, and each condition held."""
        for one, after, _ in self.pairs():
            elsewhere = after != one.address + one.length
            if one.kind is None and elsewhere:
                continue            # a fault
            self.counts[one.address] += 1
            self.taken[one.address] += one.kind in ("jcc", "loop") and elsewhere
        self.counts[self.steps[-1][0]] += 1

    def tree(self):
        """Path of names to [branches, instructions, calls], from the stack pointer."""
        nodes = defaultdict(lambda: [0, 0, 0])
        root = self.program.name
        first = self.listing[self.steps[0][0]]
        stack = [Frame(first.symbol, 1 << 64, False)]

        def path(extra=()):
            return (root, *(frame.name for frame in stack), *extra)

        nodes[path()][2] += 1
        for one, after, rsp in self.pairs():
            node = nodes[path()]
            to = self.listing.get(after)
            elsewhere = after != one.address + one.length
            node[1] += not (one.kind is None and elsewhere)
            if one.kind is None and not elsewhere:
                continue
            if one.kind in ("jcc", "loop") and not elsewhere:
                continue
            node[0] += 1
            if one.kind == "syscall":
                kernel = nodes[path(("[kernel]",))]
                kernel[0] += 1
                kernel[2] += 1
            if one.kind in ("call", "call*"):
                stack.append(Frame(to.symbol, rsp, False))
                nodes[path()][2] += 1
                continue
            if one.kind is None:
                stack.append(Frame(to.symbol, self.rsp_before(one), True))
                nodes[path()][2] += 1
                continue
            popped = pop_left(stack, rsp)
            if popped or one.kind == "syscall" or to.symbol == stack[-1].name:
                continue
            self.jumped(stack, to, nodes, path)
        nodes[path()][1] += 1       # the last instruction, which never comes back
        return {key: tuple(value) for key, value in nodes.items() if any(value)}

    def rsp_before(self, fault):
        """RSP where the faulting instruction stood; it faults once in these programs."""
        return next(rsp for rip, rsp in self.steps if rip == fault.address)

    @staticmethod
    def jumped(stack, to, nodes, path):
        """A jump between functions: a tail call, or back from a cold part."""
        if to.offset and len(stack) > 1 and stack[-1].tail and stack[-2].name == to.symbol:
            stack.pop()
            return
        limit, event = stack[-1].rsp, stack[-1].event
        if stack[-1].tail:
            stack.pop()
        stack.append(Frame(to.symbol, limit, event, True))
        nodes[path()][2] += 1


@dataclass
class Frame:
    """A function that runs until RSP is above rsp; for an event: not below."""
    name: str
    rsp: int
    event: bool
    tail: bool = False


def pop_left(stack, rsp):
    """Drop the frames that RSP has left; True when there were any."""
    count = len(stack)
    while len(stack) > 1 and (rsp >= stack[-1].rsp if stack[-1].event
                              else rsp > stack[-1].rsp):
        stack.pop()
    return len(stack) != count


def run_tests(tests):
    """Run functions of (tools) from the command line: OUT FOLDER; the exit status."""
    failed = 0
    for test in tests:
        try:
            count = test(Tools(sys.argv[1], sys.argv[2]))
            print("ok   %s: %s" % (test.__name__, count))
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            failed += 1
            print("FAIL %s: %s: %s" % (test.__name__, type(error).__name__, error))
    print("%d passed, %d failed" % (len(tests) - failed, failed))
    return 1 if failed or not tests else 0


def same(got, want, what):
    """An AssertionError that shows the first difference."""
    if got == want:
        return
    if isinstance(got, list) and isinstance(want, list):
        for number, (a, b) in enumerate(zip(got, want)):
            if a != b:
                raise AssertionError("%s: item %d is %r, expected %r" % (what, number, a, b))
        raise AssertionError("%s: %d items, expected %d" % (what, len(got), len(want)))
    if isinstance(got, dict) and isinstance(want, dict):
        wrong = sorted((str(key), got.get(key), want.get(key)) for key in {**got, **want}
                       if got.get(key) != want.get(key))
        raise AssertionError("%s: %d differ; %s is %r, expected %r" % (
            what, len(wrong), *wrong[0]))
    raise AssertionError("%s: %r, expected %r" % (what, got, want))
