# SPDX-License-Identifier: BSD-2-Clause
"""Saved runs: judged again, compared, and explained by published errata."""

import copy
import io
import json
import re
import tempfile
import unittest
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from pathlib import Path

from harness import run
from harness.host import compare, errata, expected, rejudge
from harness.tests.fakes import sample

ROOT = Path(__file__).resolve().parents[3]
HASWELL = "000306c3"


def native(*failed, signature=HASWELL, difference="from", provider="native"):
    """A run on a processor, with these checks failed at that first difference."""
    report = sample.report([(name, "fail", "deviates") for name in failed] or sample.CHECKS)
    report["provider"], report["profile"] = provider, "hardware"
    report["identity"].update(provider=provider, signature=signature)
    for check in report["checks"]:
        if check["verdict"] == "fail":
            check["evidence"] = {"first_difference": difference}
    return report


class Errata(unittest.TestCase):
    def judged(self, *failed, **words):
        judgement = rejudge.again(native(*failed, **words), "hardware")
        return judgement, [check.get("erratum", "") for check in judgement.report["checks"]]

    def test_a_known_deviation_is_named_and_not_hidden(self):
        judgement, said = self.judged("bts.branch.jmp.ring3")
        self.assertRegex(said[0], r"\bHSD53\b.*:")
        self.assertEqual((judgement.status, judgement.report["verdict"]), (0, "fail"))
        self.assertIn("published", judgement.reason)
        self.assertTrue(any("fails as published" in note for note in judgement.notes))

    def test_nothing_else_is_excused(self):
        for words in ({"difference": "to"}, {"signature": "000a0671"}, {"signature": ""},
                      {"provider": "model"}):
            judgement, said = self.judged("bts.branch.jmp.ring3", **words)
            self.assertEqual((said, judgement.status), ([""], 1), words)
        judgement, said = self.judged("hw.cpu.state", "bts.branch.jmp.ring3")
        self.assertEqual((said[0], judgement.status), ("", 1))

    def test_only_profiles_that_say_so_accept_it(self):
        self.assertEqual(rejudge.again(native("bts.branch.jmp.ring3"), "qemu").status, 1)

    def declared(self):
        """Name and body of every check."""
        text = "".join(path.read_text() for path in sorted(ROOT.glob("harness/checks/*.c")))
        found = re.findall(r'^CHECK(?:_WITH)?\((?:\w+, \.name = )?"([^"]+)"(.*?)^}', text,
                           re.M | re.S)
        self.assertGreater(len(found), 100)
        return dict(found)

    def test_the_table_is_sound(self):
        declared = self.declared()
        for row in errata.load():
            for span in row["signatures"]:
                low, high = (int(end, 16) for end in span.split("-"))
                self.assertTrue(0x600 < low <= high < 0x100000, span)
            for pattern in row["checks"]:
                # Transactions have no check in every build.
                self.assertTrue(pattern.startswith("bts.rtm.") or any(
                    fnmatchcase(name, pattern) for name in declared), pattern)

    def test_every_row_explains_something(self):
        """A processor with the erratum, and a check that states what the row waits for."""
        declared = self.declared()
        states = re.compile(r"trace_(expect|state_difference|evidence)|expect_")
        for row in errata.load():
            for pattern in row["checks"]:
                names = [name for name in declared if fnmatchcase(name, pattern)]
                if "difference" in row:
                    names = [name for name in names if states.search(declared[name])]
                if not names and pattern.startswith("bts.rtm."):
                    names = [pattern.replace("*", "abort")]
                self.assertTrue(names, (row["ids"], pattern))
                made = native(names[0], signature=row["signatures"][0].partition("-")[0],
                              difference=row.get("difference", "to"))
                errata.mark(made, [row])
                self.assertIn(row["ids"][0], made["checks"][0].get("erratum", ""))

    def test_a_bad_row_is_one_line(self):
        good = {"ids": ["X1"], "processor": "p", "signatures": ["306c3-306c3"], "what": "w",
                "checks": ["bts.*"]}
        for change, words in (({"ids": []}, "row 1 lacks ids"),
                              ({"checks": "bts.*"}, "lacks checks"),
                              ({"signatures": ["3-"]}, "has the signature .3-."),
                              ({"more": 1}, "unknown key more")):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "errata.json"
                path.write_text(json.dumps({"errata": [dict(good, **change)]}))
                with self.assertRaisesRegex(expected.Unknown, words):
                    errata.load(path)

    def test_hypervisors(self):
        report = sample.report()
        for name, word in (("KVMKVMKVM", "raise #GP"), ("XenVMMXenVMM", "vpmu=bts"),
                           ("Newcomer", "nobody here knows"), ("none", ""), ("", "")):
            report["identity"]["hypervisor"] = name
            said = errata.hypervisor(report)
            self.assertTrue(word in said and bool(said) == bool(word), said)


class Rejudge(unittest.TestCase):
    def test_twice_is_once(self):
        first = rejudge.again(native("bts.branch.jmp.ring3"), "hardware")
        before = copy.deepcopy(first.report)
        self.assertEqual(rejudge.again(first.report, "hardware").report, before)

    def test_outside_trouble_stays(self):
        report = sample.report()
        report["host"] = {"status": 2, "reason": "x", "source": "serial", "options": [],
                          "problems": ["hang in bts.enum.ds: no output for 30 s",
                                       "3 checks, profile qemu expects at least 150"]}
        judgement = rejudge.again(report, "sample")
        self.assertEqual((judgement.status, judgement.problems),
                         (2, ["hang in bts.enum.ds: no output for 30 s"]))

    def test_no_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.json")
            for text in ("", "{}", "[1]", "[" * 100000):
                path.write_text(text)
                self.assertRaises(rejudge.Unreadable, rejudge.load, path)
        self.assertRaises(expected.Unknown, rejudge.again, sample.report(), "warp")


class Compare(unittest.TestCase):
    def runs(self, *reports, html=False):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, report in enumerate(reports):
                paths.append(str(Path(folder, "%d.json" % number)))
                Path(paths[-1]).write_text(json.dumps(report))
            with redirect_stdout(io.StringIO()) as out:
                status = run.main(["compare", *paths, "--html", str(Path(folder, "m.html"))],
                                  {})[0]
            page = Path(folder, "m.html").read_text()
        return status, out.getvalue(), page

    def test_the_same(self):
        self.assertEqual(self.runs(sample.report(), sample.report())[0], 0)

    def test_fingerprint_first_then_verdicts(self):
        other = sample.report(sample.changed(1, "fail", "no"))
        other["observations"]["bts.wrap.moment"] = "before<b>"
        other["observations"]["bts.new"] = "1"
        status, out, page = self.runs(sample.report(), other, sample.report())
        self.assertEqual(status, 1)
        rows = [line.split() for line in out.splitlines()]
        order = [row[0] for row in rows if row and len(row) == 4 and row[0] != "A"]
        self.assertEqual(order, ["bts.wrap.moment", "bts.new", "bts.enum.ds"])
        self.assertIn("fingerprint: 1 differ, 1 not in every run, 0 are the same", out)
        self.assertIn(["bts.new", "-", "1", "-"], rows)
        self.assertIn(["bts.enum.ds", "pass", "fail", "pass"], rows)
        self.assertIn("before&lt;b&gt;", page)


if __name__ == "__main__":
    unittest.main()
