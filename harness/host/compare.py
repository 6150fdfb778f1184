# SPDX-License-Identifier: BSD-2-Clause
"""Several runs beside one another: run.py compare A B C...; fingerprint differences first.

Each A is a report.json or a folder with one: of different machines, firmware, microcode,
emulators or policies.  What is the same everywhere is counted, not listed; what some runs do
not say at all stands behind what they contradict one another in.
"""

import argparse
from pathlib import Path

from harness import report_html
from harness.host import rejudge

ABSENT = "-"
# Different in every run, or said elsewhere.
NO_IDENTITY = {"image", "run"}


def contradict(values):
    """True when two runs say different things; saying nothing is none of them."""
    return len(set(values) - {ABSENT}) > 1


class Matrix:
    """The reports, a letter for each, and the rows in which they differ."""

    def __init__(self, paths, reports):
        self.paths = paths
        self.reports = reports
        self.letters = [chr(ord("A") + i) if i < 26 else "#%d" % i for i in range(len(paths))]
        self.same, self.apart = {}, {}
        self.sections = [
            ("fingerprint", self.rows("fingerprint", [r["observations"] for r in reports])),
            ("verdicts", self.rows("verdicts", [
                {check["name"]: check["verdict"] for check in r["checks"]} for r in reports])),
            ("identity", self.rows("identity", [self.identity(r) for r in reports]))]

    def identity(self, report):
        return {"provider": report["provider"], "profile": report["profile"], **{
            key: value for key, value in report["identity"].items() if key not in NO_IDENTITY}}

    def rows(self, title, columns):
        """(name, values) of all names whose values are not the same in every column."""
        names = list(dict.fromkeys(name for column in columns for name in column))
        table = [(name, [str(column.get(name, ABSENT)) for column in columns])
                 for name in names]
        differing = [row for row in table if len(set(row[1])) > 1]
        self.same[title] = len(table) - len(differing)
        self.apart[title] = sum(contradict(values) for _, values in differing)
        # A stable sort: identity keeps its own order otherwise.
        return sorted(sorted(differing) if title != "identity" else differing,
                      key=lambda row: not contradict(row[1]))

    def heading(self, title):
        """The counts of a section."""
        rows = dict(self.sections)[title]
        return "%s: %d differ, %d not in every run, %d are the same" % (
            title, self.apart[title], len(rows) - self.apart[title], self.same[title])

    def differs(self):
        """True when fingerprints or verdicts do; identities may."""
        return any(rows for title, rows in self.sections if title != "identity")

    def columns(self):
        """A letter, the path and a few words for each run."""
        return [(letter, str(path), "%s, provider %s: %s" % (
            report["identity"].get("cpu", "unknown"), report["provider"], report["verdict"]))
            for letter, path, report in zip(self.letters, self.paths, self.reports)]


def text(matrix):
    """The matrix as lines for a terminal."""
    yield from ("%s  %s (%s)" % row for row in matrix.columns())
    for title, rows in matrix.sections:
        yield ""
        yield matrix.heading(title)
        table = [("", matrix.letters)] + rows if rows else []
        widths = [max(len(row[1][i]) for row in table) for i in range(len(matrix.letters))] \
            if table else []
        name_width = max((len(name) for name, _ in table), default=0)
        for name, values in table:
            yield ("  %-*s  " % (name_width, name) + "  ".join(
                value.ljust(width) for value, width in zip(values, widths))).rstrip()


def page(matrix):
    """The same as one self-contained page, in the clothes of report.html."""
    e, safe = report_html.element, report_html.escape
    body = e("h1", "Waymark: %d runs compared" % len(matrix.paths))
    body += e("ol", "".join(e("li", e("strong", letter) + " " + safe(path) + "<br>" +
                              e("span", safe(words), class_="soft"), style="list-style:none")
                            for letter, path, words in matrix.columns()),
              style="padding:0")
    for title, rows in matrix.sections:
        body += e("h2", matrix.heading(title).capitalize())
        head = e("tr", "".join(e("th", safe(word), scope="col")
                               for word in ["name"] + matrix.letters))
        cells = "".join(e("tr", e("td", safe(name), class_="name") + "".join(
            e("td", report_html.tag(value) if value in report_html.VERDICTS else safe(value),
              class_="value apart" if contradict((value, values[0])) else "value")
            for value in values)) for name, values in rows)
        if rows:
            body += e("div", e("table", e("thead", head) + e("tbody", cells)),
                      style="overflow-x:auto", tabindex=0)
    return report_html.document("Waymark: runs compared", e("main", body))


def main(words, parser_class=argparse.ArgumentParser):
    """(status, reason), as run.py ends with them: 1 when they differ."""
    parser = parser_class(prog="run.py compare", description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT",
                        help="a report.json, or a folder that holds one")
    parser.add_argument("--html", type=Path, help="write the matrix as a page, too")
    args = parser.parse_args(words)
    if len(args.reports) < 2:
        parser.error("nothing to compare: give two reports or more")
    matrix = Matrix(args.reports, [rejudge.load(path) for path in args.reports])
    for line in text(matrix):
        print(line)
    if args.html:
        args.html.write_text(page(matrix), encoding="utf-8", newline="\n")
    if matrix.differs():
        return 1, "%d observations and %d verdicts differ" % tuple(
            len(rows) for _, rows in matrix.sections[:2])
    return 0, "fingerprints and verdicts are the same"
