# SPDX-License-Identifier: BSD-2-Clause
"""report.html as a document: whole, self-contained, and every link leads somewhere."""

import re
import unittest
from html.parser import HTMLParser

from harness import report_html
from harness.host import clauses
from harness.tests.fakes import sample
from harness.tests.system.html_session import HOSTILE, failing

VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Collects ids, links and tags, and notices tags that do not pair."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong = [], []
        self.ids, self.links, self.tags, self.texts = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[key] for key in ("href", "src") if key in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


class Page(unittest.TestCase):
    def setUp(self):
        self.report = failing()
        self.text = report_html.page(self.report)
        self.page = Reader(self.text)

    def test_pairs_and_links(self):
        self.assertEqual((self.page.wrong, self.page.open), ([], []))
        self.assertEqual(len(self.page.ids), len(set(self.page.ids)))
        for link in self.page.links:
            self.assertEqual(link[0], "#")
            self.assertIn(link[1:], self.page.ids)

    def test_everything_is_in_it(self):
        seen = "\n".join(self.page.texts)
        for check in self.report["checks"]:
            self.assertIn("check-" + check["name"], self.page.ids)
            self.assertIn(check["reason"], seen)
        for clause in clauses.load():
            self.assertIn("clause-" + clause.ident, self.page.ids)
        for value in list(self.report["identity"].values()) + [HOSTILE, "not run"]:
            self.assertIn(value, seen)

    def test_foreign_text_stays_text(self):
        self.assertEqual(self.page.tags.count("script"), 1)
        self.assertNotIn("img", self.page.tags)

    def test_the_images_own_report_has_no_host(self):
        page = Reader(report_html.page(sample.report()))
        self.assertEqual((page.wrong, page.open), ([], []))
        self.assertIn("as the image itself judged it", "".join(page.texts))

    def test_nothing_is_loaded(self):
        self.assertIsNone(re.search(r"url\(|@import|https?:", re.sub(
            r"&lt;.*?&gt;", "", self.text)))


class Clauses(unittest.TestCase):
    def test_the_whole_list(self):
        known = clauses.load()
        self.assertGreater(len(known), 142)
        self.assertEqual(len({clause.ident for clause in known}), len(known))

    def test_the_worst_verdict_speaks(self):
        clause = clauses.Clause("GEN-01", "must", "", "")
        states = []
        for verdict in ("skip", "pass", "error", "fail"):
            clause.checks.append({"verdict": verdict})
            states.append(clause.state)
        self.assertEqual(states, ["skip", "pass", "error", "fail"])


if __name__ == "__main__":
    unittest.main()
