# SPDX-License-Identifier: BSD-2-Clause
"""report.html in a real browser: two widths, two colour schemes, keyboard, nothing loaded.

html_session.py OWN-FOLDER [REPORT.json ...]; the made-up reports of below come first.  Leaves
its pictures in OWN-FOLDER for whoever wants to look, and prints `pages: as expected`.
"""

import copy
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import report_html  # noqa: E402
from harness.host import compare  # noqa: E402
from harness.tests.fakes import browser, sample  # noqa: E402

SIZES = ((1280, 900, False), (390, 844, True))
HOSTILE = "</td><script>document.title='owned'</script><img src=http://192.0.2.1/x>"

# The least contrast of all visible text, by the formula of WCAG 2, "Contrast (Minimum)".
CONTRAST = """(() => {
    const parts = text => text.match(/[\\d.]+/g).map(Number);
    const light = colour => colour.slice(0, 3).map(v => v / 255).map(
        v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    let least = 99, where = "";
    for (const one of document.querySelectorAll("body *")) {
        if (![...one.childNodes].some(n => n.nodeType === 3 && n.data.trim()) ||
            !one.checkVisibility() || one.closest("script, .skip-link")) continue;
        let box = one, paper = [0, 0, 0, 0];
        for (; box && paper[3] === 0; box = box.parentElement) {
            paper = parts(getComputedStyle(box).backgroundColor);
            if (paper.length === 3) paper.push(1);
        }
        const [a, b] = [light(parts(getComputedStyle(one).color)), light(paper)];
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < least) [least, where] = [ratio, one.outerHTML.slice(0, 80)];
    }
    return [least, where];
})()"""


def failing():
    """Every verdict, evidence with marks at different depths, and text that would do harm."""
    report = sample.report([(name, verdict, reason) for name, verdict, reason in (
        ("bts.record.fields", "fail", HOSTILE), ("bts.enum.ds", "pass", ""),
        ("bts.pmi.threshold", "error", "not run"), ("bts.wrap.moment", "error", "hang"),
        ("bts.cpl.usr", "skip", "no DS-CPL"))])
    report = copy.deepcopy(report)
    report["checks"][0]["evidence"] = {
        "first_difference": "to", "expected": ">0: a -> b jmp\n 1: b -> c ret\n",
        "oracle": [" 0: z -> y", ">1: a -> b", " 2: b -> c"],
        "trace": " 3: x -> y (1 -> 2)\n 4: y -> z\n>5: a -> " + "f" * 90 + "\n",
        "buffer_hex": "0000000000000001 0000000000000002", "detail": [HOSTILE]}
    report["observations"][HOSTILE] = HOSTILE
    report["host"] = {"status": 1, "reason": "1 of 5 checks failed", "source": "image",
                      "problems": [HOSTILE], "seconds": 7.25}
    return report


def compared(own):
    """The page of three runs that differ in an observation and in a verdict."""
    other = sample.report(sample.changed(1, "fail", "no"))
    other["observations"] = {**other["observations"], "bts.wrap.moment": HOSTILE}
    path = own / "compare.html"
    path.write_text(compare.page(compare.Matrix(
        ["a.json", "b.json", "c.json"], [sample.report(), other, sample.report()])),
        encoding="utf-8")
    return path


class Pages:
    """One browser, and what is wrong with the pages."""

    def __init__(self, page, own):
        self.browser = page
        self.own = own
        self.complaints = []

    def expect(self, good, text):
        if not good:
            self.complaints.append(text)

    def look(self, name, path):
        """The page at every size and in both schemes."""
        for width, height, mobile in SIZES:
            for dark in (False, True):
                shot = "%s-%d-%s" % (name, width, "dark" if dark else "light")
                self.browser.open(path.as_uri(), width, height, dark, mobile)
                self.browser.screenshot(self.own / (shot + ".png"))
                wide = self.browser.evaluate("document.documentElement.scrollWidth")
                self.expect(wide <= width, "%s is %s pixels wide" % (shot, wide))
                self.browser.evaluate("document.querySelectorAll('details').forEach("
                                      "box => box.open = true)")
                least, where = self.browser.evaluate(CONTRAST)
                self.expect(least >= 4.5, "%s: contrast %.2f in %s" % (shot, least, where))
                ink = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
                self.expect((ink == "rgb(20, 23, 27)") == dark, "%s on %s" % (shot, ink))
        self.expect(set(self.browser.requests) == {path.as_uri()},
                    "%s asked for %s" % (name, set(self.browser.requests)))
        self.browser.requests.clear()
        self.complaints += self.browser.complaints

    def number(self, expression):
        return self.browser.evaluate(expression)

    def harmless(self):
        self.expect(not self.number("document.images.length"), "an image came out of a report")
        self.expect(self.number("document.title") != "owned", "a report's script ran")
        self.expect(self.number("document.scripts.length") == 1, "a script out of a report")

    def side_by_side(self, path):
        """The first difference stands on one height in all columns where there is room."""
        self.browser.open(path.as_uri(), 1280, 900)
        tops = self.number("[...document.querySelectorAll('.records li.first')].map("
                           "line => Math.round(line.getBoundingClientRect().top))")
        self.expect(len(tops) == 3 and len(set(tops)) == 1, "marked lines at %s" % tops)

    def keyboard(self):
        """Skip link, a filter, and a clause that is folded away, without a mouse."""
        self.browser.key("Tab")
        self.expect(self.number("document.activeElement.className") == "skip-link",
                    "the first stop is not the skip link")
        for _ in range(200):
            self.browser.key("Tab")
            if self.number("document.activeElement.value") == "fail":
                break
        self.browser.key("Enter", "\r")
        visible = "[...document.querySelectorAll('#check-rows tr')].filter(r => !r.hidden)"
        self.expect(self.number(visible + ".map(r => r.dataset.verdict).join()") == "fail",
                    "the filter shows %s" % self.number(visible + ".length"))
        self.expect(self.number("document.querySelector('#shown').textContent")
                    == "1 of 5 checks", "the count is not told")
        self.browser.evaluate("document.querySelector("
                              "'a.tile[href=\"#clause-ENUM-01\"]').focus()")
        self.browser.key("Enter", "\r")
        self.expect(self.number("document.getElementById('clause-ENUM-01').checkVisibility()"),
                    "the clause stays folded")
        self.browser.evaluate("document.querySelector('.filters input').focus()")
        self.browser.key("z", "z")
        self.expect(self.number(visible + ".length") == 0, "the words do not filter")


def main(own, *reports):
    own = Path(own).resolve()
    own.mkdir(parents=True, exist_ok=True)
    bad, good = own / "fail.html", own / "pass.html"
    bad.write_text(report_html.page(failing()), encoding="utf-8")
    good.write_text(report_html.page(sample.report()), encoding="utf-8")
    pages = {"fail": bad, "pass": good}
    for number, path in enumerate(reports, 1):
        pages["real%d" % number] = own / ("real%d.html" % number)
        pages["real%d" % number].write_text(report_html.page(json.loads(
            Path(path).read_text())), encoding="utf-8")
    with browser.Browser() as one:
        session = Pages(one, own)
        for name, path in pages.items():
            session.look(name, path)
        session.look("compare", compared(own))
        session.expect(session.number("document.querySelectorAll('td.apart').length") == 2,
                       "what differs is not marked")
        session.side_by_side(bad)
        session.harmless()
        session.keyboard()
    print("\n".join(session.complaints) or "pages: as expected")
    return 1 if session.complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
