# SPDX-License-Identifier: BSD-2-Clause
"""What fuzz.py makes of a log: the totals, and objdump's listing of a program's bytes."""

import unittest

from harness.dev import fuzz

LOG = """\
# step bts.fuzz.programs
# bts.fuzz.programs: 1000 programs, 760 foreseen, 500000 records compared, 20000 ms
# bts.fuzz.programs: 1234 programs, 900 foreseen, 600001 records compared, 25000 ms
# bts.fuzz.programs: program 1233 of seed 0: missing record
# bts.fuzz.programs: code made+ffe: 488d
# bts.fuzz.programs: code made+1000: 05f9ffffff75fcc3
not ok 1 - bts.fuzz.programs
""".split("\n")


class Fuzz(unittest.TestCase):
    def test_totals(self):
        totals = [match.groups() for match in map(fuzz.TOTAL.match, LOG) if match]
        self.assertEqual(totals[-1], ("1234", "900", "600001"))

    def test_listing(self):
        listing = fuzz.disassembled(LOG)
        self.assertEqual([line.split(":")[0].strip() for line in listing],
                         ["ffe", "1005", "1007"])
        for line, word in zip(listing, ("lea ", "jne ", "ret")):
            self.assertIn(word, line)

    def test_no_code(self):
        self.assertEqual(fuzz.disassembled(["# bts.fuzz.programs: code made+: "]), [])


if __name__ == "__main__":
    unittest.main()
