# SPDX-License-Identifier: BSD-2-Clause
"""Generated programs in QEMU until so many records have been compared.

Ends with `fuzz: R records compared, M mismatches, S per second`. A program on which the
witnesses differ is disassembled. The status is the runner's.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = "bts.fuzz.programs"
TOTAL = re.compile(r"^# %s: (\d+) programs, (\d+) foreseen, (\d+) records compared" %
                   re.escape(CHECK))
CODE = re.compile(r"^# %s: code made\+([0-9a-f]+): ([0-9a-f]+)$" % re.escape(CHECK))
DETAIL = "# %s: " % CHECK
RECORDS_A_PROGRAM = 450     # about
PROGRAMS_A_BOOT = 800


def disassembled(lines):
    """objdump's listing of the code lines of a log; addresses as in `made+ADDRESS`."""
    parts = [match.groups() for match in map(CODE.match, lines) if match]
    if not parts:
        return []
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(bytes.fromhex("".join(text for _, text in parts)))
        file.flush()
        done = subprocess.run(
            ["objdump", "-D", "-z", "-w", "-b", "binary", "-m", "i386:x86-64", "-M", "intel",
             "--adjust-vma=0x" + parts[0][0], file.name],
            capture_output=True, text=True, check=True)
    return [line for line in done.stdout.split("\n") if "\t" in line]


def boot(args, out, words, programs, seed):
    """One boot; (status, lines of its log, seconds that the suite took)."""
    command = [sys.executable, str(Path(__file__).parents[1] / "run.py"), "--image", args.image,
               "--out", str(out), "--accel", args.accel, "--check-timeout", "180", "--timeout",
               str(300 + programs), "--", "run=" + CHECK, "fuzz=%d" % programs,
               "seed=%d" % seed, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    log, report = out / "serial.log", out / "report.json"
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    host = json.loads(report.read_text()).get("host", {}) if report.is_file() else {}
    if done.returncode:
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
    return done.returncode, lines, host.get("suite_seconds", 0)


def show(lines):
    """What the image says of the program, and its code."""
    for line in lines:
        if line.startswith(DETAIL) and not CODE.match(line):
            print(line.removeprefix(DETAIL))
    for line in disassembled(lines):
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("--accel", default="tcg")
    parser.add_argument("--records", type=int, default=1000000)
    parser.add_argument("words", nargs="*", help="options; seed= is where to begin")
    args = parser.parse_args()
    out = Path(args.out) / "fuzz"
    out.mkdir(parents=True, exist_ok=True)
    seed = next((int(word[5:], 0) for word in args.words if word.startswith("seed=")), 0)
    words = [word for word in args.words if not word.startswith(("seed=", "fuzz=", "run="))]
    programs = foreseen = records = mismatches = status = 0
    spent = 0.0
    while records < args.records and status == 0:
        wanted = min(PROGRAMS_A_BOOT, (args.records - records) // RECORDS_A_PROGRAM + 10)
        status, lines, seconds = boot(args, out, words, wanted, seed)
        totals = [match for match in map(TOTAL.match, lines) if match]
        if not totals:
            break
        seed += wanted
        programs += int(totals[-1][1])
        foreseen += int(totals[-1][2])
        records += int(totals[-1][3])
        spent += seconds
        if status == 1:
            mismatches += 1
            show(lines)
    print("fuzz: %d programs, the path of %d foreseen, %.1f seconds" %
          (programs, foreseen, spent))
    print("fuzz: %d records compared, %d mismatches, %d per second" %
          (records, mismatches, records / spent if spent else 0), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
