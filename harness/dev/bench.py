# SPDX-License-Identifier: BSD-2-Clause
"""Speed figures of the image: medians of several boots, and ratios within each boot.

Emulated machines on shared cores vary by a factor of two, so a ratio is formed inside one boot
and only then made a median of.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

LINE = re.compile(r"([a-z0-9._]+)=([\d.]+) (?:per_second|ns)$")
RATIOS = (
    ("oracle steps to bare steps", "step.oracle", "step.bare"),
    ("traced loop to untraced loop", "traced.loop.records", "untraced.loop.branches"),
    ("drain to memcpy of the same bytes", "session.drain_a_record", "session.memcpy_a_record"),
    ("traced switch to untraced switch", "session.switch_traced", "session.switch_untraced"),
)


def run(args, words, out):
    """Standard output of one run of the runner; its status must be 0."""
    command = [sys.executable, str(Path(__file__).parents[1] / "run.py"), "--image", args.image,
               "--out", str(out), "--accel", args.accel, "--", *words, *args.words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("bench: the run ended with status %d\n%s" % (done.returncode, done.stdout))
    return done.stdout


def rates(text):
    found = (LINE.match(line.strip()) for line in text.splitlines())
    return {match[1]: float(match[2]) for match in found if match}


def show(name, values, unit):
    print("%-34s %12.6g %-12s (%.6g .. %.6g)" % (name, statistics.median(values), unit,
                                               min(values), max(values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("--accel", default="tcg")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    out = Path(args.out) / "bench"
    out.mkdir(parents=True, exist_ok=True)
    loads = [os.getloadavg()[0]]
    boots, totals, suites = [], [], []
    for _ in range(args.rounds):
        boots.append(rates(run(args, ["bench=1"], out)))
        run(args, [], out)
        host = json.loads((out / "report.json").read_text())["host"]
        totals.append(host["seconds"])
        suites.append(host["suite_seconds"])
    loads.append(os.getloadavg()[0])
    print("median of %d (least .. most), load %.1f to %.1f on %d processors"
          % (args.rounds, *loads, os.cpu_count()))
    for name in boots[0]:
        show(name, [boot[name] for boot in boots],
             "ns" if name.startswith("session.") else "per second")
    for name, over, under in RATIOS:
        values = [boot[over] / boot[under] for boot in boots
                  if boot.get(over) and boot.get(under)]
        if values:
            show(name, values, "ratio")
    if "cpuid" in boots[0]:
        show("one exit and entry", [1e6 / boot["cpuid"] for boot in boots], "microseconds")
    show("run, firmware start included", totals, "seconds")
    show("the suite itself", suites, "seconds")
    show("image", [Path(args.image).stat().st_size / 1024], "KiB")


if __name__ == "__main__":
    main()
