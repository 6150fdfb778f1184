# SPDX-License-Identifier: BSD-2-Clause
"""What `make check` runs: one row an entry, and the verifications that look at results.

A row is a command with the status and the words it must give.  `@` in a command stands for
the entry's own folder.  To add a row, append it to the list it belongs to.  `make check` leaves
out what DEEP names; `make check-all` runs every row.
"""

import re
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from harness.dev.verify import (all_built, image_size, listed, nothing_ran, reproducible,
                                results, says, smi_reported, valid_files, whole_suite)
from harness.tests.system import (boot_session, gdb_session, linux_session, network_session,
                                  output_session, resume_session, stick_session, under_session)

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "harness/tests/system/"


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
    seconds: int = 1800         # only what hangs comes near it, on a machine far busier
    fresh: bool = True          # start with an empty folder
    deep: str = ""              # why `make check` leaves it out; "" where it does not
    cost: float = 5             # about, in seconds of processor time: the longest start first


# Pattern of names -> what `make check` runs in its place.  The first that matches counts.
DEEP = {
    "suite.long": "suite.model, with the short counts",
    "suite.native": "suite.nosvm, which skips the same",
    "suite.hypervisor": "suite.nosvm, which skips the same",
    "suite.cpu.*": "suite.model, on one processor model",
    "suite.pebs.[124]": "suite.pebs.0, and the default format in suite.model",
    "suite.pebs.off": "suite.nosvm, without PEBS",
    "suite.cpus4": "suite.cpus2",
    "suite.soak": "selftest.unstable, which repeats as well",
    "suite.accel": "suite.model, without the look for kvm",
    "boot.pc": "every entry on q35",
    "boot.processors": "suite.cpus2",
    "boot.kernel": "boot.kernel_usage, started the same way",
    "boot.panel": "boot.screen",
    "boot.full": "boot.read_only",
    "boot.num*": "stick.usb, which looks at its folder's number",
    "boot.name_taken": "boot.read_only",
    "boot.cfg_[bfl]*": "boot.cfg_utf16",
    "stick.fills_up": "boot.read_only",
    "stick.pulled_out": "boot.read_only",
    "stick.secure_boot": "stick.usb, unsigned",
    "output.wrong_port": "output.two_ports",
    "output.acpi_port": "output.acpi_dbg2",
    "output.acpi_dbg2_broken": "output.acpi_dbg2",
    "output.acpi_none": "output.acpi_dbg2",
    "output.machine_file": "suite.model, whose report has the same registers",
    "resume.no_volume_button": "resume.no_volume and resume.power_cut",
    "resume.from_network": "resume.no_volume, with the same variable",
    "resume.any_moment": "resume.power_cut",
    "resume.reset_button": "resume.power_cut",
    "resume.triple": "resume.power_cut; selftest.triple for the runner",
    "resume.other_selection": "host.journal",
    "resume.switched_off": "host.journal",
    "resume.gate": "resume.first_record",
    "resume.soak": "resume.power_cut",
    "network.pxe_*": "network.pxe",
    "network.card_program": "network.pxe",
    "network.http_*": "network.http",
    "labs.l*": "labs.ci_examples",
    "labs.kernelci": "labs.ci_examples",
    "selftest.leak": "selftest.error",
    "selftest.corrupt": "python.wire",
    "selftest.first": "resume.first_record",
    "selftest.soak": "selftest.hang",
    "usage.[bgrosv]*": "usage.pattern, and host.options for each value",
    "fuzz.not-taken-recorded": "fuzz.indirect-lost",
    "fuzz.one-in-4096-lost": "fuzz.indirect-lost",
    "mutants*": "trial.defects: the model's own list of defects",
    "under.suite": "under.defect, a few of its checks",
    "under.[wgent]*": "under.defect",
    "trace.programs": "trace.few, three of its thirteen",
    "trace.f[iu]*": "host.elf, the loader alone",
    "programs.[rap]*": "programs.served, with the same calls",
    "trace.avx": "trace.few, whose second program faults",
    "profile.split": "profile.small",
    "profile.flat": "profile.small",
    "gdb.host.[eou]*": "gdb.host.history",
    "gdb.kernel.[eloustn]*": "gdb.host.line and the like, with the same server",
    "linux.[js]*": "linux.words, which traces nothing",
    "vectors.perf": "vectors.same",
    "vectors.lcov": "vectors.same",
    "vectors.image": "trace.few",
    "wtr.perf": "wtr.truth",
    "wtr.html": "wtr.truth, without a browser",
    "wtr.speed": "wtr.truth, without a clock",
}

# Pattern of names -> seconds of processor time, where they are far from a boot's five.
COSTS = {
    "suite.long": 900, "trace.programs": 200, "trace.files": 84, "mutants*": 120,
    "trial.policies": 60, "trial.defects": 22, "resume.reset_button": 28, "resume.triple": 22,
    "suite.cpus4": 40, "suite.cpus2": 20, "suite.cpu.*": 16, "suite.soak": 25,
    "image.reproducible": 25, "linux.[js]*": 150, "linux.words": 25,
    "trace.few": 25, "profile.*": 25, "resume.*": 10, "gdb.*": 8,
    "labs.labgrid": 10, "wtr.speed": 10, "fuzz.quick": 10, "suite.*": 9, "boot.shell": 8,
    "host.generate": 10, "host.gdb_fuzz": 6, "host.decode": 5, "host.lzma": 3, "host.*": 0.5,
    "python.run": 7, "python.entries": 5, "python.*": 1, "usage.[anp]*": 0.2,
}


def by_name(patterns, name, default):
    """What the first pattern that matches stands for."""
    return next((value for pattern, value in patterns.items() if fnmatchcase(name, pattern)),
                default)


def table(out):
    """All entries for the build in out, the longest first; last those that wait for another."""
    rows = (unit_entries(out) + style_entries(out) + suite_entries(out) +
            boot_entries(out) + selftest_entries(out) + usage_entries(out) +
            fuzz_entries(out) + trial_entries(out) + build_entries(out) + wtr_entries(out) +
            trace_entries(out) + programs_entries(out) + profile_entries(out) +
            gdb_entries(out) + vectors_entries(out) + linux_entries(out))
    for entry in rows:
        entry.deep = by_name(DEEP, entry.name, "")
        entry.cost = by_name(COSTS, entry.name, entry.cost)
    return sorted(rows, key=lambda entry: (bool(entry.after), -entry.cost))


def unit_entries(out):
    """Unit tests: C under the sanitizers, Python; a folder without any is an error."""
    rows = [Entry("host." + path.name.removeprefix("test_"), [path])
            for path in sorted((out / "host").glob("test_*")) if not path.suffix]
    rows += [Entry("python." + path.stem.removeprefix("test_"),
                   [sys.executable, "-m", "unittest", "harness.tests.unit." + path.stem])
             for path in sorted(ROOT.glob("harness/tests/unit/test_*.py"))]
    rows.append(Entry("host.all-built", verify=lambda place, log: all_built(out)))
    return rows


def style_entries(out):
    """House rules, formatting, and the installer's own claim."""
    return [
        Entry("style", [sys.executable, "harness/dev/style.py", "--out", out]),
        Entry("rooms", [sys.executable, "harness/dev/rooms.py", "--out", out],
              wants=[r"^rooms \d+, arrows \d+, cycles 0$"]),
        Entry("format", ["sh", "-c", "git ls-files -z '*.c' '*.h' | xargs -0 "
                         "clang-format --dry-run -Werror"]),
        Entry("coverage", [sys.executable, "harness/dev/coverage.py", "--out", out]),
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
        Entry("suite.model", runner(out), verify=lambda place, log: whole_suite(out, place)),
        Entry("suite.long", runner(out, "--timeout", "7000", options=["soak=1"]), seconds=7200,
              verify=lambda place, log: whole_suite(out, place)),
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
        Entry("suite.help", runner(out, options=["help=1"]), wants=[
            r"^run=GLOB\[,GLOB\]: only these checks;", r"^repeat=1\.\.1000: .*; default 1$",
            r"^status: 0 \d\d lines$"]),
        Entry("suite.list", runner(out, options=["list=1"]), wants=[
            r"^bts\.\S+ kind=must at=harness/checks/\S+\.c:\d+ clauses=[A-Z]"],
            verify=lambda place, log: listed(out, log)),
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
                  wants=["^%s: as expected$" % name])
            for group, cases in (("boot", boot_session.CASES), ("stick", stick_session.CASES),
                                 ("output", output_session.CASES),
                                 ("resume", resume_session.CASES),
                                 ("under", under_session.CASES))
            for name in cases] + [
        Entry("network." + name, [sys.executable, SYSTEM + "network_session.py", name,
                                  out, "@"],
              wants=["^(%s: as expected|SKIP: .*)$" % name])
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
                  wants=[r"^%s: (\d+) of \1 " % what])
            for what in ("defects", "policies")] + [
        Entry("mutants", [sys.executable, "harness/dev/mutants.py", "--out", "@", "--seed", "3",
                          "--count", "6"],
              wants=[r"^mutants: [4-6] of 6 killed$"]),
        Entry("mutants.ds", [sys.executable, "harness/dev/mutants.py", "--out", "@", "--files",
                             "ds", "--host", "--seed", "2", "--count", "16"],
              wants=[r"^mutants: 1[0-6] of 16 killed$"])]


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
              wants=["^harness_begin reached$"]),
        Entry("image.size", verify=lambda place, log: image_size(out)),
        Entry("image.reproducible", verify=lambda place, log: reproducible(out, place, log)),
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
            for name in ("few", "programs", "files", "full", "avx")]


def programs_entries(out):
    """Programs of C libraries and other languages, against the same file on the host."""
    return [Entry("programs." + name.replace("+", "x"),
                  [sys.executable, SYSTEM + "programs_session.py", name, out, "@"],
                  wants=["^(%s: as expected|SKIP: .*)$" % re.escape(name)])
            for name in ("served", "refused", "c", "c++", "rust", "ada", "pascal")]


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


def linux_entries(out):
    """Linux on the resident model: its driver, perf and GDB as judges."""
    return [Entry("linux." + name,
                  [sys.executable, SYSTEM + "linux_session.py", name, out, "@"],
                  wants=["^%s: as expected: .*$" % name])
            for name in linux_session.CASES]


def gdb_entries(out):
    """A stock GDB against the server: on the host, and in the image's ring 3."""
    return [Entry("gdb.%s.%s" % (where, name),
                  [sys.executable, SYSTEM + "gdb_session.py", name, out, "@", *flags],
                  wants=["^%s: as expected$" % name])
            for where, cases, flags in (("host", gdb_session.CASES, ()),
                                        ("kernel", gdb_session.KERNEL_CASES, ("--kernel",)))
            for name in cases]
