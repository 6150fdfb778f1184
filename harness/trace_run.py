# SPDX-License-Identifier: BSD-2-Clause
"""Trace a program of one's own: boot the image with it in QEMU, fetch out/trace.wtr.

trace_run.py [options] PROGRAM [ARGUMENT...]

PROGRAM is a static x86-64 ELF file.  Its output is passed on; its trace, output and registers
are files in --out.  0 it ran to its end, whatever its exit code; 1 an exception ended it, or it
was stopped; 2 it could not be traced; 3 bad usage or a file that cannot be loaded.  The last
line says `status: N reason`.
"""

import argparse
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run, wire  # noqa: E402
from harness.host import fat, given, judge, lock, qemu  # noqa: E402

FAULT = 1
FILES = ("trace.wtr", "program.out", "program.err", "serial.log", "qemu.log")
OUTPUT = 13                 # WTR_OUTPUT of wtr_format.h
LAST = 32                   # branches shown before a fault
VECTORS = {0: "divide error", 1: "debug exception", 3: "breakpoint", 6: "invalid opcode",
           7: "no coprocessor", 12: "stack fault", 13: "general protection", 14: "page fault",
           16: "x87 error", 17: "alignment check", 19: "SIMD error"}


def mebibytes(low):
    """What argparse takes for a size: below low nothing starts, above a TiB nothing is left."""
    def size(text):
        if not text.isdecimal() or not low <= int(text) <= 1 << 20:
            raise argparse.ArgumentTypeError("not a size from %d to %d MiB: %r" % (
                low, 1 << 20, text))
        return int(text)
    return size


def option(word):
    """A line of waymark.cfg; the image judges its key and value."""
    if not word.isascii() or not word.isprintable() or word.find("=") < 1:
        raise argparse.ArgumentTypeError("not of the form key=value: %r" % word)
    return word


def parser(name, text):
    """The options that every run of a program has."""
    made = run.Arguments(prog=name, description=text)
    made.add_argument("--image", default="out/BOOTX64.EFI", help="the EFI image to boot")
    made.add_argument("--out", default="out", help="folder for everything that is written")
    made.add_argument("--accel", default="tcg", choices=["tcg", "kvm"])
    made.add_argument("--cpu", default="Haswell,+svm", help="QEMU's -cpu")
    made.add_argument("--seconds", type=int, default=600,
                      help="the program is stopped then (default 600)")
    made.add_argument("--memory", type=mebibytes(128), default=512,
                      help="of the machine, in MiB")
    made.add_argument("--volume", type=mebibytes(1), default=256,
                      help="of the boot volume, in MiB: what the trace may take")
    made.add_argument("--option", action="append", type=option, default=[],
                      metavar="KEY=VALUE",
                      help="an option of the image, as crossings=1")
    made.add_argument("--files", metavar="FOLDER",
                      help="the program's files: this folder is its root")
    made.add_argument("--stdin", metavar="FILE", help="its standard input; else it is empty")
    made.add_argument("--cwd", metavar="PATH", help="its working folder among its files")
    made.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                      help="a word of its environment, which else is empty")
    made.add_argument("--seed", type=int, help="of its random numbers (default 0)")
    made.add_argument("program")
    made.add_argument("words", nargs="*", metavar="argument")
    return made


def parse(made, words):
    """Everything behind the program, or behind --, is the program's."""
    split = words.index("--") if "--" in words else len(words)
    args, rest = made.parse_known_args(words[:split])
    args.words += rest + words[split + 1:]
    return args


def arguments(words):
    return parse(parser("trace_run.py", __doc__.splitlines()[0]), words)


def volume_name(path):
    """What the file is called on the volume."""
    return fat.root_name(path, "program.elf")


def image_options(args, more=()):
    """The lines of waymark.cfg."""
    path = fat.option_word(Path(args.program).resolve())
    if len(path) > 250:
        path = fat.option_word(Path(args.program).name)
    lines = ["exit=debug", "program=" + volume_name(args.program), "path=" + path]
    lines += ["arg=" + fat.option_word(word) for word in args.words]
    lines += more
    if sum(map(len, lines)) > 3500:
        raise run.Usage("words and environment are longer than 3500 bytes: put them into the "
                        "program, or into a file")
    return lines + ["seconds=%d" % args.seconds] + args.option + ["exit=debug"]


def loadable(args):
    """Usage when the program's file tells that the image would refuse it."""
    judge_of_files = Path(args.image).parent / "loadable"
    if not judge_of_files.is_file():
        return
    done = subprocess.run([judge_of_files, args.program], capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode:
        raise run.Usage(done.stderr.strip())


def prepare(args):
    """Everything that can be found wrong before QEMU starts."""
    if not Path(args.image).is_file():
        raise qemu.Missing("%s does not exist: build it with make" % args.image)
    if not Path(args.program).is_file():
        raise run.Usage("%s is no file: give PROG=path/to/elf" % args.program)
    loadable(args)
    fat.present()
    Path(args.out).mkdir(parents=True, exist_ok=True)
    lock.take(args.out)


def make_volume(args, volume, options=()):
    """The boot volume with the program and all that it is given."""
    more, files = given.gather(args, Path(args.out))
    lines = image_options(args, more)
    fat.create(volume, args.image, lines[:-1] + list(options) + lines[-1:],
               [(args.program, volume_name(args.program)), *files], args.volume * 1024)


def boot(args, env):
    """(log, ending, folder of results or None) of one run in QEMU."""
    out = Path(args.out)
    prepare(args)
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    volume = out / "trace.img"
    make_volume(args, volume)
    words = qemu.command(qemu.find_qemu(env), qemu.find_firmware(env), out, volume, args.accel,
                         args.cpu, memory=args.memory)
    budgets = qemu.Budgets()
    budgets.check, budgets.total = None, args.seconds + 300
    heard = wire.Parser()
    try:
        with qemu.Machine(words, out / "serial.log", out / "qemu.log") as machine:
            ending = watch(machine, heard, budgets)
        newest = fat.results(volume, out / "volume")
    finally:
        volume.unlink(missing_ok=True)
    return heard.finish(), ending, newest


def watch(machine, heard, budgets):
    """How the machine ended.  After Ctrl-C what is on its volume already is still taken."""
    try:
        return machine.watch(heard, budgets)
    except KeyboardInterrupt:
        return qemu.Ending("interrupted", "interrupted: the trace is what was on the volume")


def outputs(data):
    """Standard output and standard error, out of the trace."""
    streams = {1: b"", 2: b""}
    at = struct.unpack_from("<I", data, 12)[0] if len(data) >= 16 else len(data)
    while at + 24 <= len(data):
        kind, _, size, _, _ = struct.unpack_from("<HHIII", data, at)
        if size < 16:
            break
        if kind == OUTPUT:
            count, stream = struct.unpack_from("<II", data, at + 16)
            streams[stream] = streams.get(stream, b"") + data[at + 24:at + 24 + count]
        at += size
    return streams[1], streams[2]


def facts(log):
    """key=value of the image's `program` lines, numbers as numbers."""
    found = {}
    for line in log.comments:
        if line.startswith("program ") and not line.startswith("program refused"):
            for key, value in re.findall(r"(\S+?)=(\S+)", line[8:]):
                base = 10 if re.fullmatch(r"\d+", value) else 0
                found[key] = int(value) if base else value
    return found


def trouble(log, ending):
    """(status, reason) when the image did not come to trace the program's end, else None."""
    if log.end and log.end.verdict == "usage":
        return judge.USAGE, "; ".join(log.messages)
    if ending.kind == "interrupted":
        return judge.ERROR, ending.text
    said = [line[17:] for line in log.comments if line.startswith("program trouble: ")]
    wrong = said + [fault.text for fault in log.faults if fault.kind != "plan"]
    if ending.text or wrong or not log.end:
        return judge.ERROR, (wrong + [ending.text, "no end line"])[0]
    return None


def last_branches(args):
    """The branches before the end, with names where wtr is built."""
    wtr = Path(args.image).parent / "wtr"
    if not wtr.is_file():
        return ["build %s to see the last branches" % wtr]
    done = subprocess.run([wtr, "list", Path(args.out) / "trace.wtr"], capture_output=True,
                          text=True, errors="replace", check=False)
    rows = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return ["last branches:"] + ["  " + row for row in rows[-LAST:]]


def show_end(args, log, found):
    """How the program ended; (status, reason)."""
    for line in log.comments:
        if line.startswith("program refused: "):
            print(line[8:])
    if "exit" in found:
        print("program: exit %d, %d system calls" % (found["exit"], found["calls"]))
        return judge.PASS, "the program ran to its end"
    if "signal" in found:
        print("program: %s at %s (exit %d)" % (found["name"], found["rip"],
                                               128 + found["signal"]))
        print("\n".join(last_branches(args)))
        return FAULT, "the program was ended by a signal: %s" % found["name"]
    if "stuck" in found:
        print("program: waits in %s at %s for what cannot come" % (found["stuck"],
                                                                  found["rip"]))
        print("\n".join(last_branches(args)))
        return FAULT, "the program waited in %s for ever: it has one thread" % found["stuck"]
    if "vector" in found:
        name = VECTORS.get(found["vector"], "vector %d" % found["vector"])
        print("program: %s at %s (address %s, error %s)" % (
            name, found["rip"], found["address"], found["error"]))
        for line in log.comments:
            if re.match("program (AVX|r)", line):
                print(" " + line[7:])
        print("\n".join(last_branches(args)))
        return FAULT, "the program was ended by an exception: " + name
    return FAULT, "the program was stopped after %d seconds" % args.seconds


def show_trace(args, found):
    branches, micros = found["branches"], found["microseconds"]
    each = found["bytes"] / branches if branches else 0
    rate = branches / found["with_file"] * 1e6 if found["with_file"] else 0
    print("trace: %d branches, %.2f bytes each, %d lost; %.3f s in the program, %.3f s with "
          "the file: %d branches a second" % (
              branches, each, found["lost"], micros / 1e6, found["with_file"] / 1e6, rate))
    out = Path(args.out)
    print("results: " + " ".join(str(out / name) for name in FILES[:4]))


def fetch(args, newest, name):
    """The trace under that name, and what the program wrote, out of the folder of results."""
    made = newest / "trace.wtr" if newest else None
    out = Path(args.out)
    if not made or not made.is_file():
        return False
    made.replace(out / name)
    streams = outputs((out / name).read_bytes())
    for path, stream, data in zip(FILES[1:3], (sys.stdout, sys.stderr), streams):
        (out / path).write_bytes(data)
        stream.flush()
        stream.buffer.write(data if data.endswith(b"\n") or not data else data + b"\n")
        stream.flush()
    return True


def report(args, log, ending, newest):
    """Files and summary; (status, reason)."""
    wrong = trouble(log, ending)
    wrote = given.unpack(newest, Path(args.out))
    if not fetch(args, newest, "trace.wtr"):
        if ending.kind == "interrupted":
            wrong = judge.ERROR, "interrupted: nothing was traced yet"
        wrong = wrong or (judge.ERROR, "there is no trace.wtr on the volume")
    if wrong:
        return wrong
    found = facts(log)
    status, reason = show_end(args, log, found)
    show_trace(args, found)
    if wrote:
        print("files: %d in %s: %s" % (len(wrote), Path(args.out) / "files",
                                       " ".join(wrote[:8]) + (" ..." if wrote[8:] else "")))
    if found["lost"]:
        # Whatever comes of it is not the whole run.
        status = max(status, FAULT)
        reason += "; %d branches are lost: give a larger --volume" % found["lost"]
    return status, reason


def finish(run_it, words, env):
    """(status, reason) of a whole run, whatever goes wrong in it."""
    try:
        return run_it(words, env)
    except (run.Usage, given.Unfit) as error:
        return judge.USAGE, str(error)
    except (qemu.Missing, fat.Trouble, lock.Taken, OSError) as error:
        return judge.ERROR, str(error)
    except KeyboardInterrupt:
        return judge.ERROR, "interrupted"


def trace(words, env):
    args = arguments(words)
    return report(args, *boot(args, env))


def start(run_it):
    """As a program: runs it, and ends with its status."""
    signal.signal(signal.SIGTERM, run.stop)
    run.leave(*finish(run_it, sys.argv[1:], os.environ))


if __name__ == "__main__":
    start(trace)
