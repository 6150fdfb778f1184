# SPDX-License-Identifier: BSD-2-Clause
"""`make check` and `make check-all`: run entries of entries.py, two at a time, and count.

One line an entry with its seconds, on the clock and of processor time; a failing one prints
the end of its log.  Logs and result files lie in OUT/check/.  The last line is
`N passed, N failed`.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(ROOT)

from harness.dev import entries  # noqa: E402

WORKERS = 2                 # each may be a QEMU, which keeps one processor busy
TAIL_LINES = 25


def environment():
    """Ours, without what an outer make would pass on to an inner one."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    return dict(env, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")


class Check:
    """One session over a selection of entries."""

    def __init__(self, out, selected):
        self.folder = out / "check"
        self.selected = selected
        self.passed = self.failed = 0
        self.cost = {}              # entry name -> seconds of processor time
        self.running = set()        # process groups
        self.stopped = False        # what ends from now on was ended by us
        self.lock = threading.Lock()

    def run(self):
        """Everything; the number of failures."""
        self.folder.mkdir(parents=True, exist_ok=True)
        done = {entry.name: threading.Event() for entry in self.selected}
        pool = ThreadPoolExecutor(WORKERS)
        jobs = [pool.submit(self.one, entry, done) for entry in self.selected]
        try:
            for job in jobs:
                job.result()
        except KeyboardInterrupt:
            self.stopped = True
            raise
        finally:
            # After Ctrl-C nothing may stay behind: each command leads a group of its own.
            pool.shutdown(wait=False, cancel_futures=True)
            for pid in list(self.running):
                os.killpg(pid, signal.SIGKILL)
            for event in done.values():
                event.set()
        return self.failed

    def one(self, entry, done):
        """Run an entry once those before it are through, and print its line."""
        try:
            for name in entry.after:
                if name in done:
                    done[name].wait()
            started = time.monotonic()
            complaints = self.perform(entry)
            self.tell(entry, complaints, time.monotonic() - started)
        finally:
            done[entry.name].set()

    def perform(self, entry):
        """The entry's command and its verification; what is wrong, as lines."""
        place = self.folder / entry.name
        log = place.with_name(entry.name + ".log")
        if entry.fresh:
            shutil.rmtree(place, ignore_errors=True)
        place.mkdir(exist_ok=True)
        complaints = []
        with open(log, "w", encoding="utf-8", errors="replace") as stream:
            try:
                complaints += self.command(entry, place, stream)
                if not complaints and entry.verify:
                    complaints += entry.verify(place, log)
            except (OSError, ValueError, KeyError, AttributeError) as error:
                complaints.append("%s: %s" % (type(error).__name__, error))
            stream.write("".join("check: %s\n" % text for text in complaints))
        return complaints

    def command(self, entry, place, stream):
        """Run the command; complaints about its status and what it did not say."""
        if not entry.command:
            return []
        words = [str(word).replace("@", str(place)) for word in entry.command]
        stream.write("$ %s\n" % " ".join(words))
        stream.flush()
        status = self.spend(entry, subprocess.Popen(
            words, cwd=ROOT, env={**environment(), **entry.env}, stdin=subprocess.DEVNULL,
            stdout=stream, stderr=subprocess.STDOUT, start_new_session=True))
        if status is None:
            return ["not done after %d s" % entry.seconds]
        text = Path(stream.name).read_text(errors="replace")
        complaints = ["does not say '%s'" % want for want in entry.wants
                      if not re.search(want, text, re.M)]
        if status != entry.status:
            complaints.insert(0, "status %d, expected %d" % (status, entry.status))
        return complaints

    def spend(self, entry, process):
        """Wait for the process; its status, or None when its time was up.

        It leads a process group, so that its QEMU ends with it.  What it and its children
        used of the processor is what it costs on any machine, however busy.
        """
        late = threading.Event()

        def stop():
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(entry.seconds, stop)
        timer.start()
        self.running.add(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        self.running.discard(process.pid)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.cost[entry.name] = usage.ru_utime + usage.ru_stime
        return None if late.is_set() else process.returncode

    def tell(self, entry, complaints, seconds):
        log = self.folder / (entry.name + ".log")
        if self.stopped:
            return
        with self.lock:
            self.passed += not complaints
            self.failed += bool(complaints)
            print("%-4s %6.1f s %6.1f s  %s" % ("FAIL" if complaints else "ok", seconds,
                                               self.cost.get(entry.name, 0), entry.name))
            if complaints:
                lines = log.read_text(errors="replace").splitlines()
                print("     " + "\n     ".join(lines[-TAIL_LINES:]))
                print("     log: %s" % log)
            sys.stdout.flush()


def select(table, patterns):
    """The entries that match one of the patterns, and those that they come after."""
    names = {entry.name: entry for entry in table}
    wanted, new = set(), {name for name in names
                          if any(fnmatchcase(name, pattern) for pattern in patterns)}
    while new:
        wanted |= new
        new = {before for name in new for before in names[name].after} - wanted
    return [entry for entry in table if entry.name in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the build folder")
    parser.add_argument("--only", default="", help="patterns of entry names, commas between")
    parser.add_argument("--all", action="store_true", help="also what takes long")
    parser.add_argument("--list", action="store_true",
                        help="print the entries and what `make check` leaves out; run none")
    args = parser.parse_args()
    out = args.out.resolve()
    table = entries.table(out)
    selected = select(table, re.split("[, ]+", args.only or "*"))
    if args.list:
        for entry in selected:
            print("%-28s %s" % (entry.name, "check-all; check has " + entry.deep
                                if entry.deep else "check"))
        return 0
    if not args.all and not args.only:
        selected = [entry for entry in selected if not entry.deep]
    if not selected:
        print("no entry matches %s" % args.only)
    started = time.monotonic()
    session = Check(out, selected)
    try:
        session.run()
    except KeyboardInterrupt:
        print("interrupted")
        session.failed += 1
    print("%.0f s, logs in %s" % (time.monotonic() - started, session.folder))
    print("%d passed, %d failed" % (session.passed, session.failed or int(not selected)))
    return 1 if session.failed or not selected else 0


def stop(number, frame):
    """A terminated check must not leave its QEMUs behind."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(main())
