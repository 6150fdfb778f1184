# SPDX-License-Identifier: BSD-2-Clause
"""Judge a saved run again, offline, by any profile: run.py rejudge REPORT.JSON.

What the host added the last time is taken off and made anew, so that a changed profile or a
longer table of errata speaks for old runs too.  What was observed is never changed.
"""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace

from harness import report_html, wire
from harness.host import errata, expected, judge, report, schema


class Unreadable(Exception):
    """No report of ours."""


def load(path):
    """A report.json, or the one in a folder, that fits the schema."""
    path = Path(path)
    path = path / "report.json" if path.is_dir() else path
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Unreadable("%s: %s" % (path, error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise Unreadable("%s is not a report: %s" % (path, error)) from error
    wrong = schema.errors(found, schema.report_schema())
    if wrong:
        raise Unreadable("%s is not a report: %s" % (path, wrong[0]))
    return found


def facts(found):
    """What went wrong outside the checks the last time, without that profile's own words."""
    host = found.pop("host", {})
    by_profile = "profile %s " % found["profile"]
    kept = [text for text in host.get("problems", ()) if by_profile not in text + " "]
    return host, kept


def again(found, name=None):
    """The Judgement of a report by the profile of that name, else by the report's own."""
    profile = expected.load(name or found["profile"])
    host, problems = facts(found)
    found["profile"] = profile["name"]
    for check in found["checks"]:
        check.pop("expected_verdict", None)
        check.pop("erratum", None)
    abort = wire.End(found["run_id"], {}, "abort") if found["verdict"] == "abort" else None
    log = SimpleNamespace(run=found["run_id"], end=abort)
    # Only a run that says so is known to have left nothing out.
    whole = "options" in host and not any(
        word.partition("=")[0] in ("run", "skip") for word in host["options"])
    judgement = judge.weigh(
        judge.Judgement(found, judge.PASS, "", host.get("source", "image"), problems, []),
        log, profile, whole, False)
    found["host"] = dict(host, status=judgement.status, reason=judgement.reason or "none",
                         source=judgement.source, problems=judgement.problems)
    named = errata.hypervisor(found)
    if named:
        found["host"]["hypervisor"] = named
    return judgement


def main(words, parser_class=argparse.ArgumentParser):
    """(status, reason), as run.py ends with them."""
    parser = parser_class(prog="run.py rejudge", description=__doc__.splitlines()[0])
    parser.add_argument("report", help="a report.json, or a folder that holds one")
    parser.add_argument("--profile", help="one of " + ", ".join(expected.names()))
    parser.add_argument("--out", type=Path, help="write report.json, junit.xml and so on there")
    args = parser.parse_args(words)
    judgement = again(load(args.report), args.profile)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        made = judgement.report
        for name, text in (("report.json", report.to_json(made)),
                           ("report.tap", report.to_tap(made)),
                           ("junit.xml", report.to_junit(made, "1970-01-01T00:00:00")),
                           ("report.html", report_html.page(made))):
            (args.out / name).write_text(text, encoding="utf-8", newline="\n")
    judgement.report["host"].setdefault("seconds", 0)
    for line in report.summary(judgement):
        print(line)
    return judgement.status, judgement.reason
