# SPDX-License-Identifier: BSD-2-Clause
"""What tracing costs: records a second, slow-down, bytes a record, beside GDB's single steps.

trace_bench.py [--image I] [--out O] [PROGRAM [ARGUMENT...]]

The same program runs three times in one sitting: traced, untraced, and under a stock GDB that
single-steps it through QEMU's own gdbstub, which is how branches are found without BTS.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import fat, qemu, trace_run, wire  # noqa: E402

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("program", nargs="?")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    args.program = args.program or str(Path(args.image).parent / "programs/sort")
    args.out = str(Path(args.out) / "trace-bench")
    load = os.getloadavg()[0]
    started = time.time()
    traced = image_run(args)
    host = time.time() - started
    count = instructions(args)
    plain = image_run(args, "--option", "untraced=1")
    steps = gdb_steps(args)
    branches, micros = traced["branches"], traced["microseconds"]
    print("program %s: %d branches, %d instructions; load %.1f on %d processors" % (
        Path(args.program).name, branches, count, load, os.cpu_count()))
    print("traced: %.3f s, %.0f branches a second; with the file %.3f s; QEMU's whole run "
          "%.1f s" % (micros / 1e6, branches / micros * 1e6, traced["with_file"] / 1e6, host))
    print("untraced: %.4f s; slow-down %.0f" % (
        plain["microseconds"] / 1e6, micros / max(plain["microseconds"], 1)))
    print("trace: %.2f bytes a branch" % (traced["bytes"] / branches))
    if steps and count:
        alone = count / steps
        print("GDB: %.0f single steps a second, so %.1f s for this program: tracing is %.0f "
              "times as fast" % (steps, alone, alone / (traced["with_file"] / 1e6)))


if __name__ == "__main__":
    main()
