# SPDX-License-Identifier: BSD-2-Clause
"""Programs sampled for real in QEMU: the profile against the exact counts of single steps, its
stacks against the exact ones, and what is said of a period that is too small.

profile_session.py split|flat|small BUILD-FOLDER OWN-FOLDER [SAMPLES]
"""

import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.tests.fakes import wtr_file  # noqa: E402

PERIOD = 397                # prime
PARTS = {"seventy": 70, "twenty": 20, "ten": 10}
POINTS = 2                  # that a share may differ by
ROUND = 6035                # instructions of one round of the program, about


class Session:
    """Where things are, and what went wrong so far."""

    def __init__(self, out, place):
        self.out, self.place = Path(out), Path(place)
        self.place.mkdir(parents=True, exist_ok=True)
        self.program = self.out / "programs/split"
        self.complaints = []

    def expect(self, good, text):
        if not good:
            self.complaints.append(text)

    def wtr(self, *words):
        return subprocess.run([self.out / "wtr", *words], capture_output=True, text=True,
                              check=True).stdout

    def profile(self, rounds, *options):
        """Sample the program; what the runner said."""
        done = subprocess.run(
            [sys.executable, ROOT / "harness/profile_run.py", "--image",
             self.out / "BOOTX64.EFI", "--out", self.place, *options, self.program, "--",
             str(rounds)], capture_output=True, text=True, errors="replace", timeout=9000,
            check=False)
        self.expect(done.returncode == 0, "status %d: %s" % (done.returncode, done.stdout))
        return done.stdout

    def exact(self, rounds):
        """Instructions of each stack, from every branch of the same program on the host."""
        trace = self.place / "split.ptrace.wtr"
        subprocess.run([self.out / "host/record_ptrace", "-o", trace, self.program,
                        str(rounds)], stdout=subprocess.DEVNULL, check=True)
        return folded(self.wtr("fold", "--weight", "instructions", trace))


def folded(text):
    """{stack: weight} of folded lines."""
    rows = (line.rpartition(" ") for line in text.splitlines())
    return {stack: int(weight) for stack, _, weight in rows}


def shares(stacks):
    """Percent of each function, without its callees."""
    functions = Counter()
    for stack, weight in stacks.items():
        functions[stack.split(";")[-1]] += weight
    return {name: 100 * weight / functions.total() for name, weight in functions.items()}


def compare(session, got, exact, what):
    """The largest difference of a share, in points."""
    worst = max(abs(got.get(name, 0) - exact.get(name, 0)) for name in set(got) | set(exact))
    session.expect(worst <= POINTS, "%s: %.2f points apart: %r, exactly %r" % (
        what, worst, got, exact))
    for name, part in PARTS.items():
        session.expect(abs(got.get(name, 0) - part) <= POINTS, "%s: %s has %.2f%%" % (
            what, name, got.get(name, 0)))
    return worst


def perf_shares(session):
    """What stock perf says of the same samples; None without perf."""
    if not shutil.which("perf"):
        return None
    done = subprocess.run(["perf", "report", "-i", session.place / "profile.data", "--stdio",
                           "--no-children", "-g", "none"], capture_output=True, text=True,
                          check=False)
    rows = re.findall(r"^ +([\d.]+)% +\S+ +\S+ +\[\.\] (\S+)", done.stdout, re.M)
    return {name: float(share) for share, name in rows}


def split(session, samples=1000):
    """Shares and stacks, by instructions, with an interrupt for every sample."""
    rounds = -(-samples * PERIOD // ROUND)
    said = session.profile(rounds, "--period", str(PERIOD))
    exact = session.exact(rounds)
    taken = list(wtr_file.samples((session.place / "profile.wtr").read_bytes()))
    total = sum(exact.values())
    session.expect(abs(sum(period for _, period, _, _ in taken) - total) < 2 * taken[-1][1],
                   "the samples stand for another number of instructions")
    session.expect(len(taken) >= samples - 1 or "too many" in said, "%d samples" % len(taken))
    stacks = folded((session.place / "profile.folded").read_text())
    worst = compare(session, shares(stacks), shares(exact), "profile")
    strange = {stack: weight for stack, weight in stacks.items() if stack not in exact}
    session.expect(not strange, "stacks that never were: %r" % strange)
    seen = perf_shares(session)
    if seen is not None:
        compare(session, seen, shares(exact), "perf")
    return "%d samples, at most %.2f points from the exact shares, %d stacks%s" % (
        len(taken), worst, len(stacks), "" if seen is not None else ", no perf")


def flat(session, *_):
    """By branches, several samples an interrupt, in adaptive records."""
    said = session.profile(20, "--flat", "--event", "branches", "--period", "11", "--option",
                           "pebs=4")
    taken = list(wtr_file.samples((session.place / "profile.wtr").read_bytes()))
    session.expect(not any(chain for _, _, chain, _ in taken), "a stack where none was wanted")
    session.expect("branches" in said and len(taken) > 1000, said)
    compare(session, shares(folded((session.place / "profile.folded").read_text())), PARTS,
            "branches")
    return "%d samples" % len(taken)


def small(session, *_):
    """A period below the least there is: raised, and said so. Records without eventing IP."""
    said = session.profile(1, "--period", "1", "--option", "pebs=1")
    data = (session.place / "profile.wtr").read_bytes()
    body = next(body for kind, _, _, body, _ in wtr_file.read(data) if kind == "sampling")
    asked, period, samples, skipped, dropped, _, doubled = struct.unpack("<QQQQQII", body)
    session.expect(asked == 1 and period >= 2 and doubled >= 1 and dropped == 0, repr(body))
    session.expect(skipped == sum(p - 1 for _, p, _, _ in wtr_file.samples(data)),
                   "%d samples are said to be skipped" % skipped)
    session.expect("was too many: in the end it was one every %d" % period in said and
                   "throttled: in the end one every %d; %d samples fewer" % (period, skipped)
                   in said, said)
    bad = bad_usage(session)
    return "%d samples, one every %d in the end; %d bad usages" % (samples, period, bad)


def bad_usage(session):
    """One line each, and status 3."""
    cases = (["--period", "0"], ["--period", str(1 << 32)], ["--event", "cycles"])
    for words in cases:
        done = subprocess.run(
            [sys.executable, ROOT / "harness/profile_run.py", "--image",
             session.out / "BOOTX64.EFI", "--out", session.place, *words, session.program],
            capture_output=True, text=True, timeout=600, check=False)
        session.expect(done.returncode == 3 and words[0] in done.stdout,
                       "%r: %d %s" % (words, done.returncode, done.stdout))
    return len(cases)


def main():
    what, out, place = sys.argv[1:4]
    session = Session(out, place)
    said = {"split": split, "flat": flat, "small": small}[what](
        session, *[int(word) for word in sys.argv[4:]])
    for line in session.complaints:
        print(line)
    print("%s: %s" % (what, "%d wrong" % len(session.complaints) if session.complaints
                      else "as expected: " + said))
    return 1 if session.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
