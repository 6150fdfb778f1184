# SPDX-License-Identifier: BSD-2-Clause
"""report.json as a submission to KernelCI's common database (KCIDB), I/O schema 4.0.

kcidb.py --origin LAB REPORT.JSON prints JSON for `kcidb-submit`.  One test a check, its dotted
name below `waymark`; the run itself is the test `waymark`.
"""

import argparse
import json
import re
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from harness.host import rejudge, report  # noqa: E402

EXCERPT_MAX = 16384
STATUS = {"pass": "PASS", "fail": "FAIL", "error": "ERROR", "abort": "ERROR", "usage": "ERROR",
          "skip": "SKIP"}


def identifier(*words):
    """A part of an id that no reader has trouble with."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", "-".join(map(str, words)))


def test(found, origin, build, name, verdict, check=None):
    """One test object."""
    identity = found["identity"]
    made = {"id": "%s:%s" % (origin, identifier(found["run_id"], name)), "origin": origin,
            "build_id": build, "path": name, "status": STATUS[verdict],
            "environment": {"comment": "%s, provider %s" % (
                identity.get("cpu", "unknown"), found["provider"]), "misc": identity}}
    if check is None:
        made["misc"] = {"observations": found["observations"], "profile": found["profile"]}
        return made
    made["duration"] = check["ms"] / 1000
    made["misc"] = {"kind": check["kind"], "clauses": check["clauses"]}
    for key in ("reason", "erratum"):
        if check.get(key):
            made["misc"][key] = check[key]
    lines = "\n".join(report.evidence_lines(check))
    if lines:
        made["log_excerpt"] = lines[:EXCERPT_MAX]
    return made


def export(found, origin):
    """The submission as a dictionary."""
    version = str(found["identity"].get("version", "unknown"))
    checkout = "%s:%s" % (origin, identifier("waymark", version))
    build = checkout + "-x86_64"
    tests = [test(found, origin, build, "waymark", found["verdict"])]
    tests += [test(found, origin, build, "waymark." + check["name"], check["verdict"], check)
              for check in found["checks"]]
    return {"version": {"major": 4, "minor": 0},
            "checkouts": [{"id": checkout, "origin": origin, "tree_name": "waymark",
                           "git_commit_name": version, "valid": True}],
            "builds": [{"id": build, "checkout_id": checkout, "origin": origin,
                        "architecture": "x86_64", "valid": True}],
            "tests": tests}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", help="a report.json, or a folder that holds one")
    parser.add_argument("--origin", required=True, help="your lab's name: letters, digits, _")
    args = parser.parse_args()
    try:
        if not re.fullmatch("[a-z0-9_]+", args.origin):
            raise rejudge.Unreadable("--origin is made of a-z, 0-9 and _")
        print(json.dumps(export(rejudge.load(args.report), args.origin), indent=1))
    except rejudge.Unreadable as error:
        print("kcidb: %s" % error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
