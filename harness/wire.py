# SPDX-License-Identifier: BSD-2-Clause
"""The serial log: what each line means, and every way in which a log can be wrong.

A log is bytes.  Parser.feed() takes them as they arrive and understands whole lines only, so
a log that was cut never gains a line it did not have; Parser.finish() returns the Log with
the list of its faults.  A run may be called good only if that list is empty.
Importing this module does nothing, so that a lab's own scripts can use it as it is.
"""

import re
from dataclasses import dataclass, field

from harness.host import capture

LINE_LIMIT = 200
VERDICTS = ("pass", "skip", "error", "fail")
NAME = r"[a-z0-9._-]+"

BANNER = re.compile(r"waymark format=(\d+) run=([0-9A-F]{8}) profile=(%s)$" % NAME)
END = re.compile(
    r"^# waymark end run=([0-9A-F]{8}) planned=(\d+) pass=(\d+) fail=(\d+) skip=(\d+)"
    r" error=(\d+) verdict=(pass|fail|error|skip|usage|abort)$")
MESSAGE = re.compile(r"^waymark: (.+)$")
PLAN = re.compile(r"^1\.\.(\d+)$")
RESULT = re.compile(r"^(ok|not ok) (\d+) - ([^\s#]+)(?: # (SKIP|ERROR)(?: (.*))?)?$")
IDENTITY = re.compile(r"^# (%s)=(.*)$" % NAME)
OBSERVE = re.compile(r"^# observe (%s)=(.*)$" % NAME)
COVERAGE = re.compile(r"^# coverage must=(\d+)/(\d+) software=(\d+)/(\d+)"
                      r" characterise=(\d+)/(\d+)$")
LAVA = re.compile(r"^<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=\S+ RESULT=(pass|fail|skip|unknown)"
                  r"(?: MEASUREMENT=\S+ UNITS=\S+)?>$")

# Without these a result cannot be attributed to a machine and a build.
IDENTITY_KEYS = ("version", "provider", "cpu", "family", "model", "stepping",
                 "microcode", "hypervisor", "apic", "firmware")


@dataclass
class Fault:
    """One thing wrong with a log: a stable kind, and words for a person."""
    kind: str
    text: str


@dataclass
class Result:
    """One result line with what was said while its check ran."""
    number: int
    name: str
    verdict: str
    reason: str = ""
    group: str = ""
    detail: list = field(default_factory=list)


@dataclass
class End:
    """The counts and the verdict word of an end line."""
    run: str
    counts: dict
    verdict: str


@dataclass
class Log:
    """Everything a serial log says."""
    format: int = 0
    run: str = ""
    profile: str = ""
    identity: dict = field(default_factory=dict)
    ktap: bool = False
    plan: int = None
    group: str = ""
    step: str = ""              # the check that has begun and has no result yet
    step_detail: list = field(default_factory=list)
    again: str = ""             # the same in a pass of soak=TIME that prints no results
    results: list = field(default_factory=list)
    observations: dict = field(default_factory=dict)
    coverage: dict = None
    comments: list = field(default_factory=list)
    messages: list = field(default_factory=list)
    foreign: list = field(default_factory=list)     # lines that somebody else wrote
    bail: str = ""
    end: End = None
    faults: list = field(default_factory=list)

    def count(self):
        """The four counts, as the result lines have them."""
        counts = {verdict: 0 for verdict in VERDICTS}
        for result in self.results:
            counts[result.verdict] += 1
        return counts

    def verdict(self):
        """The run's verdict as its result lines give it, whatever the end line says."""
        return overall(self.count())

    def has(self, kind):
        return any(fault.kind == kind for fault in self.faults)


def overall(counts):
    """The rule for a whole run: fail, else error, else pass; skip only if nothing passed."""
    for verdict in ("fail", "error", "pass"):
        if counts[verdict]:
            return verdict
    return "skip"


def shown(raw):
    """Bytes of a line for a person to read, on one line and without control characters."""
    text = "".join(chr(b) if 32 <= b < 127 else "\\x%02x" % b for b in raw[:100])
    return text + ("..." if len(raw) > 100 else "")


class Parser:
    """Takes a log in pieces of any size."""

    def __init__(self):
        self.log = Log()
        self.rest = b""
        self.prefix = None      # what a capture puts before each line

    def feed(self, data):
        """Understand every line that is now complete."""
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            self.line(capture.bare(line))

    def fault(self, kind, text):
        self.log.faults.append(Fault(kind, text))

    def line(self, raw):
        """One complete line, its line end removed."""
        log = self.log
        text = capture.without(self.prefix, raw.decode("latin-1"))
        raw = text.encode("latin-1")
        banner = BANNER.search(text)
        if banner:
            self.prefix = self.prefix or capture.prefix_before(text, banner.start())
            self.banner(banner)
        elif not log.run:
            # The firmware's own output, or an image that could not even begin.
            log.messages += MESSAGE.findall(text)
        elif log.end:
            self.after_end(text, raw)
        elif len(raw) > LINE_LIMIT or not all(32 <= b < 127 for b in raw):
            self.other(text, raw)
        elif text:
            self.known(text, raw)

    def other(self, text, raw):
        """No line of ours: somebody else's, or one of ours that was damaged."""
        if capture.is_foreign(text):
            self.log.foreign.append(shown(raw))
        else:
            self.fault("broken-line", "broken line: " + shown(raw))

    def banner(self, found):
        log = self.log
        if log.run:
            where = " in " + log.step if log.step else ""
            self.fault("second-banner", "the machine started again%s: second banner" % where)
            return
        log.format, log.run, log.profile = int(found[1]), found[2], found[3]
        if log.format != 1:
            self.fault("format", "log format %d is not known here" % log.format)

    def after_end(self, text, raw):
        """Only the firmware may speak after the end line."""
        if END.match(text):
            self.fault("two-ends", "a second end line")
        elif text.startswith("# ") or RESULT.match(text) or MESSAGE.match(text):
            self.fault("after-end", "output after the end line: " + shown(raw))

    def known(self, text, raw):
        """A line between banner and end."""
        log = self.log
        if END.match(text):
            self.end(END.match(text))
        elif text.startswith("# "):
            self.comment(text)
        elif RESULT.match(text):
            self.result(RESULT.match(text))
        elif text == "KTAP version 1" and not log.ktap:
            log.ktap = True
        elif PLAN.match(text):
            self.plan(int(text[3:]))
        elif text.startswith("Bail out!"):
            log.bail = text[9:].strip() or "no reason given"
        elif MESSAGE.match(text):
            log.messages.append(MESSAGE.match(text)[1])
        elif not LAVA.match(text) and text != "#":
            self.other(text, raw)

    def comment(self, text):
        log = self.log
        coverage = COVERAGE.match(text)
        if text.startswith("# step "):
            self.step(text[7:])
        elif text.startswith("# again "):
            log.again = text[8:]
        elif text.startswith("# group "):
            log.group = text[8:]
        elif OBSERVE.match(text):
            found = OBSERVE.match(text)
            log.observations[found[1]] = found[2]
        elif coverage:
            n = [int(x) for x in coverage.groups()]
            log.coverage = {key: {"covered": n[2 * i], "total": n[2 * i + 1]}
                            for i, key in enumerate(("must", "software", "characterise"))}
        elif log.step:
            own = "# %s: " % log.step
            log.step_detail.append(text[len(own):] if text.startswith(own) else text[2:])
        elif not log.ktap and IDENTITY.match(text):
            found = IDENTITY.match(text)
            log.identity[found[1]] = found[2]
        else:
            log.comments.append(text[2:])

    def step(self, name):
        log = self.log
        if log.step:
            self.fault("step", "%s has no result line" % log.step)
        if not re.fullmatch(NAME, name):
            self.fault("name", "not a check's name: " + name)
        log.step, log.step_detail, log.again = name, [], ""

    def plan(self, count):
        log = self.log
        if log.plan is not None:
            self.fault("plan", "a second plan")
        elif not log.ktap or log.results:
            self.fault("plan", "the plan is not at the start")
        log.plan = count if log.plan is None else log.plan

    def result(self, found):
        """A result line, checked against the step before it and the numbers so far."""
        log = self.log
        word, number, name, directive, reason = found.groups()
        verdict = {None: "pass" if word == "ok" else "fail",
                   "SKIP": "skip", "ERROR": "error"}[directive]
        if (directive == "SKIP") != (word == "ok") and directive:
            self.fault("directive", "%s %s cannot carry %s" % (word, number, directive))
        if directive and not (reason or "").strip():
            self.fault("reason", "%s: %s without a reason" % (name, verdict))
        if int(number) != len(log.results) + 1:
            self.fault("number", "result number %s where %d was due (%s)"
                       % (number, len(log.results) + 1, name))
        if not re.fullmatch(NAME, name):
            self.fault("name", "not a check's name: " + name)
        if any(name == other.name for other in log.results):
            self.fault("duplicate", "%s has two result lines" % name)
        if log.step != name:
            self.fault("step", "result of %s while %s was announced"
                       % (name, log.step or "nothing"))
        log.results.append(Result(int(number), name, verdict, (reason or "").strip(),
                                  log.group, log.step_detail))
        log.step, log.step_detail = "", []

    def end(self, found):
        words = found.groups()
        counts = dict(zip(("planned", "pass", "fail", "skip", "error"), map(int, words[1:6])))
        self.log.end = End(words[0], counts, words[6])

    def finish(self):
        """No more bytes will come: the whole-log rules."""
        log = self.log
        if not log.run:
            self.fault("no-banner", "no banner: %s" % (
                "; ".join(log.messages) or "the image did not start"))
        elif not log.end:
            if self.rest:
                self.fault("cut", "the log stops inside a line: " + shown(self.rest))
            self.fault("no-end", "no end line" + (" (in %s)" % log.step if log.step else ""))
        else:
            self.closing()
        return log

    def closing(self):
        """What the end line must agree with."""
        log = self.log
        end = log.end
        if end.run != log.run:
            self.fault("run-id", "banner has run=%s, end line run=%s" % (log.run, end.run))
        if end.verdict == "usage":
            if log.plan is not None or log.results or end.counts["planned"]:
                self.fault("plan", "verdict usage, yet checks were planned or ran")
            return
        missing = [key for key in IDENTITY_KEYS if key not in log.identity]
        if missing:
            self.fault("identity", "identity lacks " + ", ".join(missing))
        if log.plan is None:
            self.fault("plan", "no plan")
        if end.verdict == "abort":
            return                      # a run that stopped early has no sum to keep
        if log.step:
            self.fault("step", "%s has no result line" % log.step)
        if log.bail:
            self.fault("verdict", "Bail out! but the verdict is " + end.verdict)
        self.sums()

    def sums(self):
        log = self.log
        counts = log.count()
        stated = log.end.counts
        if log.plan is not None and log.plan != len(log.results):
            self.fault("plan", "planned %d, %d results" % (log.plan, len(log.results)))
        if log.plan is not None and log.plan != stated["planned"]:
            self.fault("plan", "plan says %d, end line %d" % (log.plan, stated["planned"]))
        if any(stated[key] != counts[key] for key in counts) \
                or stated["planned"] != sum(stated[key] for key in counts):
            self.fault("arithmetic", "the end line's counts do not add up: stated %s, seen %s"
                       % (stated, counts))
        if log.end.verdict != log.verdict():
            self.fault("verdict", "end line says %s, the results say %s"
                       % (log.end.verdict, log.verdict()))


def boots(data):
    """A Log for each banner of a capture in which the machine started more than once."""
    # From the beginning of its line on: what stands there before each line belongs to it.
    starts = [data.rfind(b"\n", 0, found.start()) + 1
              for found in re.finditer(rb"waymark format=\d+ run=", data)]
    ends = starts[1:] + [len(data)]
    return [parse(data[start:end]) for start, end in zip(starts, ends)]


def parse(data):
    """The Log of a whole capture."""
    parser = Parser()
    parser.feed(data)
    return parser.finish()
