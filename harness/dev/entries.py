# SPDX-License-Identifier: BSD-2-Clause
"""What `make check` runs: one row an entry, and the verifications that look at results.

A row is a command with the status and the words it must give.  `@` in a command stands for
the entry's own folder.  To add a row, append it to the list it belongs to.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import wire
from harness.host import expected, schema
from harness.tests.system import (boot_session, gdb_session, network_session, output_session,
                                  resume_session, stick_session, under_session)

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "harness/tests/system/"
IMAGE_LIMIT = 256 * 1024


@dataclass
class Entry:
    """One row.  verify(folder, log) returns complaints; after names entries to wait for."""
    name: str
    command: list = field(default_factory=list)
    status: int = 0
    wants: list = field(default_factory=list)       # regular expressions
    verify: object = None
    after: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    seconds: int = 600
    fresh: bool = True          # start with an empty folder


def table(out):
    """All entries for the build in out; those that wait for another one come last."""
    rows = (unit_entries(out) + style_entries(out) + suite_entries(out) +
            boot_entries(out) + selftest_entries(out) + usage_entries(out) +
            fuzz_entries(out) + trial_entries(out) + build_entries(out) + wtr_entries(out) +
            trace_entries(out) + profile_entries(out) + gdb_entries(out) + vectors_entries(out))
    return sorted(rows, key=lambda entry: bool(entry.after))


def unit_entries(out):
    """Unit tests: C under the sanitizers, Python; a folder without any is an error."""
    rows = [Entry("host." + path.name.removeprefix("test_"), [path])
            for path in sorted((out / "host").glob("test_*")) if not path.suffix]
    rows += [Entry("python." + path.stem.removeprefix("test_"),
                   [sys.executable, "-m", "unittest", "harness.tests.unit." + path.stem])
             for path in sorted(ROOT.glob("harness/tests/unit/test_*.py"))]
    rows.append(Entry("host.all-built", verify=lambda place, log: all_built(out)))
    return rows


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


def style_entries(out):
    """House rules, formatting, and the installer's own claim."""
    return [
        Entry("style", [sys.executable, "harness/dev/style.py", "--out", out]),
        Entry("format", ["sh", "-c", "git ls-files -z '*.c' '*.h' | xargs -0 "
                         "clang-format --dry-run -Werror"]),
        Entry("docs", [sys.executable, "harness/dev/docs.py", "--out", out]),
        Entry("deps", ["harness/deps.sh"], wants=["^deps: nothing is missing$"]),
    ]


def runner(out, *words, options=()):
    """The words of one run of the suite in QEMU."""
    return [sys.executable, "harness/run.py", "--image", out / "BOOTX64.EFI", "--out", "@",
            *words, "--", *options]


def suite_entries(out):
    """The whole suite: on the model, where there is no SVM, on other processors."""
    rows = [
        Entry("suite.model", runner(out, "--timeout", "2400", options=["soak=1"]), seconds=2500,
              verify=lambda place, log: whole_suite(place)),
        Entry("suite.nosvm", runner(out, "--cpu", "Haswell", "--profile", "qemu-nosvm"),
              verify=lambda place, log: results(place)),
        Entry("suite.native", runner(out, "--profile", "qemu-nosvm",
                                     options=["provider=native"]),
              verify=lambda place, log: results(place)),
    ]
    rows += [Entry("suite.cpu." + cpu, runner(out, "--cpu", cpu, "--profile", profile),
                   verify=lambda place, log: results(place))
             for cpu, profile in (("EPYC", "qemu"), ("max", "qemu-max"))]
    # Counters and PEBS with the other record formats, and without PEBS.
    sampling = "run=pmc.*,pebs.*,bts.freeze.*,bts.layout.*,bts.enum.*"
    rows += [Entry("suite.pebs." + name,
                   runner(out, "--profile", "hardware" if name == "off" else "qemu",
                          options=[sampling, "pebs=" + name]),
                   verify=lambda place, log: results(place))
             for name in ("0", "1", "2", "4", "off")]
    rows += [
        *(Entry("suite.cpus%d" % count, runner(out, options=["cpus=%d" % count]),
                verify=lambda place, log: results(place)) for count in (2, 4)),
        Entry("suite.soak", runner(out, options=["soak=15s", "order=7", "repeat=2",
                                                 "run=bts.record.*,ds.session.*,hw.*"]),
              verify=lambda place, log: results(place) + says(
                  place, "# order=7", "# soak: 2 passes in ", " of 15 s, 0 checks unstable")),
        # The emulator is a hypervisor without BTS.
        Entry("suite.hypervisor", runner(out, "--profile", "hypervisor",
                                         options=["provider=native"]),
              verify=lambda place, log: results(place)),
        Entry("suite.accel", runner(out, "--accel", "auto", options=["run=bts.enum.*"])),
        Entry("suite.list", runner(out, options=["list=1"]), wants=[r"^bts\.\S+ clauses="]),
        Entry("report.html", [sys.executable, SYSTEM + "html_session.py", "@",
                              out / "check/suite.model/report.json"],
              wants=["^pages: as expected$"], after=["suite.model"]),
        # The last real log, cut at every byte.
        Entry("python.wire.real", [sys.executable, "-m", "unittest",
                                   "harness.tests.unit.test_wire.CutLog"],
              after=["suite.model"],
              env={"WAYMARK_OUT": str(out / "check/suite.model")}),
    ]
    return rows


def boot_entries(out):
    """Every way to start the image, and the volumes and outputs it may find."""
    return [Entry("%s.%s" % (group, name),
                  [sys.executable, SYSTEM + "%s_session.py" % group, name, out, "@"],
                  wants=["^%s: as expected$" % name], seconds=seconds)
            for group, cases, seconds in (("boot", boot_session.CASES, 180),
                                          ("stick", stick_session.CASES, 400),
                                          ("output", output_session.CASES, 180),
                                          ("resume", resume_session.CASES, 400),
                                          ("under", under_session.CASES, 400))
            for name in cases] + [
        Entry("network." + name, [sys.executable, SYSTEM + "network_session.py", name,
                                  out, "@"],
              wants=["^(%s: as expected|SKIP: .*)$" % name], seconds=180)
        for name in network_session.CASES] + [
        # The distribution's Python has the labs' packages; another one first in PATH has not.
        Entry("labs." + name, ["/usr/bin/python3", SYSTEM + "labs_session.py", name, out,
                               "@"], wants=["^%s: as expected$" % name])
        for name in ("lava", "labgrid", "kernelci", "ci_examples")]


def selftest_entries(out):
    """The suite fails on purpose; the runner must say exactly how."""
    cases = [("fail", 1, "checks failed"), ("error", 2, "selftest=error"),
             ("hang", 2, r"hang in [a-z0-9._-]+: "), ("triple", 2, "reset or stopped in "),
             ("leak", 2, "(?i)leak"), ("corrupt", 2, "broken line: ")]
    return [Entry("selftest." + word,
                  runner(out, "--check-timeout", "10",
                         options=["run=hw.*,bts.record.*", "selftest=" + word]),
                  status=status, wants=["^status: %d .*" % status, want],
                  verify=lambda place, log: valid_files(place))
            for word, status, want in cases] + [
        # The first of three runs fails, or the first pass of many hangs.
        Entry("selftest.unstable", runner(out, options=["run=bts.record.*", "selftest=fail",
                                                        "repeat=3"]),
              status=1, wants=["^status: 1 "],
              verify=lambda place, log: says(place, "unstable: 2 pass, 0 skip, 0 error, 1 fail "
                                                    "in 3 runs")),
        # The first check of records is set aside once, and says so in log and report.
        Entry("selftest.smi", runner(out, options=["run=bts.record.*", "selftest=smi"]),
              verify=lambda place, log: results(place) + says(
                  place, "bts.record.size: pass with 1 SMIs: set aside, repeat 1 of 3",
                  "# smi: 1 came into checks, 1 runs were set aside") + smi_reported(place)),
        # Cut by an NMI: the run goes on, and everything else is as it should be.
        Entry("selftest.guard", runner(out, options=["cpus=2", "guard=5", "selftest=hang",
                                                     "run=hw.cpu.*,bts.record.*,smp.*"]),
              status=2, wants=["^ERROR .* in ring 0: cut by an NMI after 5 s without a line$",
                               "^status: 2 1 checks not as profile"],
              verify=lambda place, log: results(place)),
        Entry("selftest.first", runner(out, options=["cpus=2", "guard=5", "selftest=first",
                                                     "run=hw.cpu.*,bts.record.*"]),
              status=2, wants=["^ERROR bts.*: the first record never came back",
                               "^status: 2 "],
              verify=lambda place, log: results(place) + says(
                  place, "# first-record: hung at ", "ok 1 - hw.cpu.state")),
        Entry("selftest.soak", runner(out, "--check-timeout", "10", options=[
            "run=bts.record.*", "selftest=hang", "soak=1h"]),
            status=2, wants=[r"^status: 2 hang in bts\.record\.[a-z_]+: "])]


def fuzz_entries(out):
    """Generated programs: no difference, and with a defect a small program that shows it."""
    def row(name, status, wants, *options):
        return Entry("fuzz." + name,
                     [sys.executable, "harness/dev/fuzz.py", "--image", out / "BOOTX64.EFI",
                      "--out", "@", "--records", "60000", "--", *options],
                     status=status, wants=wants)

    small = [r"^smallest that differs: [1-9] of \d+ nodes", r"^fuzz: \d+ .* 1 mismatches"]
    return [row("quick", 0, [r"^fuzz: \d{5,} records compared, 0 mismatches, \d+ per second$"]),
            row("not-taken-recorded", 1, [*small, r":\t.*\tj[a-z]+ "],
                "defect=not-taken-recorded"),
            row("indirect-lost", 1, [*small, r"\bjmp +(rax|QWORD)"], "defect=indirect-lost"),
            row("one-in-4096-lost", 1, small, "defect=one-in-4096-lost", "seed=1000")]


def trial_entries(out):
    """Every defect killed, every policy named, and most of a few mechanical mutants killed."""
    return [Entry("trial." + what, [sys.executable, "harness/dev/trial.py", "--what", what,
                                    "--image", out / "BOOTX64.EFI", "--out", "@"],
                  wants=[r"^%s: (\d+) of \1 " % what], seconds=300)
            for what in ("defects", "policies")] + [
        Entry("mutants", [sys.executable, "harness/dev/mutants.py", "--out", "@", "--seed", "3",
                          "--count", "6"],
              wants=[r"^mutants: [4-6] of 6 killed$"], seconds=600),
        Entry("mutants.ds", [sys.executable, "harness/dev/mutants.py", "--out", "@", "--files",
                             "ds", "--host", "--seed", "2", "--count", "16"],
              wants=[r"^mutants: 1[0-6] of 16 killed$"], seconds=300)]


def usage_entries(out):
    """Wrong input: status 3, one clear line, nothing run."""
    cases = [("option", "nonsense=1", "nonsense"), ("value", "cpus=many", "cpus"),
             ("pattern", "run=no.such.check", "no.such.check"), ("bare", "soak", "soak"),
             ("selftest", "selftest=explode", "selftest"),
             ("soak", "soak=9d", "soak"), ("repeat", "repeat=0", "repeat"),
             ("order", "order=any", "order"), ("guard", "guard=3601", "guard")]
    rows = [Entry("usage." + name, runner(out, options=[option]), status=3,
                  wants=["^status: 3 .*" + re.escape(word)], verify=nothing_ran)
            for name, option, word in cases]
    rows.append(Entry("usage.accel", runner(out, "--accel", "warp"), status=3,
                      wants=["^status: 3 .*warp"]))
    rows.append(Entry("usage.profile", runner(out, "--profile", "warp"), status=3,
                      wants=["^status: 3 .*warp.*there are"]))
    rows.append(Entry("usage.noqemu", runner(out), status=2, env={"QEMU": "/nowhere/qemu"},
                      wants=["^status: 2 .*install the package qemu-system-x86"]))
    rows.append(Entry("usage.noovmf", runner(out), status=2, env={"OVMF_CODE": "/nowhere/x"},
                      wants=["^status: 2 .*install the package ovmf"]))
    return rows


def build_entries(out):
    """The image itself, and that GDB finds its way in it."""
    return [
        Entry("debug", [sys.executable, SYSTEM + "debug_session.py", out, "@"],
              wants=["^harness_begin reached$"], seconds=180),
        Entry("image.size", verify=lambda place, log: image_size(out)),
        Entry("image.reproducible", verify=reproducible),
    ]


def wtr_entries(out):
    """The host tool against stepped programs, perf, a browser, the clock and bad files."""
    return [Entry("wtr." + name, [sys.executable, SYSTEM + "wtr_%s.py" % name, out, "@"],
                  wants=[r"^(\d+ passed, 0 failed|SKIP: .*)$"])
            for name in ("truth", "perf", "html", "speed", "usage")]


def trace_entries(out):
    """Programs of one's own traced in QEMU, against single steps on the host; wrong files."""
    return [Entry("trace." + name, [sys.executable, SYSTEM + "trace_session.py", name, out,
                                    "@"], wants=["^%s: as expected$" % name])
            for name in ("programs", "files", "full", "avx")]


def profile_entries(out):
    """Programs of one's own sampled in QEMU, against the exact counts of single steps."""
    return [Entry("profile." + name, [sys.executable, SYSTEM + "profile_session.py", name,
                                      out, "@"], wants=["^%s: as expected: .*$" % name])
            for name in ("split", "flat", "small")]


def vectors_entries(out):
    """The files for other people's tests, read by what they are for."""
    return [Entry("vectors." + name, [sys.executable, SYSTEM + "vectors_session.py", name,
                                      out, "@"], wants=["^%s: (as expected|SKIP: .*)$" % name])
            for name in ("same", "perf", "lcov", "gdb", "image")]


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


def reproducible(place, log):
    """Two builds, in two source folders and two output folders, byte for byte the same."""
    images = []
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split("\n")
    for number in (1, 2):
        tree = place / ("tree%d" % number) / ("x" * 10 * number)
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        target = place / ("out%d" % number)
        with open(log, "a", encoding="utf-8") as stream:
            subprocess.run(["make", "-C", str(tree), "OUT=%s" % target, "VERSION=same",
                            str(target / "BOOTX64.EFI")], stdout=stream,
                           stderr=subprocess.STDOUT, check=False, timeout=300)
        images.append((target / "BOOTX64.EFI").read_bytes())
    return [] if images[0] == images[1] else ["the two images differ"]


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


def declared():
    """The names that the sources declare."""
    names = []
    for path in sorted(ROOT.glob("harness/checks/*.c")):
        names += re.findall(r"""\.name\s*=\s*"([^"]+)\"""", path.read_text())
    return names


def whole_suite(place):
    """What only a run of everything can show."""
    complaints = results(place)
    report = json.loads((place / "report.json").read_text())
    names = [check["name"] for check in report["checks"]]
    missing = set(declared()) ^ set(names)
    if missing:
        complaints.append("declared or run, not both: " + ", ".join(sorted(missing)))
    # LAVA lowers the case and makes one "_" of everything that is no letter or digit.
    mangled = [re.sub(r"\W+", "_", name.lower()) for name in names]
    complaints += ["%s has no name of its own in LAVA" % name for name in set(mangled)
                   if mangled.count(name) > 1]
    if len(names) < expected.load("qemu")["at_least"]:
        complaints.append("only %d checks" % len(names))
    return complaints


def gdb_entries(out):
    """A stock GDB against the server: on the host, and in the image's ring 3."""
    return [Entry("gdb.%s.%s" % (where, name),
                  [sys.executable, SYSTEM + "gdb_session.py", name, out, "@", *flags],
                  wants=["^%s: as expected$" % name], seconds=180)
            for where, cases, flags in (("host", gdb_session.CASES, ()),
                                        ("kernel", gdb_session.KERNEL_CASES, ("--kernel",)))
            for name in cases]
