# SPDX-License-Identifier: BSD-2-Clause
"""The clause table, the faults from the field, and the checks that name them: do they agree?

A clause has checks or a reason why it has none, not both; a fault from the field names only
checks that exist. That a check names only clauses of the table is proved by the build.
"""

import argparse
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(ROOT)

from harness.host import clauses, errata  # noqa: E402


def checks(text):
    """{name: [clause ids]} of what list=1 prints, and the build in OUT/checks.txt."""
    found = {}
    for line in text.splitlines():
        words, _, ids = line.partition(" clauses=")
        found[words.split()[0]] = ids.split()
    return found


def declared(out):
    """{name: [clause ids]} of all checks of the image that was built in out."""
    return checks((out / "checks.txt").read_text())


def field(text):
    """[(number, check name)] of the faults from the field, as `facts field` prints them."""
    rows = [line.split(None, 2) for line in text.splitlines()]
    return [(int(number), name) for number, name, _ in rows]


def excused(named, patterns):
    """Patterns of published errata that match no check."""
    for pattern in patterns:
        # Transactions have no check in every build.
        if not pattern.startswith("bts.rtm.") and not any(
                fnmatchcase(name, pattern) for name in named):
            yield "an erratum names %s, which is no check" % pattern


def findings(known, named, faults):
    """What does not agree, a line each."""
    covered = {clause for ids in named.values() for clause in ids}
    for name, ids in sorted(named.items()):
        if not ids and name.startswith("bts."):
            yield "%s names no clause" % name
    for clause, reason in sorted(known.items()):
        if not reason and clause not in covered:
            yield "%s has neither a check nor a reason" % clause
        if reason and clause in covered:
            yield "%s has a reason, and a check as well" % clause
        if reason and len(reason.split()) < 4:
            yield "%s: '%s' is no reason" % (clause, reason)
    for number, name in faults:
        if name not in named:
            yield "field fault %d names %s, which is no check" % (number, name)


def tree(out):
    """Table, checks and faults of the sources that were built in out."""
    faults = subprocess.run([out / "host/facts", "field"], capture_output=True, text=True,
                            check=True).stdout
    return ({row.ident: row.why for row in clauses.load()}, declared(out), field(faults))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="the build folder")
    known, named, faults = tree(parser.parse_args().out.resolve())
    lines = list(findings(known, named, faults)) + list(excused(
        named, [pattern for row in errata.load() for pattern in row["checks"]]))
    counts = (len(known), sum(not reason for reason in known.values()), len(named), len(faults))
    print("\n".join(lines + [
        "%d clauses, %d with a check; %d checks, %d faults" % counts]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
