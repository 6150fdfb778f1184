# SPDX-License-Identifier: BSD-2-Clause
"""`make check`: runs the entries of entries.py, two at a time, and counts.

One line an entry with its seconds; a failing one prints the end of its log.  Logs and result
files lie in OUT/check/.  The last line is `N passed, N failed`.
"""

import argparse
import os
import re
import shutil
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
        self.good = {}              # entry name -> Event and whether it passed
        self.lock = threading.Lock()

    def run(self):
        """Everything; the number of failures."""
        self.folder.mkdir(parents=True, exist_ok=True)
        done = {entry.name: threading.Event() for entry in self.selected}
        with ThreadPoolExecutor(WORKERS) as pool:
            jobs = [pool.submit(self.one, entry, done) for entry in self.selected]
        for job in jobs:
            job.result()
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
        try:
            done = subprocess.run(words, cwd=ROOT, env={**environment(), **entry.env},
                                  stdin=subprocess.DEVNULL, stdout=stream,
                                  stderr=subprocess.STDOUT, timeout=entry.seconds,
                                  check=False)
        except subprocess.TimeoutExpired:
            return ["not done after %d s" % entry.seconds]
        text = Path(stream.name).read_text(errors="replace")
        complaints = ["does not say '%s'" % want for want in entry.wants
                      if not re.search(want, text, re.M)]
        if done.returncode != entry.status:
            complaints.insert(0, "status %d, expected %d" % (done.returncode, entry.status))
        return complaints

    def tell(self, entry, complaints, seconds):
        log = self.folder / (entry.name + ".log")
        with self.lock:
            self.passed += not complaints
            self.failed += bool(complaints)
            print("%-4s %6.1f s  %s" % ("FAIL" if complaints else "ok", seconds, entry.name))
            if complaints:
                lines = log.read_text(errors="replace").splitlines()
                print("     " + "\n     ".join(lines[-TAIL_LINES:]))
                print("     log: %s" % log)
            sys.stdout.flush()


def select(table, pattern):
    """The entries that match, and those that they come after."""
    names = {entry.name: entry for entry in table}
    wanted, new = set(), {name for name in names if fnmatchcase(name, pattern)}
    while new:
        wanted |= new
        new = {before for name in new for before in names[name].after} - wanted
    return [entry for entry in table if entry.name in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the build folder")
    parser.add_argument("--only", default="*", help="pattern of entry names")
    parser.add_argument("--list", action="store_true", help="print the entries, run none")
    args = parser.parse_args()
    out = args.out.resolve()
    selected = select(entries.table(out), args.only)
    if args.list:
        print("\n".join(entry.name for entry in selected))
        return 0
    if not selected:
        print("no entry matches %s" % args.only)
    started = time.monotonic()
    session = Check(out, selected)
    session.run()
    print("%.0f s, logs in %s" % (time.monotonic() - started, session.folder))
    print("%d passed, %d failed" % (session.passed, session.failed or int(not selected)))
    return 1 if session.failed or not selected else 0


if __name__ == "__main__":
    sys.exit(main())
