# SPDX-License-Identifier: BSD-2-Clause
"""Profile a program of one's own: boot the image with it in QEMU, let the processor sample it.

profile_run.py [options] PROGRAM [ARGUMENT...]

Like trace_run.py, but instead of every branch one sample every --period instructions or
branches.  In --out: profile.wtr, the samples; profile.txt, functions by their share;
profile.folded, stacks for flame graph programs; profile.data for perf.  The status and the last
line are trace_run.py's.
"""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run, trace_run  # noqa: E402
from harness.host import judge  # noqa: E402

EVENTS = ("instructions", "branches")
MADE = (("profile", "profile.txt"), ("fold", "profile.folded"), ("perf", "profile.data"))
SHOWN = 24                  # lines of the flat profile
PERIOD_MOST = 1 << 31


def arguments(words):
    made = trace_run.parser("profile_run.py", __doc__.splitlines()[0])
    made.add_argument("--event", default="instructions", help="or branches")
    made.add_argument("--period", type=int, default=10007,
                      help="of these for each sample (default 10007, a prime, so that no loop "
                      "keeps step with it)")
    made.add_argument("--flat", action="store_true",
                      help="no stacks: an interrupt for every 16 samples")
    args = trace_run.parse(made, words)
    if args.event not in EVENTS:
        raise run.Usage("--event %s: instructions or branches" % args.event)
    if not 1 <= args.period <= PERIOD_MOST:
        raise run.Usage("--period %d: from 1 to %d" % (args.period, PERIOD_MOST))
    args.option = ["sample=" + args.event, "period=%d" % args.period,
                   "stacks=%d" % (not args.flat)] + args.option
    return args


def wtr(tool, command, out, name):
    """One of wtr's views of the samples as a file; what is wrong with it."""
    done = subprocess.run([tool, command, "-o", out / name, out / "profile.wtr"],
                          capture_output=True, text=True, errors="replace", check=False)
    return done.stderr.strip() if done.returncode else ""


def show_profile(args):
    """Writes and shows what wtr makes of it; what is wrong."""
    out, tool = Path(args.out), Path(args.image).parent / "wtr"
    if not tool.is_file():
        print("build %s to see the profile" % tool)
        return ""
    for command, name in MADE:
        wrong = wtr(tool, command, out, name)
        if wrong:
            return wrong
    lines = (out / "profile.txt").read_text().splitlines()
    print("\n".join(lines[:SHOWN]))
    if len(lines) > SHOWN:
        print("... %d more" % (len(lines) - SHOWN))
    print("results: " + " ".join(str(out / name) for _, name in MADE) + " " +
          str(out / "profile.wtr"))
    return ""


def report(args, log, ending, newest):
    """Files and summary; (status, reason)."""
    wrong = trace_run.trouble(log, ending)
    if not trace_run.fetch(args, newest, "profile.wtr") and not wrong:
        wrong = judge.ERROR, "there is no trace.wtr on the volume"
    if wrong:
        return wrong
    found = trace_run.facts(log)
    status, reason = trace_run.show_end(args, log, found)
    print("profile: %d samples in %.3f s in the program" % (
        found["samples"], found["microseconds"] / 1e6))
    wrong = show_profile(args)
    if wrong:
        return judge.ERROR, wrong
    if found["doubled"]:
        reason += "; a sample every %d %s was too many: in the end it was one every %d" % (
            found["asked"], args.event, found["period"])
    if found["dropped"]:
        reason += "; %d samples are lost: give a larger --volume" % found["dropped"]
    return status, reason


def profile(words, env):
    args = arguments(words)
    for name in ("profile.wtr",) + tuple(name for _, name in MADE):
        (Path(args.out) / name).unlink(missing_ok=True)
    return report(args, *trace_run.boot(args, env))


if __name__ == "__main__":
    trace_run.start(profile)
