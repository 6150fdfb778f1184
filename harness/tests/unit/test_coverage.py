# SPDX-License-Identifier: BSD-2-Clause
"""The tool that says whether clauses, checks and faults agree can say no."""

import unittest

from harness.dev import coverage
from harness.host import clauses

LIST = ("bts.one kind=must at=harness/checks/10_one.c:7 clauses=AAA-01 AAA-03\n"
        "hw.two kind=software at=harness/checks/10_one.c:9 clauses=\n")
KNOWN = {"AAA-01": "", "AAA-02": "needs what is not here", "AAA-03": ""}
FIELD = "3 bts.one a fault, in words\n"


class Tool(unittest.TestCase):
    """Each rule is broken once."""

    def found(self, known=None, checks=LIST, field=FIELD):
        return list(coverage.findings(known or KNOWN, coverage.checks(checks),
                                      coverage.field(field)))

    def test_good(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(coverage.checks(LIST), {"bts.one": ["AAA-01", "AAA-03"], "hw.two": []})
        self.assertEqual(coverage.field(FIELD), [(3, "bts.one")])

    def test_findings(self):
        for change, words in (
                ({"checks": LIST.replace("AAA-03", "AAA-02")}, "a check as well"),
                ({"checks": LIST.replace("AAA-03", "")}, "neither a check nor a reason"),
                ({"checks": LIST.replace("hw.two", "bts.two")}, "bts.two names no clause"),
                ({"known": dict(KNOWN, **{"AAA-02": "not here"})}, "is no reason"),
                ({"field": FIELD.replace("one", "two")}, "which is no check")):
            self.assertTrue(any(words in line for line in self.found(**change)),
                            (words, self.found(**change)))

    def test_errata(self):
        named = coverage.checks(LIST)
        self.assertEqual(list(coverage.excused(named, ["bts.*", "hw.two", "bts.rtm.x"])), [])
        self.assertEqual(len(list(coverage.excused(named, ["pebs.*"]))), 1)

    def test_the_table(self):
        known = clauses.load()
        self.assertEqual(sum(row.counted for row in known), 142)
        self.assertGreater(len(known), 142)
        self.assertEqual({row.kind for row in known}, set(clauses.CLASSES))


if __name__ == "__main__":
    unittest.main()
