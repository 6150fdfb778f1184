# SPDX-License-Identifier: BSD-2-Clause
"""Where the suite's time goes: milliseconds by group of checks, with 1, 2 and 4 processors.

A group is what the names of its checks begin with.  Each column is one run; on a host that has
fewer processors than the machine, more of them take longer, since they run by turns.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path


def group(name):
    """bts.pmi.skid belongs to bts.pmi, task.trace.signal to task."""
    words = name.split(".")
    return ".".join(words[:2]) if words[0] == "bts" else words[0]


def run(args, cpus, out):
    """Milliseconds by group in one run with so many processors, which must end well."""
    command = [sys.executable, str(Path(__file__).with_name("run.py")), "--image", args.image,
               "--out", str(out), "--accel", args.accel, "--", "cpus=%d" % cpus, *args.words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("bench: the run with cpus=%d ended with status %d\n%s" % (
            cpus, done.returncode, done.stdout))
    spent = defaultdict(float)
    for check in json.loads((out / "report.json").read_text())["checks"]:
        spent[group(check["name"])] += check["ms"]
    return spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("--accel", default="tcg")
    parser.add_argument("--cpus", default="1,2,4", help="numbers of processors, comma between")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    out = Path(args.out) / "bench"
    out.mkdir(parents=True, exist_ok=True)
    numbers = [int(word) for word in args.cpus.split(",")]
    columns = [run(args, number, out) for number in numbers]
    print("milliseconds, load %.1f on %d processors" % (os.getloadavg()[0], os.cpu_count()))
    print("%-16s" % "group" + "".join("%10s" % ("cpus=%d" % number) for number in numbers))
    for name in sorted(columns[0], key=columns[0].get, reverse=True):
        print("%-16s" % name + "".join("%10.0f" % column[name] for column in columns))
    print("%-16s" % "all" + "".join("%10.0f" % sum(column.values()) for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
