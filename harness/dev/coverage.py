# SPDX-License-Identifier: BSD-2-Clause
"""The clause table, the faults from the field, and the checks that name them: do they agree?

A clause has checks or a reason why it has none, not both; a check names only clauses that the
table knows; a fault from the field names only checks that exist.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(ROOT)

from harness.host import clauses  # noqa: E402

STRINGS = r'((?:"[^"]*"\s*)+)'
FIELD = re.compile(r'^FIELD\((\d+), %s,\s*"([^"]+)"\)$' % STRINGS, re.M)
CHECK = re.compile(r"\bCHECK\((\w+),(.*?)\)\n\{", re.S)


def table(path):
    """{id: reason or ""} of the clause table; ValueError when a row is not understood."""
    rows = clauses.load(path)
    found = {row.ident: row.why for row in rows}
    written = len(re.findall(r"^(?:CLAUSE|BESIDE)\(", path.read_text(), re.M))
    if len(rows) != written or len(found) != written:
        raise ValueError("%d rows, %d understood, %d different" % (
            written, len(rows), len(found)))
    for row in rows:
        if row.kind not in clauses.CLASSES:
            raise ValueError("%s: class %s" % (row.ident, row.kind))
    return found


def checks(source):
    """{name: [clause ids]} of one file of checks."""
    found = {}
    for row in CHECK.finditer(source):
        fields = dict(re.findall(r"\.(\w+) =\s*%s" % STRINGS, row[2]))
        found[clauses.text(fields.get("name", ""))] = clauses.text(
            fields.get("clauses", "")).split()
    return found


def field(source):
    """[(number, check name)] of the faults from the field."""
    found = [(int(row[1]), row[3]) for row in FIELD.finditer(source)]
    written = len(re.findall(r"^FIELD\(", source, re.M))
    if len(found) != written:
        raise ValueError("%d rows, %d understood" % (written, len(found)))
    return found


def findings(known, named, faults):
    """What does not agree, a line each."""
    covered = {clause for ids in named.values() for clause in ids}
    for name, ids in sorted(named.items()):
        for clause in ids:
            if clause not in known:
                yield "%s names %s, which is no clause" % (name, clause)
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


def tree():
    """Table, checks and faults of the sources."""
    named = {}
    for path in sorted(ROOT.glob("harness/checks/*.c")):
        named.update(checks(path.read_text()))
    return (table(clauses.FILE), named, field((ROOT / "harness/suite/field.def").read_text()))


def main():
    known, named, faults = tree()
    lines = list(findings(known, named, faults))
    counts = (len(known), sum(not reason for reason in known.values()), len(named), len(faults))
    lines_and_counts = lines + ["%d clauses, %d with a check; %d checks, %d faults" % counts]
    print("\n".join(lines_and_counts))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
