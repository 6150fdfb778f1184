# SPDX-License-Identifier: BSD-2-Clause
"""What tracing costs: records a second, slow-down, bytes a record, beside GDB's single steps.

trace_bench.py [--image I] [--out O] [--runs N] [PROGRAM [ARGUMENT...]]

In one sitting the same program runs traced, untraced, under a stock GDB that single-steps it
through QEMU's own gdbstub, which is how branches are found without BTS, and under the same GDB
that reads the recorded branches from the image's stub.  Medians of N sittings (3), with the
lowest and the highest; ratios are taken within a sitting, so that the machine's load counts
on both sides.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import trace_run, wire  # noqa: E402
from harness.host import fat, qemu  # noqa: E402

STEPS = 3000
PORT = 12834


def image_run(args, *options):
    """The image's figures of one run."""
    words = ["--image", args.image, "--out", args.out, *options, args.program, "--",
             *args.words]
    log, ending, newest = trace_run.boot(trace_run.arguments(words), os.environ)
    found = trace_run.facts(log)
    if "branches" not in found:
        sys.exit("trace_bench: %s" % (trace_run.trouble(log, ending),))
    if newest:
        (newest / "trace.wtr").replace(Path(args.out) / "trace.wtr")
    return found


def gdb_steps(args):
    """Single steps a second through QEMU's gdbstub, with RIP read at each; 0 without GDB.

    The program runs untraced; GDB stops in it by a hardware breakpoint at its entry.
    """
    words = trace_run.arguments(["--image", args.image, "--out", args.out, "--option",
                                 "untraced=1", args.program, "--", *args.words])
    out = Path(args.out)
    volume = out / "gdb.img"
    fat.create(volume, args.image, trace_run.image_options(words),
               [(args.program, trace_run.volume_name(args.program))])
    command = qemu.command(qemu.find_qemu(os.environ), qemu.find_firmware(os.environ), out,
                           volume, gdb=PORT)
    command.remove("-S")
    script = out / "steps.gdb"
    script.write_text("\n".join([
        "set pagination off", "set confirm off", "target remote 127.0.0.1:%d" % PORT,
        "hbreak *%s" % entry(args.program), "continue",
        "python import time; start = time.time()",
        "python for i in range(%d): gdb.execute('stepi', to_string=True)" % STEPS,
        "python print('steps %d seconds %%f' %% (time.time() - start))" % STEPS,
        "kill", "quit"]) + "\n")
    with qemu.Machine(command, out / "gdb-serial.log", out / "gdb-qemu.log") as machine:
        machine.watch(wire.Parser(), qemu.Budgets(boot=3))
        done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-x", script, args.program],
                              capture_output=True, text=True, timeout=300, check=False)
    volume.unlink()
    found = re.search(r"steps (\d+) seconds ([\d.]+)", done.stdout)
    if not found:
        print("gdb: no figure: " + (done.stdout + done.stderr)[-300:])
        return 0
    return int(found[1]) / float(found[2])


def gdb_reads(args, branches):
    """Branches a second that GDB reads from the image's stub, the run to its end left out."""
    size = 24 * (branches + 1000)
    commands = ["set record btrace bts buffer-size %d" % size, "record btrace bts", "continue",
                "python import time; start = time.time()",
                "python gdb.execute('info record', to_string=True)",
                "python print('seconds %f' % (time.time() - start))",
                "maint info btrace", "kill"]
    with subprocess.Popen([sys.executable, "harness/gdb_run.py", "--image", args.image, "--out",
                           args.out, "--serve", args.program, "--", *args.words],
                          stdout=subprocess.PIPE, text=True) as server:
        port = next((line.split()[1] for line in server.stdout if line.startswith("port ")), "")
        words = ["gdb", "-q", "-nx", "-batch", "-ex", "set remotetimeout 60",
                 "-ex", "target remote 127.0.0.1:" + port]
        for text in commands:
            words += ["-ex", text]
        done = subprocess.run([*words, args.program], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=600, check=False)
        server.stdout.read()
    seconds = re.search(r"^seconds ([\d.]+)", done.stdout, re.M)
    blocks = re.search(r"Number of packets: (\d+)", done.stdout)
    if not seconds or not blocks:
        print("gdb: no figure: " + (done.stdout + done.stderr)[-300:])
        return 0
    return int(blocks[1]) / float(seconds[1])


def entry(program):
    text = subprocess.run(["readelf", "-h", program], capture_output=True, text=True,
                          check=True).stdout
    return re.search(r"Entry point address:\s+(\S+)", text)[1]


def instructions(args):
    """Instructions of the traced run, by wtr's call tree."""
    done = subprocess.run([Path(args.image).parent / "wtr", "tree",
                           Path(args.out) / "trace.wtr"], capture_output=True, text=True,
                          check=False)
    rows = re.findall(r"^ *\d+ +\d+ +(\d+) ", done.stdout, re.M)
    return int(rows[0]) if rows else 0


def sitting(args):
    """Figures of one sitting by name."""
    traced = image_run(args)
    count = instructions(args)
    plain = image_run(args, "--option", "untraced=1")
    steps = gdb_steps(args)
    seconds = traced["with_file"] / 1e6
    branches = traced["branches"]
    return {"branches": branches, "instructions": count,
            "bytes a branch": traced["bytes"] / branches,
            "traced s": traced["microseconds"] / 1e6,
            "to the file s": seconds,
            "untraced s": plain["microseconds"] / 1e6,
            "branches/s to the file": branches / seconds,
            "slow-down": traced["microseconds"] / max(plain["microseconds"], 1),
            "GDB steps/s": steps,
            "GDB steps, whole program s": count / steps if steps else 0,
            "tracing, times as fast": count / steps / seconds if steps else 0,
            "GDB reads branches/s": gdb_reads(args, branches)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("program", nargs="?")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    args.program = args.program or str(Path(args.image).parent / "programs/sort")
    args.out = str(Path(args.out) / "trace-bench")
    load = os.getloadavg()[0]
    rows = [sitting(args) for _ in range(args.runs)]
    print("%s %s: medians of %d sittings (lowest, highest); load %.1f on %d processors" % (
        Path(args.program).name, " ".join(args.words), args.runs, load, os.cpu_count()))
    for name in rows[0]:
        values = [row[name] for row in rows]
        print("%-28s %14s  (%s, %s)" % (name, *("%.10g" % float("%.4g" % value) for value in (
            statistics.median(values), min(values), max(values)))))


if __name__ == "__main__":
    main()
