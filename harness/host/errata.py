# SPDX-License-Identifier: BSD-2-Clause
"""Deviations that are published: errata by processor signature, and hypervisors by name.

A deviation stays what it is.  The table only lets a report say that it is known, and lets
profiles with "errata": true accept it.  A signature that no row names gets no allowance.
"""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

from harness.host import expected

HERE = Path(__file__).parent


KEYS = {"ids": list, "processor": str, "signatures": list, "what": str, "checks": list}


def wrong(row):
    """What makes a row unusable, or an empty text."""
    if not isinstance(row, dict):
        return "is no object"
    for key, kind in KEYS.items():
        if not isinstance(row.get(key), kind) or not row[key]:
            return "lacks " + key
    if set(row) - set(KEYS) - {"difference"}:
        return "has the unknown key " + sorted(set(row) - set(KEYS) - {"difference"})[0]
    bad = [span for span in row["signatures"]
           if not re.fullmatch(r"[0-9a-f]{3,8}(-[0-9a-f]{3,8})?", str(span))]
    return "has the signature %r, LOW-HIGH in hexadecimal is wanted" % bad[0] if bad else ""


def load(path=HERE / "errata.json"):
    """The rows of errata.json; expected.Unknown names what cannot be used."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))["errata"]
    except (ValueError, KeyError, TypeError) as error:
        raise expected.Unknown("%s is no table of errata: %s" % (path.name, error)) from error
    for number, row in enumerate(rows, 1):
        if wrong(row):
            raise expected.Unknown("%s: row %d %s" % (path.name, number, wrong(row)))
    return rows


def signature(report):
    """EAX of CPUID leaf 1 as a number; None when the report does not tell."""
    try:
        return int(str(report["identity"]["signature"]), 16)
    except (KeyError, ValueError):
        return None


def covers(row, number):
    """True when one of the row's ranges, LOW-HIGH in hexadecimal, holds the signature."""
    for span in row["signatures"]:
        low, _, high = span.partition("-")
        if int(low, 16) <= number <= int(high or low, 16):
            return True
    return False


def matches(row, number, check):
    """True when the row explains why this check failed on that processor."""
    found = check.get("evidence", {}).get("first_difference")
    return (covers(row, number) and
            any(fnmatchcase(check["name"], pattern) for pattern in row["checks"]) and
            row.get("difference") in (None, found))


def mark(report, rows=None):
    """Write `erratum` into failed checks that a row explains; how many."""
    number = signature(report)
    if number is None or report["provider"] != "native":
        return 0                        # the model has defects, not errata
    marked = 0
    for check in report["checks"]:
        check.pop("erratum", None)
        if check["verdict"] != "fail":
            continue
        known = [row for row in (load() if rows is None else rows)
                 if matches(row, number, check)]
        if known:
            ids = sorted({ident for row in known for ident in row["ids"]})
            check["erratum"] = "%s: %s" % (" ".join(ids), known[0]["what"])
            marked += 1
    return marked


def hypervisor(report):
    """What is known of the hypervisor that CPUID names; empty on a bare machine."""
    name = str(report["identity"].get("hypervisor", ""))
    if name in ("", "none"):
        return ""
    known = json.loads((HERE / "hypervisors.json").read_text())
    for key, entry in known.items():
        if key.strip() == name.strip():
            return "%s: %s" % (entry["name"], entry["bts"])
    return "%s: a name that CPUID gives and nobody here knows" % name
