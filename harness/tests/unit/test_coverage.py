# SPDX-License-Identifier: BSD-2-Clause
"""The clause table agrees with the checks, and the tool that says so can say no."""

import tempfile
import unittest
from pathlib import Path

from harness.dev import coverage, verify
from harness.host import clauses

TABLE = ('CLAUSE("AAA-01", MUST, "Section",\n       "Title" " in two", NULL)\n'
         'CLAUSE("AAA-02", SOFTWARE, "Section", "Title",\n'
         '       "needs what is " "not here")\n')
CHECKS = ('CHECK(one, .name = "bts.one", .clauses = "AAA-01"\n      " AAA-01", .kind = MUST)\n'
          '{\n}\n')


class Tree(unittest.TestCase):
    def test_agrees(self):
        self.assertEqual(list(coverage.findings(*coverage.tree())), [])

    def test_everything_is_read(self):
        known, named, faults = coverage.tree()
        self.assertEqual(sum(row.counted for row in clauses.load()), 142)
        self.assertGreater(len(known), 142)
        self.assertEqual(sorted(named), sorted(verify.declared()))
        self.assertGreater(len({number for number, _ in faults}), 15)


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "table.def"

    def table(self, text):
        self.path.write_text(text)
        return coverage.table(self.path)

    def found(self, table=TABLE, checks=CHECKS, field='FIELD(3, "x", "bts.one")\n'):
        return list(coverage.findings(self.table(table), coverage.checks(checks),
                                      coverage.field(field)))

    def test_good(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.table(TABLE), {"AAA-01": "", "AAA-02": "needs what is not here"})
        self.assertEqual(coverage.checks(CHECKS), {"bts.one": ["AAA-01", "AAA-01"]})

    def test_findings(self):
        for change, words in (
                ({"checks": CHECKS.replace("AAA-01", "AAA-03")}, "which is no clause"),
                ({"checks": CHECKS.replace("AAA-01", "AAA-02")}, "a check as well"),
                ({"checks": ""}, "neither a check nor a reason"),
                ({"checks": CHECKS + CHECKS.replace("AAA-01", "").replace("one", "two")},
                 "bts.two names no clause"),
                ({"table": TABLE.replace("needs what is ", "")}, "is no reason"),
                ({"field": 'FIELD(3, "x", "bts.two")\n'}, "which is no check")):
            self.assertTrue(any(words in line for line in self.found(**change)),
                            (words, self.found(**change)))

    def test_malformed(self):
        for table in (TABLE.replace("MUST", "MAY"), TABLE + TABLE,
                      TABLE.replace('"Section", "Title"', '"Section"')):
            with self.assertRaises(ValueError):
                self.table(table)
        with self.assertRaises(ValueError):
            coverage.field('FIELD(3 "x", "y")\n')


if __name__ == "__main__":
    unittest.main()
