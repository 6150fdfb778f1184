# SPDX-License-Identifier: BSD-2-Clause
"""Boot the image once in QEMU, judge the run, write the result files, end with its status.

`run.py compare A B C...` and `run.py rejudge REPORT` look at saved runs instead.

0 as the profile expects; 1 a check failed; 2 error, not run or timed out; 3 bad usage; with
strict-skip 77 when nothing passed.  The last line says `status: N reason`.
"""

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import report_html, wire  # noqa: E402
from harness.host import (compare, errata, expected, fat, judge, lock, qemu,  # noqa: E402
                          rejudge, report)

FILES = ("report.json", "report.tap", "junit.xml", "report.html", "serial.log", "qemu.log")


class Usage(Exception):
    """The user asked for something that does not exist."""


class Arguments(argparse.ArgumentParser):
    """Bad usage must end with our status line, not argparse's."""

    def error(self, message):
        raise Usage(message)


def seconds(text):
    """A number of seconds above zero."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError("not a number of seconds: " + text)
    return value


def span(text):
    """Seconds that soak=TIME asks for; 0 for anything else, which the image judges."""
    found = re.fullmatch(r"(\d{1,6})([smh])", text)
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else 0


def arguments(words):
    parser = Arguments(prog="run.py", description=__doc__.splitlines()[0])
    budgets = qemu.Budgets()
    parser.add_argument("--image", default="out/BOOTX64.EFI", help="the EFI image to boot")
    parser.add_argument("--out", default="out", help="folder for everything that is written")
    parser.add_argument("--accel", default="tcg", choices=["auto", "tcg", "kvm"])
    parser.add_argument("--cpu", help="QEMU's -cpu (default Haswell,+svm; host with kvm)")
    parser.add_argument("--machine", default="q35", help="QEMU's -machine: q35, pc, ...")
    parser.add_argument("--profile", help="expected verdicts: " + ", ".join(expected.names()))
    parser.add_argument("--strict-skip", action="store_true",
                        help="status 77 when nothing passed")
    parser.add_argument("--boot-timeout", type=seconds, default=budgets.boot)
    parser.add_argument("--check-timeout", type=seconds,
                        help="seconds without output (default %g, with soak %g)"
                        % (budgets.check, budgets.check * 6))
    parser.add_argument("--timeout", type=seconds, default=budgets.total)
    parser.add_argument("--leave-timeout", type=seconds, default=budgets.leave,
                        help="seconds from the end line to QEMU's own end")
    parser.add_argument("--kvm-timeout", type=seconds, default=20,
                        help="seconds for kvm to reach the banner before tcg is taken")
    parser.add_argument("--debug", action="store_true", help="wait for GDB")
    parser.add_argument("--gdb-port", type=int, default=1234)
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE",
                        help="options for the image")
    return parser.parse_args(words)


class Run:
    """What the command line asks for, made concrete."""

    def __init__(self, args, env):
        self.args = args
        self.out = Path(args.out)
        self.volume = self.out / "volume.img"
        self.strict_skip = args.strict_skip
        self.options = []
        self.cpus = 1
        self.profile = args.profile
        self.whole = True
        self.listing = False
        self.soak = False
        self.soak_seconds = 0
        for word in args.options:
            self.option(word)
        self.env = env

    def option(self, word):
        """One of the image's options: all are passed on, a few mean something here too."""
        key, _, value = word.partition("=")
        if not word.isascii() or not word.isprintable() or not key:
            raise Usage("not an option: %r" % word)
        if key == "strict-skip":
            self.strict_skip = value not in ("0", "off")
            return
        if key == "profile":
            self.profile = self.profile or value
            return
        self.whole &= key not in ("run", "skip")
        self.listing |= key in ("list", "help", "bench") and value == "1"
        self.soak |= key == "soak" and value not in ("0", "off")
        if key == "soak":
            self.soak_seconds = span(value)
        if key == "cpus" and value.isdigit() and 1 <= int(value) <= 256:
            self.cpus = int(value)
        self.options.append(word)

    def budgets(self, boot=None):
        spans = qemu.Budgets()
        spans.boot = boot or self.args.boot_timeout
        spans.check = self.args.check_timeout or spans.check * (6 if self.soak else 1)
        spans.total = self.args.timeout + self.soak_seconds
        spans.leave = self.args.leave_timeout
        return spans

    def prepare(self):
        """Everything that can be found wrong before QEMU starts."""
        if not Path(self.args.image).is_file():
            raise qemu.Missing("%s does not exist: build it with make" % self.args.image)
        self.qemu = qemu.find_qemu(self.env)
        self.firmware = qemu.find_firmware(self.env)
        fat.present()
        self.out.mkdir(parents=True, exist_ok=True)
        lock.take(self.out)
        for name in FILES:
            (self.out / name).unlink(missing_ok=True)

    def machine(self, accel, gdb=None):
        """A new volume and a new QEMU on it."""
        # Made explicit, so that the banner names the profile that will judge.
        profile = ["profile=" + profile_name(self, accel)]
        # First as well as last: parsing stops at a word it cannot use, and the last one wins.
        leave = ["exit=debug"]
        fat.create(self.volume, self.args.image, leave + self.options + profile + leave)
        cpu = self.args.cpu or ("host" if accel == "kvm" else "Haswell,+svm")
        words = qemu.command(self.qemu, self.firmware, self.out, self.volume, accel, cpu,
                             self.cpus, gdb, self.args.machine)
        self.accel, self.cpu = accel, cpu
        return qemu.Machine(words, self.out / "serial.log", self.out / "qemu.log")

    def boot(self, progress):
        """Run to the end, on kvm when asked for and when it really starts."""
        if self.args.accel != "tcg":
            found = self.attempt("kvm", self.args.kvm_timeout, progress)
            if found[0].log.run:
                return found
            print("accel: kvm did not start the image (%s); using tcg" % (
                found[1].text or "no banner"))
        return self.attempt("tcg", None, progress)

    def attempt(self, accel, boot, progress):
        parser = wire.Parser()
        with self.machine(accel) as machine:
            ending = machine.watch(parser, self.budgets(boot), progress)
        parser.finish()
        self.seconds = machine.age()
        self.banner_after, self.end_after = machine.banner_after, machine.end_after
        return parser, ending


class Progress:
    """One line that is rewritten, on a terminal only."""

    def __init__(self, stream):
        self.stream = stream if stream.isatty() else None
        self.last = ""

    def __call__(self, log):
        name = log.step or (log.results[-1].name if log.results else "")
        if not self.stream or name == self.last:
            return
        self.last = name
        self.stream.write("\r\x1b[K%d/%d %s" % (len(log.results), log.plan or 0, name))
        self.stream.flush()

    def clear(self):
        if self.stream:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def profile_name(run, accel):
    """The profile in force: as asked, else by the accelerator and the number of processors."""
    emulated = "qemu-smp" if run.cpus > 1 else "qemu"
    return run.profile or (emulated if accel == "tcg" else "hardware")


def conclude(run, parser, ending, started):
    """Judge, write the files, print the summary; the judgement."""
    newest = fat.results(run.volume, run.out / "volume")
    path = newest / "report.json" if newest else None
    filed = path.read_text("utf-8-sig", "replace") if path and path.is_file() else None
    judgement = judge.judge(parser.log, filed, ending,
                            expected.load(profile_name(run, run.accel), run.args.image),
                            run.whole,
                            run.strict_skip)
    host = {"status": judgement.status, "reason": judgement.reason or "none",
            "source": judgement.source, "problems": judgement.problems, "accel": run.accel,
            "cpu": run.cpu, "machine": run.args.machine, "cpus": run.cpus,
            "options": run.options,
            "firmware": str(run.firmware.code),
            "ending": ending.kind, "seconds": round(run.seconds, 3)}
    if run.banner_after is not None:
        host["boot_seconds"] = round(run.banner_after, 3)
        if run.end_after is not None:
            host["suite_seconds"] = round(run.end_after - run.banner_after, 3)
    named = errata.hypervisor(judgement.report)
    if named:
        host["hypervisor"] = named
    judgement.report["host"] = host
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started))
    write(run.out / "report.json", report.to_json(judgement.report))
    write(run.out / "report.tap", report.to_tap(judgement.report))
    write(run.out / "junit.xml", report.to_junit(judgement.report, stamp))
    write(run.out / "report.html", report_html.page(judgement.report))
    for line in report.summary(judgement):
        print(line)
    print("results: " + " ".join(str(run.out / name) for name in FILES[:5]))
    if not any(option.startswith("prove=") for option in run.options):
        print(clauses_line(judgement.report["coverage"]))
    return judgement


def clauses_line(coverage):
    """How many clauses a check that ran has decided, all classes together."""
    return "clauses: %d of %d covered" % (sum(part["covered"] for part in coverage.values()),
                                          sum(part["total"] for part in coverage.values()))


def listing(log, ending):
    """list=1, help=1 and bench=1 print lines and judge nothing; good when they ended."""
    if log.end and log.end.verdict == "usage":
        return judge.USAGE, "; ".join(log.messages)
    for line in log.comments:
        print(re.sub("^(check|option|bench) ", "", line))
    wrong = [fault.text for fault in log.faults if fault.kind != "plan"]
    if wrong or ending.text or not log.end:
        return judge.ERROR, ending.text or wrong[0]
    return judge.PASS, "%d lines" % len(log.comments)


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="\n")


def debug(run):
    """Start QEMU stopped, with the symbols' address from a first short run."""
    parser = wire.Parser()
    with run.machine("tcg") as machine:
        machine.watch(parser, run.budgets(), until=lambda log: "image" in log.identity)
    base = parser.log.identity.get("image")
    if not base:
        raise qemu.Missing("the image did not say where it was loaded")
    elf = Path(run.args.image).with_name("waymark.elf")
    with run.machine("tcg", gdb=run.args.gdb_port) as machine:
        print("QEMU waits on port %d.  In another terminal:" % run.args.gdb_port)
        print("gdb -ex 'add-symbol-file %s -o %s' -ex 'target remote 127.0.0.1:%d'" % (
            elf, base, run.args.gdb_port))
        print("Use hbreak before the image is loaded: a software breakpoint would be "
              "overwritten.", flush=True)
        machine.watch(wire.Parser(), qemu.Budgets(None, None, None, None))
    return 0, "debugging ended"


def leave(status, reason):
    """Say how it ended and end with that, also where standard output takes no more."""
    try:
        print("status: %d %s" % (status, reason), flush=True)
    except OSError as error:
        # What is buffered would be tried again, and fail again, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            status = status or judge.ERROR
            print("status: %d standard output: %s; %s" % (status, error.strerror, reason),
                  file=sys.stderr)
    sys.exit(status)


def stop(number, frame):
    """A terminated runner must not leave its QEMU behind."""
    raise KeyboardInterrupt


def main(words, env):
    """(status, reason) of a whole run."""
    started = time.time()
    try:
        if words[:1] in (["compare"], ["rejudge"]):
            return {"compare": compare, "rejudge": rejudge}[words[0]].main(words[1:], Arguments)
        run = Run(arguments(words), env)
        if run.profile:
            expected.load(run.profile)
        run.prepare()
        if run.args.debug:
            return debug(run)
        progress = Progress(sys.stderr)
        try:
            parser, ending = run.boot(progress)
        finally:
            progress.clear()
        if run.listing:
            return listing(parser.log, ending)
        judgement = conclude(run, parser, ending, started)
        return judgement.status, judgement.reason
    except (Usage, expected.Unknown, rejudge.Unreadable) as error:
        return judge.USAGE, str(error)
    except (qemu.Missing, fat.Trouble, lock.Taken, OSError) as error:
        return judge.ERROR, str(error)
    except KeyboardInterrupt:
        return judge.ERROR, "interrupted"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    leave(*main(sys.argv[1:], os.environ))
