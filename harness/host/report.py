# SPDX-License-Identifier: BSD-2-Clause
"""The host's result files: report.json, report.tap, junit.xml, and the summary for a person."""

import json
import re
import xml.etree.ElementTree as ET

# What XML 1.0 cannot carry: a serial line can hold any byte.
NOT_XML = re.compile("[^\t\n\r -~]")


def clean(text):
    """Text that is safe in an XML document."""
    return NOT_XML.sub(lambda found: "\\x%02x" % ord(found[0]), str(text))


def evidence_lines(check, short=False):
    """A check's evidence as lines of text: words, then data.

    short keeps of a list only the line that the image marked with ">" and its neighbours.
    """
    evidence = check.get("evidence", {})
    lines = list(evidence.get("detail", []))
    for key in ("first_difference", "expected", "oracle", "trace", "buffer_hex"):
        value = evidence.get(key)
        if value in (None, [], ""):
            continue
        items = value if isinstance(value, list) else [value]
        items = [item if isinstance(item, str) else json.dumps(item) for item in items]
        items = [line for item in items for line in item.splitlines() if line.strip()]
        marked = [i for i, line in enumerate(items) if line.startswith(">")]
        if short:
            items = items[max(marked[0] - 1, 0):marked[0] + 2] if marked else items[:2]
        lines += ["%-16s %s" % (key + ":" if i == 0 else "", line)
                  for i, line in enumerate(items)]
    return [line.rstrip() for line in lines]


def remarks(check):
    """What the image says of a check that ran more than once, as texts for a person."""
    def words(counts):
        return ", ".join("%d %s" % (counts[key], key) for key in sorted(counts) if counts[key])

    found = []
    if check.get("unstable"):
        found.append("unstable: %s%s" % (" ".join(check["unstable"]), " (%s)" % words(
            check["runs"]) if "runs" in check else ""))
    smi = check.get("smi")
    if smi:
        aside = words(smi["set_aside"])
        found.append("%d system management interrupts came in between%s%s" % (
            smi["interrupts"], "; runs set aside: " + aside if aside else "",
            "; one came in the run that counts, too" if smi["disturbed"] else ""))
    return found


def to_json(report):
    return json.dumps(report, indent=1, ensure_ascii=True) + "\n"


def to_tap(report):
    """KTAP text with every planned check in it, also those that never came back."""
    lines = ["KTAP version 1", "1..%d" % len(report["checks"])]
    lines += ["# %s=%s" % pair for pair in report["identity"].items()]
    for number, check in enumerate(report["checks"], 1):
        lines += ["# %s: %s" % (check["name"], text)
                  for text in remarks(check) + evidence_lines(check)]
        reason = check["reason"].replace("#", "") or "no reason given"
        tail = {"skip": " # SKIP " + reason, "error": " # ERROR " + reason}
        word = "ok" if check["verdict"] in ("pass", "skip") else "not ok"
        lines.append("%s %d - %s%s" % (word, number, check["name"],
                                       tail.get(check["verdict"], "")))
    return "".join(clean(line) + "\n" for line in lines)


def testcase(suite, check):
    """One JUnit test case: the area as class, the check's last word as name."""
    area, _, last = check["name"].rpartition(".")
    case = ET.SubElement(suite, "testcase", classname=area or "waymark", name=last,
                         time="%.3f" % (check["ms"] / 1000))
    kind = {"fail": "failure", "error": "error", "skip": "skipped"}.get(check["verdict"])
    if kind:
        inner = ET.SubElement(case, kind, message=clean(check["reason"]))
        if kind != "skipped":
            inner.set("type", check["verdict"])
            inner.text = clean("\n".join(evidence_lines(check)))
    said = ["clauses: " + " ".join(check["clauses"])] if check["clauses"] else []
    said += remarks(check)
    if said:
        ET.SubElement(case, "system-out").text = clean("\n".join(said))


def to_junit(report, timestamp):
    """JUnit XML.  timestamp is the start of the run, ISO 8601 without a zone."""
    counts, host = report["counts"], report["host"]
    seconds = "%.3f" % host.get("seconds", 0)
    numbers = {"tests": str(counts["planned"]), "failures": str(counts["fail"]),
               "errors": str(counts["error"]), "skipped": str(counts["skip"]),
               "time": seconds}
    root = ET.Element("testsuites", name="waymark", **numbers)
    suite = ET.SubElement(root, "testsuite", name="waymark." + report["profile"],
                          timestamp=timestamp,
                          hostname=clean(report["identity"].get("cpu", "unknown")), **numbers)
    properties = ET.SubElement(suite, "properties")
    pairs = dict(report["identity"], run_id=report["run_id"], provider=report["provider"],
                 profile=report["profile"], verdict=report["verdict"], status=host["status"])
    for key, value in sorted(pairs.items()):
        ET.SubElement(properties, "property", name=clean(key), value=clean(value))
    for check in report["checks"]:
        testcase(suite, check)
    if host["problems"]:
        ET.SubElement(suite, "system-err").text = clean("\n".join(host["problems"]))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n%s\n' % ET.tostring(root, "unicode")


def summary(judgement, limit=22):
    """Lines for a person: every failure with its evidence, at most a screenful."""
    report = judgement.report
    bad = [c for c in report["checks"] if c["verdict"] in ("fail", "error")]
    lost = [c["name"] for c in bad if c["reason"] == "not run"]
    bad = [c for c in bad if c["reason"] != "not run"]
    bad.sort(key=lambda check: check["verdict"] != "fail")
    head = ["problem: " + text for text in judgement.problems[:4]]
    head += [text for text in judgement.notes[:4]]
    hidden = max(0, len(judgement.problems) - 4) + max(0, len(judgement.notes) - 4)
    room = max(limit - len(head) - 3, 4)
    lines = []
    for index, check in enumerate(bad):
        # A line for each comes first; what is left of the screen goes to the evidence.
        rest = len(bad) - index - 1
        own = max(room - len(lines) - 1 - rest, 0)
        lines.append("%-5s %s: %s" % (check["verdict"].upper(), check["name"],
                                      check["reason"]))
        lines += ["      " + text for text in evidence_lines(check, True)[:min(own, 9)]]
    if len(lines) > room:
        hidden += len(lines) - room + 1
        lines = lines[:room - 1]
    if hidden:
        lines.append("... and %d more lines in report.json" % hidden)
    if lost:
        lines.append("ERROR not run: %d checks, %s to %s" % (len(lost), lost[0], lost[-1]))
    return head + lines + [closing(report)]


def closing(report):
    """The line of numbers."""
    counts, host = report["counts"], report["host"]
    text = "%d planned: %d pass, %d fail, %d skip, %d error" % tuple(
        counts[key] for key in ("planned", "pass", "fail", "skip", "error"))
    times = [part for part in ("%.1f s" % host["seconds"] if "seconds" in host else "",
                               "suite %.1f s" % host["suite_seconds"]
                               if "suite_seconds" in host else "") if part]
    return "provider=%s profile=%s; %s%s" % (
        report["provider"], report["profile"], text, "; " + ", ".join(times) if times else "")
