# SPDX-License-Identifier: BSD-2-Clause
"""What entries.py asks of the results of a command: each function returns complaints."""

import filecmp
import json
import re
import shutil
import subprocess
from pathlib import Path

from harness import wire
from harness.dev import coverage
from harness.host import schema

ROOT = Path(__file__).resolve().parents[2]
IMAGE_LIMIT = 256 * 1024


def all_built(out):
    """Every C unit test in the tree must have run above."""
    text = (ROOT / "harness/tests/tests.mk").read_text()
    listed = set(re.findall(r"\btest_\w+\b(?!\.c|_)", "\n".join(
        re.findall(r"^HOST_TESTS.*", text.replace("\\\n", " "), re.M))))
    if not listed:
        return ["there is no C unit test"]
    complaints = ["%s is listed and not built" % name for name in sorted(listed)
                  if not (out / "host" / name).is_file()]
    return complaints + ["%s is in no test of tests.mk" % path.name
                         for path in sorted(ROOT.glob("harness/tests/unit/test_*.c"))
                         if path.name not in text]


def says(place, *texts):
    """What the serial log lacks of these."""
    log = (place / "serial.log").read_text(errors="replace")
    return ["the log does not say '%s'" % text for text in texts if text not in log]


def smi_reported(place):
    """What report.json lacks of the interrupt that selftest=smi raises."""
    report = json.loads((place / "report.json").read_text())
    told = [check["smi"] for check in report["checks"] if "smi" in check]
    aside = {"pass": 1, "skip": 0, "error": 0, "fail": 0}
    return [] if told == [{"interrupts": 1, "disturbed": 0, "set_aside": aside}] else [
        "report.json says of the interrupt: %s" % told]


def nothing_ran(place, log):
    report = json.loads((place / "report.json").read_text())
    return ["checks ran in spite of bad usage"] if report["checks"] else []


def image_size(out):
    size = (out / "BOOTX64.EFI").stat().st_size
    return [] if size <= IMAGE_LIMIT else ["%d bytes, at most %d" % (size, IMAGE_LIMIT)]


def reproducible(out, place, log):
    """Another build, in another source folder and another output folder, is the same bytes."""
    tree, target = place / "tree" / "xxxxxxxxxxxx", place / "out"
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    version = re.search('"(.*)"', (out / "gen/version.h").read_text())[1]
    with open(log, "a", encoding="utf-8") as stream:
        subprocess.run(["make", "-j2", "-C", str(tree), "OUT=%s" % target,
                        "VERSION=%s" % version, str(target / "BOOTX64.EFI")], stdout=stream,
                       stderr=subprocess.STDOUT, check=False)
    same = filecmp.cmp(out / "BOOTX64.EFI", target / "BOOTX64.EFI", shallow=False)
    return [] if same else ["the two images differ"]


def valid_files(place):
    """report.json against its schema, junit.xml against its XSD by another's tool."""
    report = json.loads((place / "report.json").read_text())
    complaints = schema.errors(report, schema.report_schema())
    counts = report["counts"]
    if counts["planned"] != sum(counts[word] for word in wire.VERDICTS):
        complaints.append("the counts do not add up: %s" % counts)
    done = subprocess.run(["xmllint", "--noout", "--schema", "harness/host/junit.xsd",
                           str(place / "junit.xml")], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    return complaints + (done.stderr.splitlines() if done.returncode else [])


def results(place):
    """A run that ended well: valid files, and the image's own account is whole."""
    complaints = valid_files(place)
    report = json.loads((place / "report.json").read_text())
    if report["host"]["source"] != "image":
        complaints.append("report.json had to be rebuilt from the serial log")
    log = wire.parse((place / "serial.log").read_bytes())
    complaints += [fault.text for fault in log.faults]
    names = [check["name"] for check in report["checks"]]
    if names != [result.name for result in log.results]:
        complaints.append("report.json and serial log list different checks")
    return complaints


def listed(out, log):
    """What the image lists, other than what its file was found to hold while it was built."""
    lines = {line for line in Path(log).read_text(errors="replace").splitlines()
             if " kind=" in line}
    wanted = set((out / "checks.txt").read_text().splitlines())
    return ["listed by one of image and build: " + line for line in sorted(lines ^ wanted)]


def whole_suite(out, place):
    """What only a run of everything can show."""
    complaints = results(place)
    report = json.loads((place / "report.json").read_text())
    names = [check["name"] for check in report["checks"]]
    missing = set(coverage.declared(out)) ^ set(names)
    if missing:
        complaints.append("declared or run, not both: " + ", ".join(sorted(missing)))
    # LAVA lowers the case and makes one "_" of everything that is no letter or digit.
    mangled = [re.sub(r"\W+", "_", name.lower()) for name in names]
    complaints += ["%s has no name of its own in LAVA" % name for name in set(mangled)
                   if mangled.count(name) > 1]
    return complaints
