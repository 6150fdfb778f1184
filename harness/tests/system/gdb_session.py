# SPDX-License-Identifier: BSD-2-Clause
"""A stock GDB against the server, compared with a single-stepped run of the same program.

gdb_session.py CASE BUILD-FOLDER OWN-FOLDER [--kernel]

The server is the host's, with the program under ptrace, or with --kernel the image in QEMU.
The truth is record_ptrace's list of every instruction pointer of a run, and objdump's listing.
"""

import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 600                  # seconds; on an idle machine nothing takes ten

PRINT = {"pcs": "print('PCS', *[hex(i.pc) for i in gdb.current_recording()"
                ".instruction_history])",
         "calls": "print('CALLS', *[f.symbol.name if f.symbol else '_start' for f in "
                  "gdb.current_recording().function_call_history])",
         "pc": "print('PC', hex(int(gdb.parse_and_eval('(long)$pc'))))"}


class Wrong(Exception):
    """What GDB said is not what happened."""


def demand(good, text):
    if not good:
        raise Wrong(text)


class Truth:
    """What the program does, by ptrace and objdump."""

    def __init__(self, build, own):
        self.program = build / "host/traced_gdb"
        steps = own / "steps"
        subprocess.run([build / "host/record_ptrace", "-o", own / "truth.wtr", "-t", steps,
                        self.program], check=True, stdout=subprocess.DEVNULL)
        data = steps.read_bytes()
        self.pcs = [pair[0] for pair in struct.iter_unpack("<QQ", data)]
        text = subprocess.run(["objdump", "-d", self.program], check=True, text=True,
                              capture_output=True).stdout
        self.name, self.kind, self.after = {}, {}, {}
        self.listing(text)

    def listing(self, text):
        """Function, mnemonic and next address of each instruction."""
        function, last = "", None
        for line in text.splitlines():
            head = re.match(r"[0-9a-f]+ <(\w+)>:", line)
            found = re.match(r" +([0-9a-f]+):\t[0-9a-f ]+\t(\S+)", line)
            if head:
                function = head[1]
            elif found:
                address = int(found[1], 16)
                if last is not None:
                    self.after[last] = address
                self.name[address], self.kind[address] = function, found[2]
                last = address

    def symbol(self, name):
        return min(address for address, owner in self.name.items() if owner == name)

    def visit(self, name, number=1):
        """Index of the number-th time that a function is entered."""
        entry = self.symbol(name)
        return [i for i, pc in enumerate(self.pcs) if pc == entry][number - 1]

    def calls(self, end):
        """The function of each stretch between calls, returns and changes of function."""
        names = [self.name[self.pcs[0]]]
        for before, pc in zip(self.pcs[:end], self.pcs[1:end]):
            changed = self.name[pc] != self.name[before]
            if changed or self.kind[before].startswith(("call", "ret")):
                names.append(self.name[pc])
        return names

    def branches(self, start, end):
        """Where taken branches lead."""
        return [pc for before, pc in zip(self.pcs[start:end], self.pcs[start + 1:end + 1])
                if self.after.get(before) != pc]


class Server:
    """The server as a process that says `port N`."""

    def __init__(self, build, own, kernel, words=(), extra=()):
        program = build / "host/traced_gdb"
        if kernel:
            command = [sys.executable, ROOT / "harness/gdb_run.py", "--image",
                       build / "BOOTX64.EFI", "--out", own / "machine", "--serve", *extra,
                       program, "--", *words]
        else:
            command = [build / "host/gdb_host", program, *words]
        self.log = open(own / "server.log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True)
        self.program, self.kernel = program, kernel

    def __enter__(self):
        line = next((x for x in self.process.stdout if x.startswith("port ")), None)
        demand(line, "the server did not start")
        self.port = int(line.split()[1])
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def words(self, commands):
        words = ["gdb", "-nx", "-q", "-batch", "-iex", "set sysroot"]
        for text in ("set pagination off", "set confirm off", "set remotetimeout %d" % PATIENCE,
                     "target remote 127.0.0.1:%d" % self.port):
            words += ["-ex", text]
        for text in commands:
            words += ["-ex", "python " + PRINT[text] if text in PRINT else text]
        return words + [self.program]

    def gdb(self, *commands):
        """All that GDB said."""
        done = subprocess.run(self.words(commands), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE, check=False)
        print(done.stdout)
        return done.stdout

    def connect(self):
        return Line(self.port)


class Line:
    """The protocol by hand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.settimeout(PATIENCE)

    def send(self, data):
        self.socket.sendall(data)

    def packet(self, payload):
        self.send(b"$%s#%02x" % (payload, sum(payload) & 255))

    def until(self, pattern):
        """What came up to a pattern."""
        heard = b""
        while not re.search(pattern, heard, re.S):
            try:
                data = self.socket.recv(4096)
            except TimeoutError:
                data = b""
            demand(data, "no %r in %r" % (pattern, heard))
            heard += data
        return heard

    def ask(self, payload, pattern):
        self.packet(payload)
        return self.until(pattern + b"#..")


def lists(text, word):
    """The lines that a PRINT made, split."""
    return [line.split()[1:] for line in text.splitlines() if line.startswith(word + " ")]


def numbers(text, word="PCS"):
    return [[int(x, 16) for x in row] for row in lists(text, word)]


def same(got, want, what):
    """Two lists of addresses; the first difference is named."""
    for i, (one, other) in enumerate(zip(got, want)):
        demand(one == other, "%s: %d is %#x, expected %#x" % (what, i, one, other))
    demand(len(got) == len(want), "%s: %d, expected %d" % (what, len(got), len(want)))


GOING = "python print('GOING'); gdb.flush()"


def interrupted(words):
    """What a GDB said that got Ctrl-C some seconds after it said that it goes on."""
    said = ""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as gdb:
        for line in gdb.stdout:
            said += line
            if line.startswith("GOING"):
                break
        time.sleep(4)               # for the program to be in its loop
        gdb.send_signal(signal.SIGINT)
        return said + gdb.communicate(timeout=PATIENCE)[0]


# --- the cases

def history(truth, start):
    """Histories at three stops, the reads of the later ones being additions, and at the end."""
    with start() as server:
        said = server.gdb("record btrace bts", "info record", "break finish", "continue",
                          "info record", "pcs", "calls", "continue", "pcs", "pcs",
                          "reverse-stepi", "pc", "record goto end", "tbreak collatz",
                          "reverse-continue", "pc", "record goto end", "delete", "continue",
                          "pcs", "info record", "record stop", "continue")
    first, second, again, last = numbers(said)
    one, two = truth.visit("finish"), truth.visit("finish", 2)
    same(first, truth.pcs[:one], "up to the first stop")
    same(second, truth.pcs[:two], "up to the second stop")
    same(again, second, "the second stop read again")
    same(last, truth.pcs[:-1], "up to the exit")
    demand(lists(said, "CALLS")[0] == truth.calls(one), "the function calls differ")
    entry = [i for i in range(two) if truth.pcs[i] == truth.symbol("collatz")][-1]
    same([row[0] for row in numbers(said, "PC")], [truth.pcs[two - 1], truth.pcs[entry]],
         "backwards")
    for want in ("Buffer size: 64kB", "Recorded 0 instructions", r"\(0 gaps\)",
                 r"exited with code 07"):
        demand(re.search(want, said), "GDB does not say '%s'" % want)
    demand("warning:" not in said, "GDB warns")


def overflow(truth, start):
    """A buffer smaller than the run: its end is kept, without a gap."""
    with start() as server:
        said = server.gdb("set record btrace bts buffer-size 1536", "record btrace bts",
                          "break finish", "continue", "pcs", "continue", "pcs",
                          "info record", "stepi", "stepi", "pcs")
    first, second, third = numbers(said)
    one, two = truth.visit("finish"), truth.visit("finish", 2)
    same(first, truth.pcs[one - len(first):one], "up to the first stop")
    same(second, truth.pcs[two - len(second):two], "up to the second stop")
    demand(60 < len(second) < two, "%d instructions are left" % len(second))
    same(third, truth.pcs[two + 2 - len(third):two + 2], "two steps later")
    demand("(0 gaps)" in said, "there are gaps")
    demand("Buffer size: 1536" in said or "1.5kB" in said, "another size is reported")


def steps(truth, start):
    """Instruction by instruction, over a system call too; from branch to branch."""
    at = truth.visit("system_call")
    walk = "python [(gdb.execute('stepi', to_string=True), %s) for i in range(%d)]"
    with start() as server:
        said = server.gdb("tbreak system_call", "continue", "pc",
                          walk % (PRINT["pc"], 30),
                          "monitor blockstep on", walk % (PRINT["pc"], 30),
                          "monitor blockstep off", walk % (PRINT["pc"], 3),
                          "p $sp", "info registers rip eflags", "p $mxcsr", "p $fs_base")
    got = [row[0] for row in numbers(said, "PC")]
    same(got[:31], truth.pcs[at:at + 31], "steps")
    targets = truth.branches(at + 30, len(truth.pcs) - 1)[:30]
    same(got[31:61], targets, "steps from branch to branch")
    where = len(truth.pcs) - 1 - truth.pcs[::-1].index(got[60])
    demand(len(got) == 64 and where > 0, "the steps afterwards")


def interrupt(truth, start):
    """Ctrl-C, variables, a watchpoint, a fault, and the program goes on."""
    with start(["wait"]) as server:
        hardware = server.kernel        # the host's has no debug registers
        commands = ["record btrace bts", GOING, "continue", "pc", "info record",
                    "set var go_on = 1",
                    "record stop", "thbreak finish" if hardware else "tbreak finish",
                    "continue",
                    "set $saved = $pc", "set $pc = 0x10", "continue", "set $pc = $saved",
                    "watch result" if hardware else "tbreak leaf", "signal 0",
                    "p result", "kill"]
        said = interrupted(server.words(commands))
    print(said)
    pc = numbers(said, "PC")[0][0]
    demand(truth.name[pc] == "spin", "it was stopped in %s" % truth.name[pc])
    for want in ("received signal SIGINT", r"Recorded [1-9]\d+ instructions.*\(0 gaps\)",
                 r"reakpoint 1, .*finish", "received signal SIGSEGV", r"\$1 = [1-9]"):
        demand(re.search(want, said), "GDB does not say '%s'" % want)


def endless(truth, start):
    """Ctrl-C into `next` over a line that never ends: a range of steps, none of them long."""
    with start(["wait", "idle"]) as server:
        commands = ["tbreak idle", "continue", GOING, "next", "pc",
                    "set var go_on = 1", "handle SIGINT nopass", "tbreak finish",
                    "continue", "pc", "kill"]
        said = interrupted(server.words(commands))
    print(said)
    first, second = (row[0] for row in numbers(said, "PC"))
    demand("received signal SIGINT" in said and truth.name[first] == "idle", "the loop goes on")
    demand(second == truth.symbol("finish"), "it does not go on afterwards")


def unusual(truth, start):
    """Commands that people try: calls of functions, jumps, memory, what is refused."""
    with start() as server:
        said = server.gdb(
            "info threads", "compare-sections", "tbreak leaf", "continue", "print leaf(7)",
            "print collatz(6)", "finish", "set var $rip = 0x8000000000000000",
            "set var $cs = 8", "set var $mxcsr = 0xffffffff", "set var $eflags = 0xffffffff",
            "p $eflags", "set var $xmm3.v2_double[1] = 2.5", "p $xmm3.v2_double[1]",
            "record btrace bts", "record btrace bts", "record save /nowhere", "next",
            "advance finish", "record goto begin", "set var $rax = 1", "print leaf(7)",
            "break leaf", "continue", "pc", "record goto end", "delete", "disconnect")
        again = server.gdb("p result", "pcs", "record stop", "tbreak finish", "continue", "pc",
                           "detach")
    for want in (r"\* 1 +Thread 1\.1 ", r"\.text, range 0x\w+ -- 0x\w+: matched",
                 r"\$1 = 22$", r"\$2 = 8$", "Value returned is",
                 'Could not write register "rip"', 'Could not write register "cs"',
                 'Could not write register "mxcsr"',
                 r"\[ CF PF AF ZF SF IF DF OF AC ID \]", r"= 2\.5$", "already being recorded",
                 "You can't do that when your target", "Cannot write registers while replaying",
                 "reakpoint 2, leaf"):
        demand(re.search(want, said, re.M), "GDB does not say '%s'" % want)
    demand("is recording using Branch Trace Store" in again, "the recording is not adopted")
    back = truth.visit("leaf") + truth.pcs[truth.visit("leaf"):].index(numbers(again)[0][0])
    same(numbers(again)[0], truth.pcs[back:back + len(numbers(again)[0])], "the recording")
    demand(numbers(said, "PC") == [[truth.symbol("leaf")]], "a breakpoint during replay")
    demand(numbers(again, "PC") == [[truth.symbol("finish")]], "stopped elsewhere")
    demand("exited" not in said and "detached" in again, "the end")


def line(truth, start):
    """Malformed and oversized packets, a line that drops, and a debugger that comes back."""
    with start() as server:
        first = server.connect()
        first.send(b"+++---\x03garbage}#00$")
        first.packet(b"qSupported:swbreak+")
        first.until(rb"PacketSize=1008.*#..")
        first.send(b"$m401000,4#00")
        first.until(rb"-$")
        first.ask(b"m401000,4", rb"\+\$[0-9a-f]{8}")
        first.ask(b"m" * 9000, rb"\+\$E\.The packet is longer[^#]*")
        first.ask(b"Mffffffffffffffff,1:00", rb"\$E[^#]*")
        first.ask(b"mffffffff80000000,8", rb"\$E[^#]*")
        first.ask(b"P10=0000000000008000", rb"\$E01")
        first.ask(b"vCont;r", rb"\$E01")
        first.ask(b"QStartNoAckMode", rb"\$OK")
        first.packet(b"Z0,%x,1" % truth.symbol("finish"))
        first.until(rb"OK#..")
        first.send(b"$m4010")
        first.socket.close()
        time.sleep(0.3)
        # GDB dies in the middle of a session, and leaves breakpoints behind.
        gdb = subprocess.Popen(server.words(["break leaf", "continue", "shell sleep 30"]),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for text in gdb.stdout:
            if re.search("Breakpoint 1, .*leaf", text):
                break
        else:
            raise Wrong("GDB did not reach its breakpoint")
        gdb.kill()
        gdb.stdout.close()
        gdb.wait()
        time.sleep(0.3)
        said = server.gdb("pc", "record btrace bts", "tbreak finish", "continue", "pcs")
    at = truth.visit("leaf")
    same([row[0] for row in numbers(said, "PC")], [truth.pcs[at]], "where it stands")
    same(numbers(said)[0], truth.pcs[at:truth.visit("finish")], "recorded from there on")


# Into a pipe GDB writes late, or only when it ends and has killed the program.
WAIT_FLUSHED = "python gdb.flush(); __import__('time').sleep(30)"


def resumed(truth, start):
    """Recording goes on while nobody is there; who comes back adopts it."""
    with start() as server:
        gdb = subprocess.Popen(server.words(["record btrace bts", "tbreak finish", "continue",
                                             "info record", WAIT_FLUSHED]),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for text in gdb.stdout:
            if text.startswith("Recorded"):
                break
        gdb.kill()
        gdb.stdout.close()
        gdb.wait()
        time.sleep(0.3)
        said = server.gdb("pcs", "record stop", "kill")
    demand("Target is recording using Branch Trace Store" in said, "it is not adopted")
    same(numbers(said)[0], truth.pcs[:truth.visit("finish")], "the recording")


def unfiltered(truth, start):
    """A processor that cannot leave CPL 0 out: the kernel's branches are, all the same."""
    history(truth, lambda: start(extra=["--option", "cpuid=no-dscpl"]))


def nothing(truth, start):
    """No BTS: the reason reaches the user, and the rest works."""
    with start(extra=["--cpu", "Haswell"]) as server:
        said = server.gdb("record btrace bts", "tbreak finish", "continue", "pc", "kill")
    demand(re.search("Could not enable branch tracing for Thread 1.1: .*BTS|DS", said),
           "GDB does not say why")
    same([row[0] for row in numbers(said, "PC")], [truth.symbol("finish")], "stopped at")


CASES = {one.__name__: one for one in (history, overflow, steps, interrupt, endless, unusual,
                                       line, resumed)}
KERNEL_CASES = dict(CASES, unfiltered=unfiltered, nothing=nothing)
del KERNEL_CASES["resumed"]         # nothing of it depends on who runs the program


def main(case, build, own, *flags):
    build, own = Path(build), Path(own)
    kernel = "--kernel" in flags
    try:
        truth = Truth(build, own)
        dict(KERNEL_CASES, **CASES)[case](
            truth, lambda words=(), extra=(): Server(build, own, kernel, words, extra))
    except (Wrong, subprocess.TimeoutExpired, OSError) as error:
        print("%s: %s" % (case, error))
        return 1
    print("%s: as expected" % case)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
