# SPDX-License-Identifier: BSD-2-Clause
"""A folder of kvm-unit-tests' EFI programs, each on the resident model and on plain QEMU.

kut_session.py [--only PATTERN] [--seconds N] [--cpu MODEL] KUT-FOLDER BUILD-FOLDER OWN-FOLDER

They are built elsewhere (`./configure --enable-efi; make`) and no part of this project.  One
row a program: what it counted in each, and every line of a verdict that is not in both.  The
status is 1 when a line that passes on plain QEMU does not pass on the model.
"""

import argparse
import os
import re
import sys
from collections import Counter
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.host import resident  # noqa: E402

WORDS = ("PASS", "FAIL", "SKIP")
VERDICT = re.compile(r"^\s*((?:X?PASS|X?FAIL|SKIP): .*?)\s*$", re.M)
# What a verdict's line says beside its name differs from run to run.
MEASURED = re.compile(r"\b(0x)?[0-9a-f]*[0-9][0-9a-f]*\b")


class Run:
    """One program on one machine."""

    def __init__(self, args, program, plain):
        place = args.place / ("%s.%s" % (program.stem, "plain" if plain else "model"))
        place.mkdir(parents=True, exist_ok=True)
        guest = resident.Guest(program, "", options=args.option, plain=plain, cpu=args.cpu,
                               memory=512)
        guest.more = ["-device", "pc-testdev"]
        self.status, self.reason = resident.run(
            guest, args.build / "BOOTX64.EFI", place, os.environ, args.seconds,
            lambda data: None)
        text = (place / "serial.log").read_text(errors="replace")
        self.lines = VERDICT.findall(text)
        self.named = Counter(MEASURED.sub("N", line) for line in self.lines)

    def cell(self):
        """What it counted, and how it ended where that is not by its own exit."""
        counts = Counter(line.split(":")[0].lstrip("X") for line in self.lines)
        said = "/".join(str(counts[word]) for word in WORDS)
        return said + ("" if "exit device" in self.reason else ", " + self.reason)


def differences(plain, model):
    """Lines that only one of them said, in the order of the run."""
    for mark, one, other in (("-", plain, model), ("+", model, plain)):
        left = one.named - other.named
        for line in one.lines:
            name = MEASURED.sub("N", line)
            if left[name] > 0:
                left[name] -= 1
                yield "%s %s" % (mark, line)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*.efi")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--cpu", default=resident.Guest.cpu)
    parser.add_argument("--option", action="append", default=[])
    for name in ("folder", "build", "place"):
        parser.add_argument(name, type=Path)
    return parser.parse_args()


def main():
    args = arguments()
    print("PASS/FAIL/SKIP of each, %s\n" % args.cpu)
    print("| program | plain QEMU | on the model |\n|---|---|---|", flush=True)
    lost, rows = 0, []
    for program in sorted(args.folder.glob(args.only)):
        plain, model = Run(args, program, True), Run(args, program, False)
        print("| %s | %s | %s |" % (program.stem, plain.cell(), model.cell()), flush=True)
        found = list(differences(plain, model))
        lost += sum(line.startswith("- PASS") for line in found)
        rows += ["%s: %s" % (program.stem, line) for line in found]
    print("\n" + "\n".join(rows))
    print("%d lines that pass on plain QEMU are not on the model" % lost)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
