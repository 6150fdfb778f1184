# SPDX-License-Identifier: BSD-2-Clause
"""One run's judgement: serial log, the image's own report and the profile, weighed together.

The serial log and the report file are two accounts of the same run.  Where both are whole
they must agree; where the run broke off, the log tells how far it came and the missing checks
become errors.  Nothing here can turn a broken account into a passing one.
"""

import copy
import json
from dataclasses import dataclass, field

from harness import wire
from harness.host import errata, expected, schema

PASS, FAIL, ERROR, USAGE, SKIPPED = 0, 1, 2, 3, 77
NOT_RUN = "not run"


@dataclass
class Ending:
    """How the machine came to its end, as seen from outside."""
    kind: str = "exited"        # exited, boot, hang, time, lingered, killed
    text: str = ""              # words for a person; empty when nothing was wrong


@dataclass
class Judgement:
    """What run.py writes and prints."""
    report: dict
    status: int
    reason: str
    source: str = "image"
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def image_report(text):
    """(report, None) from the text of report.json, or (None, what is wrong with it)."""
    if text is None:
        return None, "the image left no report.json"
    try:
        report = json.loads(text)
    except ValueError as error:
        return None, "report.json cannot be read: %s" % error
    wrong = schema.errors(report, schema.report_schema())
    if wrong:
        return None, "report.json is not valid: %s%s" % (
            wrong[0], " (and %d more)" % (len(wrong) - 1) if len(wrong) > 1 else "")
    return report, None


def record(name, verdict, reason, detail=()):
    """A check's record with what a serial log can tell of it."""
    entry = {"name": name, "clauses": [], "kind": "unknown", "verdict": verdict,
             "reason": reason, "ms": 0}
    if verdict != "pass":
        entry["reason"] = reason or (detail[0] if detail else "no reason given")
        if detail:
            entry["evidence"] = {"detail": list(detail)}
    return entry


def from_log(log):
    """A report made from the serial log alone."""
    none = {"covered": 0, "total": 0}
    provider = log.identity.get("provider", "unknown")
    return {
        "format": 1, "run_id": log.run or "00000000",
        "provider": provider if provider in ("model", "native", "none") else "unknown",
        "profile": log.profile or "unknown", "identity": dict(log.identity),
        "checks": [record(r.name, r.verdict, r.reason, r.detail) for r in log.results],
        "observations": dict(log.observations), "counts": {},
        "coverage": log.coverage or {k: dict(none) for k in
                                     ("must", "software", "characterise")},
        "verdict": "error"}


def unfinished(report, log, ending):
    """Give a verdict to every planned check that has none: the one under way, and the rest."""
    known = {check["name"]: check for check in report["checks"]}
    for result in log.results:
        check = known.get(result.name)
        if check is None or check["reason"] == NOT_RUN:
            fresh = record(result.name, result.verdict, result.reason, result.detail)
            put(report, known, fresh)
    step = log.step or log.again
    if step and not any(r.name == step for r in log.results):
        reason = ending.text or log.bail or "no result"
        put(report, known, record(step, "error", reason, log.step_detail))
    for number in range(len(report["checks"]) + 1, (log.plan or 0) + 1):
        put(report, known, record("unnamed.%d" % number, "error", NOT_RUN))


def put(report, known, fresh):
    """Replace the record of that name in place, or append it."""
    old = known.get(fresh["name"])
    if old is None:
        report["checks"].append(fresh)
        known[fresh["name"]] = fresh
        return
    for key in ("verdict", "reason", "evidence"):
        if key in fresh:
            old[key] = fresh[key]


def lend_details(log, report):
    """What a check said on the wire is evidence, also where the image's file has none of it."""
    said = {result.name: result.detail for result in log.results if result.detail}
    for check in report["checks"]:
        if check["verdict"] in ("fail", "error") and check["name"] in said:
            check.setdefault("evidence", {}).setdefault("detail", said[check["name"]])


def disagreements(log, report):
    """Where the image's file and the serial log tell different stories of one run."""
    if report["run_id"] != log.run:
        yield "report.json has run_id %s, the serial log %s" % (report["run_id"], log.run)
        return
    whole = log.end and log.end.verdict != "abort"
    filed = {check["name"]: check for check in report["checks"]}
    for result in log.results:
        check = filed.pop(result.name, None)
        if check is None and whole:
            yield "%s is in the serial log and not in report.json" % result.name
        elif check and check["verdict"] != result.verdict and \
                (whole or check["reason"] != NOT_RUN):
            yield "%s is %s in the serial log and %s in report.json" % (
                result.name, result.verdict, check["verdict"])
    for name, check in filed.items():
        if check["reason"] != NOT_RUN or whole:
            yield "%s is in report.json and not in the serial log" % name
    if whole and report["counts"] != log.end.counts:
        yield "counts differ: report.json %s, end line %s" % (
            report["counts"], log.end.counts)
    if whole and report["observations"] != log.observations:
        yield "report.json and the serial log observed different things: %s" % sorted(
            set(report["observations"].items()) ^ set(log.observations.items()))[:2]
    if whole and report["verdict"] != log.end.verdict:
        yield "verdict %s in report.json, %s on the end line" % (
            report["verdict"], log.end.verdict)


def count(report):
    """Counts that add up, from the records themselves."""
    counts = {verdict: 0 for verdict in wire.VERDICTS}
    for check in report["checks"]:
        counts[check["verdict"]] += 1
    report["counts"] = {"planned": len(report["checks"]),
                        **{k: counts[k] for k in ("pass", "fail", "skip", "error")}}
    return counts


def judge(log, filed, ending, profile, whole=True, strict_skip=False):
    """The Judgement; filed is the text of the image's report.json or None."""
    if log.end and log.end.verdict == "usage":
        report = from_log(log)
        count(report)
        report["verdict"] = "usage"
        words = "; ".join(log.messages) or "bad usage, and the image did not say which"
        return Judgement(report, USAGE, words, "serial")
    # How the machine ended explains a missing end line better than its absence does.
    problems = [fault.text for fault in log.faults
                if not (fault.kind == "no-end" and ending.text)]
    if ending.text and ending.text not in problems:
        problems.insert(0, ending.text)
    if log.bail:
        problems.insert(0, "aborted: " + log.bail)
    elif log.end and log.end.verdict == "abort":
        problems.insert(0, "aborted")
    report, wrong = image_report(filed)
    notes = []
    if report:
        problems += disagreements(log, report)
        report = copy.deepcopy(report)
    else:
        report = from_log(log)
        notes.append(wrong + "; rebuilt from the serial log")
        if not problems:
            problems.append(wrong)
    if not log.end or log.end.verdict == "abort" or wrong:
        unfinished(report, log, ending)
    lend_details(log, report)
    return weigh(Judgement(report, PASS, "", "serial" if wrong else "image", problems, notes),
                 log, profile, whole, strict_skip)


def weigh(judgement, log, profile, whole, strict_skip):
    """Counts, verdict, deviations from the profile, and the status that follows."""
    report, problems = judgement.report, judgement.problems
    counts = count(report)
    report["verdict"] = wire.overall(counts)
    if report["verdict"] in ("pass", "skip") and problems:
        report["verdict"] = "error"
    if log.end and log.end.verdict == "abort" and report["verdict"] != "fail":
        report["verdict"] = "abort"
    failed = False
    if log.run and profile["provider"] and report["provider"] not in profile["provider"]:
        problems.append("provider is %s, profile %s expects %s" % (
            report["provider"], profile["name"], "/".join(profile["provider"])))
    if errata.mark(report):
        judgement.notes += ["%s fails as published: %s" % (check["name"], check["erratum"])
                            for check in report["checks"] if check.get("erratum")]
    away = expected.deviations(expected.by_provider(profile, report["provider"]),
                               report["checks"], whole)
    for check, verdict, text in away:
        if check is None:
            problems.append(text)
            continue
        check["expected_verdict"] = verdict
        failed |= check["verdict"] == "fail"
        if check["verdict"] in ("pass", "skip"):
            judgement.notes.append("not as expected: " + text)
    if not report["checks"] and not problems:
        problems.append("nothing ran")
    judgement.status, judgement.reason = status(report, failed, away, problems, profile,
                                                strict_skip)
    return judgement


def status(report, failed, away, problems, profile, strict_skip):
    """Status and reason of a run that was no bad usage."""
    counts = report["counts"]
    if failed:
        return FAIL, "%d of %d checks failed" % (counts["fail"], counts["planned"])
    if problems:
        more = " (and %d more)" % (len(problems) - 1) if len(problems) > 1 else ""
        return ERROR, problems[0] + more
    if away:
        return ERROR, "%d checks not as profile %s expects, first %s" % (
            len(away), profile["name"], away[0][2])
    if strict_skip and not counts["pass"]:
        return SKIPPED, "nothing passed, %d skipped" % counts["skip"]
    known = sum("erratum" in check for check in report["checks"])
    return PASS, "as profile %s expects%s" % (
        profile["name"], ", with %d published errata" % known if known else "")
