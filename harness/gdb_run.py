# SPDX-License-Identifier: BSD-2-Clause
"""Debug a program of one's own with GDB: both ends, QEMU with the image and GDB on its COM2.

gdb_run.py [options] PROGRAM [ARGUMENT...]

GDB starts with the program's symbols, at its entry.  `record btrace bts` records its branches;
then `record instruction-history`, `reverse-continue` and the like work.  With --serve no GDB is
started: the last line of the start is `port N`, for a GDB of one's own.  0 the session ended;
2 it could not begin; 3 bad usage.  The last line says `status: N reason`.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run, trace_run, wire  # noqa: E402
from harness.host import judge, qemu  # noqa: E402


def arguments(words):
    parser = trace_run.parser("gdb_run.py", __doc__.splitlines()[0])
    parser.set_defaults(seconds=0, volume=64)
    parser.add_argument("--serve", action="store_true", help="start no GDB, print `port N`")
    parser.add_argument("--port", type=int, help="with --serve: this one")
    parser.add_argument("--gdb", default="gdb", help="the GDB to start (version 13 or later)")
    parser.add_argument("--ex", action="append", default=[], metavar="COMMAND",
                        help="a GDB command once it is connected")
    return trace_run.parse(parser, words)


def free_port():
    """A port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(args, env, volume, port):
    """QEMU's words.  Away from the terminal's group: Ctrl-C is meant for GDB alone."""
    words = qemu.command(qemu.find_qemu(env), qemu.find_firmware(env), args.out, volume,
                         args.accel, args.cpu, memory=args.memory)
    # Without nodelay each packet of single bytes would wait for an acknowledgement.
    words += ["-chardev", "socket,id=com2,host=127.0.0.1,port=%d,server=on,wait=off,nodelay=on"
              % port, "-serial", "chardev:com2"]
    return ["setsid"] + words if shutil.which("setsid") else words


class Session(threading.Thread):
    """The machine, watched beside the debugger."""

    def __init__(self, machine, boot):
        super().__init__(daemon=True)
        self.machine, self.boot = machine, boot
        self.parser = wire.Parser()
        self.ready = threading.Event()
        self.ending = None

    def run(self):
        budgets = qemu.Budgets(self.boot, None, None, None)
        self.ending = self.machine.watch(self.parser, budgets, self.look)
        self.ready.set()

    def look(self, log):
        if any(line.startswith("gdb waits") for line in log.comments):
            self.ready.set()

    def trouble(self):
        """Why nobody waits for a debugger, as (status, reason), or None."""
        self.ready.wait()
        if any(line.startswith("gdb waits") for line in self.parser.log.comments):
            return None
        self.join()
        return trace_run.trouble(self.parser.log, self.ending) or (
            judge.ERROR, "the machine stopped before it waited for GDB")


def debug(args, port):
    """GDB in the foreground; (status, reason)."""
    # Symbols are here, so nothing is looked for behind the line; code is read in large pieces.
    words = [args.gdb, "-q", "-iex", "set sysroot", "-iex", "set dcache line-size 1024",
             "-ex", "set remotetimeout 30",
             "-ex", "target extended-remote 127.0.0.1:%d" % port]
    for text in args.ex:
        words += ["-ex", text]
    words.append(args.program)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with subprocess.Popen(words, preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL)) as gdb:
        status = gdb.wait()
    return judge.PASS, "GDB ended with status %d" % status


def session(args, env):
    """(status, reason) of all of it."""
    out = Path(args.out)
    trace_run.prepare(args)
    volume, port = out / "gdb.img", args.port or free_port()
    if not args.serve and not shutil.which(args.gdb):
        raise qemu.Missing("%s is missing: install the package gdb" % args.gdb)
    trace_run.make_volume(args, volume, ["gdb=com2"])
    words = command(args, env, volume, port)
    with qemu.Machine(words, out / "serial.log", out / "qemu.log") as machine:
        watcher = Session(machine, qemu.Budgets().boot)
        watcher.start()
        wrong = watcher.trouble()
        if wrong:
            return wrong
        print("port %d" % port, flush=True)
        if not args.serve:
            return debug(args, port)
        watcher.join()
    return judge.PASS, watcher.ending.text or "the machine ended"


def main(words, env):
    """(status, reason) of a whole session."""
    return trace_run.finish(lambda words, env: session(arguments(words), env), words, env)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, run.stop)
    run.leave(*main(sys.argv[1:], os.environ))
