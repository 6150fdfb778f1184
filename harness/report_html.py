# SPDX-License-Identifier: BSD-2-Clause
"""report.html: one self-contained page made from any report.json.

Style and script lie beside this file and are put into the page.  The page asks for nothing
from anywhere and says so in its content security policy: a report may come from a stranger.
"""

import argparse
import json
import sys
from html import escape
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness.host import clauses, schema  # noqa: E402
from harness.host.report import remarks  # noqa: E402

HERE = Path(__file__).parent / "host"
VERDICTS = ("fail", "error", "pass", "skip")
# Not by colour alone: each verdict has a mark of its own.
MARKS = {"pass": "&#10003;", "fail": "&#10007;", "error": "!", "skip": "&#8211;",
         "none": "&#183;"}
KINDS = {"must": "Must: rules for the processor",
         "software": "Software: rules for whoever programs it",
         "characterise": "Characterise: open questions, answered by the fingerprint"}
SLOWEST = 15
UNFOLDED = 6                    # failures that are shown whole at once
EVIDENCE = (("expected", "Expected"), ("oracle", "Step oracle"), ("trace", "Trace"))


def element(name, body="", **attributes):
    """<name attributes>body</name>; body is markup, attribute values are text."""
    words = "".join(' %s="%s"' % (key.rstrip("_").replace("_", "-"), escape(str(value)))
                    for key, value in attributes.items() if value is not None)
    return "<%s%s>%s</%s>" % (name, words, body, name)


def tag(verdict, word=None):
    return element("span", "%s %s" % (MARKS[verdict], escape(word or verdict)),
                   class_="tag " + verdict)


def link(check):
    """The name of a check, leading to its row."""
    return element("a", escape(check["name"]), class_="name", href="#check-" + check["name"])


def clause_links(idents):
    return " ".join(element("a", escape(ident), href="#clause-" + ident) for ident in idents)


def pairs(items, extra=""):
    """A list of names and values in as many columns as fit."""
    rows = "".join(element("div", element("dt", escape(str(key))) +
                           element("dd", escape(str(value)), class_="name"))
                   for key, value in items)
    return element("dl", rows, class_="pairs" + extra)


# --- the parts of the page, from the top

def top(report):
    """The verdict, beside what it is about."""
    counts, host = report["counts"], report.get("host", {})
    identity = report["identity"]
    words = host.get("reason") or "as the image itself judged it"
    # A run may pass by itself and still not be what its profile expects.
    odd = host.get("status", 0) not in (0, 1, 77)
    status = "status %s: %s" % (host["status"], words) if "status" in host else words
    body = element("h1", "Waymark report: %s, provider %s, profile %s" % tuple(
        escape(str(word)) for word in (identity.get("cpu", "unknown processor"),
                                       report["provider"], report["profile"])))
    body += element("div", element("strong", escape(report["verdict"]),
                                   class_=report["verdict"]) +
                    element("p", escape(status), class_="problem" if odd else None),
                    class_="verdict")
    bar = "".join(element("i", class_=word, style="flex:%d" % counts[word])
                  for word in VERDICTS if counts[word])
    body += element("div", bar, class_="bar", aria_hidden="true")
    body += element("ul", element("li", "%d planned" % counts["planned"]) + "".join(
        element("li", "%s %d %s" % (MARKS[word], counts[word], word),
                class_=word if counts[word] else "soft")
        for word in ("pass", "fail", "error", "skip")), class_="counts")
    if report["provider"] == "model":
        body += element("p", "The stand-in model recorded: this run proves the suite, never a "
                        "processor.", class_="note")
    body += "".join(element("p", escape(text), class_="problem")
                    for text in host.get("problems", ()))
    return element("header", body)


def columns(evidence):
    """Records side by side; the marked lines stand on one height."""
    found = []
    for key, title in EVIDENCE:
        value = evidence.get(key) or []
        value = value if isinstance(value, list) else [value]
        lines = [line.rstrip() for item in value
                 for line in (item if isinstance(item, str) else json.dumps(item)).split("\n")
                 if line.strip()]
        if lines:
            first = next((i for i, line in enumerate(lines) if line.startswith(">")), None)
            found.append((title, lines, first))
    deepest = max((first for _, _, first in found if first is not None), default=0)
    body = ""
    for title, lines, first in found:
        rows = "" if first is None else element("li", "&nbsp;", class_="pad",
                                                aria_hidden="true") * (deepest - first)
        for number, line in enumerate(lines):
            rows += element("li", escape(line), class_="first" if number == first else None)
        body += element("figure", element("figcaption", title) +
                        element("ol", rows, tabindex=0))
    return element("div", body, class_="records") if body else ""


def evidence(check):
    """All that is known of a check that did not pass."""
    known = check.get("evidence", {})
    body = ""
    if known.get("first_difference") not in (None, "", []):
        difference = known["first_difference"]
        body += element("p", "First difference: " + escape(
            difference if isinstance(difference, str) else json.dumps(difference)))
    body += columns(known)
    if known.get("detail"):
        body += element("pre", escape("\n".join(known["detail"])), tabindex=0)
    if known.get("buffer_hex"):
        value = known["buffer_hex"]
        text = value if isinstance(value, str) else "\n".join(map(str, value))
        body += element("details", element("summary", "The buffer's bytes around it") +
                        element("pre", escape(text.rstrip()), tabindex=0))
    return body


def failure(check, unfolded):
    head = "%s %s" % (tag(check["verdict"]), link(check))
    body = element("p", escape(check["reason"]))
    facts = []
    if check["clauses"]:
        facts.append("decides " + clause_links(check["clauses"]))
    if check.get("erratum"):
        facts.append("known erratum: " + escape(check["erratum"]))
    if check.get("expected_verdict"):
        facts.append("the profile expects " + escape(check["expected_verdict"]))
    facts += map(escape, remarks(check))
    body += element("p", "; ".join(facts), class_="soft") if facts else ""
    body += evidence(check)
    if unfolded:
        return element("section", element("h3", head) + body, class_="card")
    short = " " + element("span", escape(check["reason"]), class_="soft")
    return element("details", element("summary", head + short) + body, class_="card")


def failures(report):
    """What went wrong first; of many the later ones folded, so that all names are seen."""
    bad = [check for word in ("fail", "error") for check in report["checks"]
           if check["verdict"] == word]
    bad += [check for check in report["checks"]
            if check["verdict"] in ("pass", "skip") and "expected_verdict" in check]
    lost = [check for check in bad if check["reason"] == "not run"]
    bad = [check for check in bad if check["reason"] != "not run"]
    if not bad and not lost:
        return element("p", "None.")
    body = "".join(failure(check, number < UNFOLDED) for number, check in enumerate(bad))
    if lost:
        names = ", ".join(map(link, lost))
        body += element("details", element("summary", "%s %d checks were planned and not run"
                                           % (tag("error"), len(lost))) +
                        element("p", names), class_="card")
    return body


def clause_row(clause):
    if clause.checks:
        who = "<br>".join("%s %s" % (element("span", MARKS[check["verdict"]],
                                             class_=check["verdict"]), link(check))
                          for check in clause.checks)
    else:
        who = element("span", escape(clause.why or "no check of this run"), class_="soft")
    title = escape(clause.title)
    if clause.section:
        title += "<br>" + element("span", escape(clause.section), class_="soft")
    word = clause.state if clause.state != "none" else "not covered"
    return element("tr", "".join(element("td", cell) for cell in (
        element("span", escape(clause.ident), class_="name"), tag(clause.state, word), title,
        who)), id="clause-" + clause.ident)


def clause_matrix(report):
    body = ""
    known = clauses.decided(report)
    for kind in clauses.CLASSES:
        some = [clause for clause in known if clause.kind == kind]
        covered = sum(clause.state in ("pass", "fail", "error") for clause in some)
        body += element("h3", "%s (%d of %d decided here)" % (KINDS[kind], covered, len(some)))
        body += element("ul", "".join(element("li", element(
            "a", "%s %s" % (MARKS[clause.state], escape(clause.ident)),
            class_="tile name " + clause.state, href="#clause-" + clause.ident,
            title="%s: %s" % (clause.state, clause.title))) for clause in some), class_="tiles")
        head = element("thead", element("tr", "".join(element("th", word, scope="col")
                       for word in ("Clause", "State", "What it says", "Decided by"))))
        body += element("details", element("summary", "The clauses and who covers them") +
                        element("table", head + element(
                            "tbody", "".join(map(clause_row, some))), class_="wide"))
    return body


def cores(report):
    """How many processors of each kind took part, and the widest APIC id."""
    found = report.get("processors") or []
    kinds = sorted({one["core"] for one in found})
    return [("processors", "%s; APIC ids up to %d" % (", ".join(
        "%d %s" % (sum(one["core"] == kind for one in found), kind) for kind in kinds),
        max(one["apic_id"] for one in found)))] if found else []


def check_list(report):
    buttons = element("button", "all", type="button", value="", aria_pressed="true")
    for word in VERDICTS:
        if report["counts"][word]:
            buttons += element("button", "%s %s %d" % (
                MARKS[word], word, report["counts"][word]), type="button", value=word,
                aria_pressed="false")
    box = "<input type=search aria-label='Filter by words' placeholder='name, clause, reason'>"
    rows = ""
    for check in report["checks"]:
        why = escape(check["reason"])
        if check.get("erratum"):
            why += element("p", "erratum: " + escape(check["erratum"]))
        why += "".join(element("p", escape(text)) for text in remarks(check))
        rows += element("tr", "".join((
            element("td", tag(check["verdict"])),
            element("td", escape(check["name"]), class_="name"),
            element("td", clause_links(check["clauses"])), element("td", why),
            element("td", "%d ms" % check["ms"], class_="ms"))),
            id="check-" + check["name"], data_verdict=check["verdict"])
    head = element("thead", element("tr", "".join(
        element("th", word, scope="col") for word in
        ("Verdict", "Check", "Clauses", "Reason", "Time"))))
    return (element("div", buttons + box, class_="filters") +
            element("p", "", id="shown", class_="soft", aria_live="polite") +
            element("table", head + element("tbody", rows, id="check-rows"), class_="wide"))


def meters(rows):
    """Names with bars that are as long as their milliseconds."""
    longest = max((ms for _, ms in rows), default=0) or 1
    return element("table", "".join(element("tr", element("td", name) + element(
        "td", element("span", class_="meter", style="width:%.1f%%" % (100 * ms / longest)),
        class_="meter-cell", aria_hidden="true") + element("td", "%d ms" % ms, class_="ms"))
        for name, ms in rows))


def timing(report):
    host, groups = report.get("host", {}), {}
    for check in report["checks"]:
        group = ".".join(check["name"].split(".")[:2])
        groups[group] = groups.get(group, 0) + check["ms"]
    facts = [(label, "%.1f s" % host[key]) for key, label in (
        ("boot_seconds", "start to banner"), ("suite_seconds", "banner to end line"),
        ("seconds", "all in all")) if key in host]
    facts.append(("inside checks", "%.1f s" % (sum(groups.values()) / 1000)))
    slow = sorted(report["checks"], key=lambda check: -check["ms"])[:SLOWEST]
    ranked = sorted(groups.items(), key=lambda pair: -pair[1])
    return (pairs(facts) + element("h3", "By area") +
            meters([(element("span", escape(name), class_="name"), ms)
                    for name, ms in ranked]) +
            element("h3", "The slowest checks") +
            meters([(link(check), check["ms"]) for check in slow]))


def page(report):
    """The whole document as text."""
    observed = sorted(report["observations"].items())
    host = [(key, value) for key, value in sorted(report.get("host", {}).items())
            if not isinstance(value, list)]
    parts = [
        ("failures", "What went wrong", failures(report)),
        ("fingerprint", "Fingerprint", pairs(observed, " fingerprint") if observed else
         element("p", "Nothing was observed.")),
        ("clauses", "Clauses", clause_matrix(report)),
        ("checks", "Checks", check_list(report)),
        ("timing", "Timing", timing(report)),
        ("identity", "Identity", pairs([("run", report["run_id"]),
                                        *report["identity"].items(),
                                        *cores(report)]) +
         (element("h3", "The host") + pairs(host) if host else ""))]
    nav = element("nav", element("div", "".join(
        element("a", title, href="#" + ident) for ident, title, _ in parts)),
        aria_label="Sections")
    main_part = element("main", "".join(
        element("section", element("h2", title) + body, id=ident)
        for ident, title, body in parts), id="main")
    body = element("a", "Skip to the results", class_="skip-link", href="#main")
    body += top(report) + nav + main_part
    body += element("footer", "Waymark %s, run %s. This page is one file and loads nothing." % (
        escape(str(report["identity"].get("version", ""))), escape(report["run_id"])))
    body += element("script", (HERE / "report.js").read_text())
    return document("%s: Waymark on %s" % (
        report["verdict"], report["identity"].get("cpu", "unknown")), body)


def document(title, body):
    """A whole page that may load nothing, not even what its text asks for."""
    head = ('<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">")
    head += element("title", escape(title))
    head += element("style", (HERE / "report.css").read_text())
    return '<!doctype html>\n<html lang="en"><head>%s</head>\n<body>%s</body></html>\n' % (
        head, body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, help="a report.json, of the host or of the image")
    parser.add_argument("-o", "--output", type=Path, help="default: report.html beside it")
    args = parser.parse_args()
    target = args.output or args.report.with_suffix(".html")
    try:
        found = json.loads(args.report.read_text(encoding="utf-8-sig"))
        wrong = schema.errors(found, schema.report_schema())
        if wrong:
            raise ValueError(wrong[0])
        text = page(found)
        target.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        print("%s: %s" % (error.filename or target, error.strerror), file=sys.stderr)
        return 1
    except (ValueError, RecursionError) as error:
        print("%s is not a report: %s" % (args.report, error), file=sys.stderr)
        return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
