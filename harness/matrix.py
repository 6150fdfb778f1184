# SPDX-License-Identifier: BSD-2-Clause
"""One image on many emulators: versions of QEMU, machines, processors, firmware builds.

matrix.py --qemu 7.2=qemu-system-x86_64 --root trixie=/var/roots/trixie ...  A root is a folder
that harness/emulator_root.sh made: the QEMU and the OVMF of a Debian release.  Every cell is a
run of the whole suite.  The table gives the seconds to the banner and to the verdict, and what
differs from the first cell; the reports lie in the output folder for `run.py compare`.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run  # noqa: E402
from harness.host import compare, qemu, rejudge  # noqa: E402

FOLDER = "/usr/share/OVMF/"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FIRMWARE = {"4M": ("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"),
            "2M": ("OVMF_CODE.fd", "OVMF_VARS.fd"),
            "4M-secboot": ("OVMF_CODE_4M.secboot.fd", "OVMF_VARS_4M.fd")}
# Never reached the image with any version tried, so it is named and not run.
DEAD = {"pc 4M-secboot": "it needs the SMM of q35",
        "2M-secboot": "OVMF_CODE.secboot.fd does not start under these versions"}
X2APIC_SINCE = (9, 0)           # the first version whose software emulation has it


@dataclass
class Cell:
    """One column of options, and what came of it."""
    name: str
    words: list
    env: dict
    options: list
    status: int = None
    reason: str = ""
    report: dict = None
    path: Path = None


def version(words):
    """QEMU's version as numbers."""
    told = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)", told.stdout)
    if not found:
        raise qemu.Missing("%s does not tell its version" % words[0])
    return int(found[1]), int(found[2])


def in_root(root):
    """The environment in which a root's own QEMU runs from outside, with its own libraries."""
    root = Path(root).resolve()
    words = [root / "lib64/ld-linux-x86-64.so.2", "--library-path", str(root) + LIBRARIES,
             root / "usr/bin/qemu-system-x86_64", "-L", root / "usr/share/qemu"]
    if not words[3].is_file():
        raise qemu.Missing("%s holds no QEMU: harness/emulator_root.sh makes such a folder"
                           % root)
    return {"QEMU": shlex.join(map(str, words)),
            "QEMU_MODULE_DIR": "%s%s/qemu" % (root, LIBRARIES)}


def cells(name, env, folder=FOLDER):
    """What is run on one QEMU, with the firmware of a folder."""
    number = version(qemu.find_qemu(env))

    def firmware(kind):
        code, variables = FIRMWARE[kind]
        return dict(env, OVMF_CODE=folder + code, OVMF_VARS=folder + variables)

    def cell(label, kind="4M", words=(), options=()):
        return Cell("%s %s" % (name, label), list(words), firmware(kind), list(options))

    found = [cell("q35"), cell("q35 cpus=4", options=["cpus=4"]),
             cell("pc", words=["--machine", "pc"]),
             cell("pc cpus=4", words=["--machine", "pc"], options=["cpus=4"]),
             cell("q35 EPYC", words=["--cpu", "EPYC"]),
             cell("q35 max", words=["--cpu", "max", "--profile", "qemu-max"]),
             cell("q35 nosvm", words=["--cpu", "Haswell", "--profile", "qemu-nosvm"]),
             cell("q35 2M", kind="2M"),
             cell("q35 secboot", kind="4M-secboot", words=["--machine", "q35,smm=on"])]
    if number >= X2APIC_SINCE:
        found += [cell("q35 x2apic", options=["x2apic=1"]),
                  cell("q35 x2apic cpus=4", options=["x2apic=1", "cpus=4"])]
    return [one for one in found if Path(one.env["OVMF_CODE"]).is_file()]


def times(name, env, folder=FOLDER):
    """Where the time from start to verdict is looked at: machines, processors, firmware."""
    chipset = {"4M": ("q35", "pc"), "2M": ("q35", "pc"), "4M-secboot": ("q35",)}
    found = []
    for kind, machines in chipset.items():
        code, variables = FIRMWARE[kind]
        for machine in machines:
            for cpus in (1, 4):
                found.append(Cell(
                    "%s %s cpus=%d %s" % (name, machine, cpus, kind),
                    ["--machine", machine + (",smm=on" if kind == "4M-secboot" else "")],
                    dict(env, OVMF_CODE=folder + code, OVMF_VARS=folder + variables),
                    ["cpus=%d" % cpus]))
    return [one for one in found if Path(one.env["OVMF_CODE"]).is_file()]


def perform(cell, image, out):
    """Run a cell; its report and status."""
    cell.path = out / re.sub(r"\W+", "-", cell.name)
    with contextlib.redirect_stdout(io.StringIO()):
        cell.status, cell.reason = run.main(
            ["--image", str(image), "--out", str(cell.path), "--boot-timeout", "120",
             *cell.words, "--", *cell.options], {**os.environ, **cell.env})
    with contextlib.suppress(rejudge.Unreadable):
        cell.report = rejudge.load(cell.path)


def seconds(report, key):
    value = (report or {}).get("host", {}).get(key)
    return "%.1f" % value if value is not None else "-"


def difference(first, other):
    """What differs from the first cell, in few words."""
    if not first or not other:
        return "no report"
    matrix = compare.Matrix(["first", "other"], [first, other])
    counts = dict(matrix.sections)
    names = [name for title in ("fingerprint", "verdicts") for name, _ in counts[title]]
    if not names:
        return "same"
    return "%d observations, %d verdicts: %s" % (
        len(counts["fingerprint"]), len(counts["verdicts"]), " ".join(names[:4]))


def row(cell, first):
    counts = (cell.report or {}).get("counts", {})
    return "%-32s %2s  %6s %6s  %s  %s" % (
        cell.name, cell.status, seconds(cell.report, "boot_seconds"),
        seconds(cell.report, "seconds"),
        "/".join(str(counts.get(key, "-")) for key in ("pass", "skip", "error", "fail")),
        difference(first, cell.report) if cell.status in (0, 1) else cell.reason)


def everything(args):
    """The cells of all versions, those alone that --only names."""
    made = times if args.times else cells
    pairs = args.qemu or ([] if args.root else ["installed=qemu-system-x86_64"])
    found = [cell for name, command in (pair.split("=", 1) for pair in pairs)
             for cell in made(name, {"QEMU": command})]
    found += [cell for name, root in (pair.split("=", 1) for pair in args.root)
              for cell in made(name, in_root(root), str(Path(root).resolve()) + FOLDER)]
    return [cell for cell in found
            if any(fnmatchcase(cell.name, glob) for glob in args.only.split(","))]


def named(text):
    """NAME=VALUE, both of them given."""
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError("not of the form NAME=VALUE: %r" % text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=Path, default=Path("out/BOOTX64.EFI"))
    parser.add_argument("--out", type=Path, default=Path("out/matrix"))
    parser.add_argument("--qemu", action="append", type=named, metavar="NAME=COMMAND",
                        help="a version to try; default: the installed one")
    parser.add_argument("--root", action="append", type=named, metavar="NAME=FOLDER",
                        default=[],
                        help="the same from a folder of harness/emulator_root.sh")
    parser.add_argument("--only", default="*", metavar="GLOB[,GLOB]",
                        help="cells whose name matches, as '*q35,10.0 *cpus=4'")
    parser.add_argument("--times", action="store_true",
                        help="other cells: every machine, 1 and 4 processors, every firmware")
    args = parser.parse_args()
    try:
        found = everything(args)
    except (qemu.Missing, ValueError, OSError) as error:
        print("matrix: %s" % error)
        return 3
    started = time.monotonic()
    print("%-32s %2s  %6s %6s  %s  %s" % ("cell", "st", "banner", "end",
                                         "pass/skip/error/fail", "against the first"))
    for cell in found:
        perform(cell, args.image, args.out)
        print(row(cell, found[0].report), flush=True)
    for name, why in DEAD.items():
        print("%-32s not run: %s" % (name, why))
    bad = [cell.name for cell in found if cell.status]
    print("image: %d bytes; load: %.1f" % (args.image.stat().st_size, os.getloadavg()[1]))
    print("%d cells in %.0f s; %s" % (len(found), time.monotonic() - started,
                                      "not good: " + ", ".join(bad) if bad else "all good"))
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
