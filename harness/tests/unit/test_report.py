# SPDX-License-Identifier: BSD-2-Clause
"""The host's result files, each read back by something that did not write it."""

import copy
import json
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

from harness import report_html, wire
from harness.host import expected, judge, report, schema
from harness.tests.fakes import sample

XSD = Path(report.__file__).with_name("junit.xsd")


def made(checks, ending=judge.Ending()):
    judgement = judge.judge(wire.parse(sample.log(checks)), json.dumps(sample.report(checks)),
                            ending, expected.load("sample"))
    judgement.report["host"] = {"status": judgement.status, "reason": judgement.reason,
                                "source": "image", "problems": judgement.problems,
                                "cpu": "Haswell,+svm", "seconds": 4.25}
    return judgement


MIXED = [("a.one", "pass", ""), ("a.two", "fail", "first"), ("a.three", "error", "second"),
         ("b.c.four", "skip", "third"), ("five", "pass", "")]


class Remarks(unittest.TestCase):
    CHECK = {"name": "a.one", "unstable": ["verdict", "a.seen"],
             "runs": {"pass": 3, "skip": 0, "error": 0, "fail": 1},
             "smi": {"interrupts": 2, "disturbed": 0,
                     "set_aside": {"pass": 0, "skip": 0, "error": 0, "fail": 1}}}

    def test_words(self):
        self.assertEqual(report.remarks({"name": "a.one"}), [])
        self.assertEqual(report.remarks(self.CHECK), [
            "unstable: verdict a.seen (1 fail, 3 pass)",
            "2 system management interrupts came in between; runs set aside: 1 fail"])

    def test_they_fit_the_schema_and_reach_every_file(self):
        found = made(MIXED).report
        found["checks"][0] |= dict(copy.deepcopy(self.CHECK), name="a.one")
        self.assertEqual(schema.errors(found, schema.report_schema()), [])
        for text in (report.to_tap(found), report.to_junit(found, "2026-01-02T03:04:05"),
                     report_html.page(found)):
            self.assertIn("runs set aside: 1 fail", text)
        found["checks"][0]["smi"]["set_aside"].pop("fail")
        self.assertTrue(schema.errors(found, schema.report_schema()))


class Junit(unittest.TestCase):
    def setUp(self):
        self.text = report.to_junit(made(MIXED).report, "2026-01-02T03:04:05")

    def test_each_verdict_has_its_element(self):
        cases = {c.get("classname") + "/" + c.get("name"): [e.tag for e in c]
                 for c in ET.fromstring(self.text).iter("testcase")}
        self.assertEqual(cases, {"a/one": ["system-out"], "a/two": ["failure", "system-out"],
                                 "a/three": ["error", "system-out"],
                                 "b.c/four": ["skipped", "system-out"],
                                 "waymark/five": ["system-out"]})

    def test_numbers(self):
        suite = ET.fromstring(self.text).find("testsuite")
        self.assertEqual([suite.get(k) for k in ("tests", "failures", "errors", "skipped")],
                         ["5", "1", "1", "1"])
        self.assertEqual(suite.get("time"), "4.250")

    @unittest.skipUnless(shutil.which("xmllint"), "no xmllint")
    def test_schema_accepts_good_and_refuses_bad(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "junit.xml"
            for text, good in ((self.text, True),
                               (self.text.replace('tests="5"', 'tests="-5"'), False),
                               (self.text.replace("<failure ", "<broken "), False),
                               (self.text.replace('name="three"', 'name="one"'), False),
                               (self.text.replace("2026-01-02T", ""), False)):
                path.write_text(text)
                done = subprocess.run(["xmllint", "--noout", "--schema", str(XSD), str(path)],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode == 0, good, done.stderr)

    def test_any_byte_survives(self):
        checks = [("a.b", "fail", "".join(map(chr, range(256))).replace("\n", ""))]
        judgement = made(MIXED)
        judgement.report["checks"][1]["reason"] = checks[0][2]
        text = report.to_junit(judgement.report, "2026-01-02T03:04:05")
        message = ET.fromstring(text).find(".//failure").get("message")
        self.assertIn("\\x00\\x01", message)
        self.assertIn("<=>", message)


class Tap(unittest.TestCase):
    def test_every_planned_check_is_there(self):
        lines = report.to_tap(made(MIXED).report).splitlines()
        self.assertIn("1..5", lines)
        self.assertEqual([x for x in lines if x.startswith(("ok", "not ok"))], [
            "ok 1 - a.one", "not ok 2 - a.two", "not ok 3 - a.three # ERROR second",
            "ok 4 - b.c.four # SKIP third", "ok 5 - five"])


class Summary(unittest.TestCase):
    def test_short_run(self):
        lines = report.summary(made(sample.CHECKS))
        self.assertEqual(lines, ["provider=model profile=qemu; 5 planned: 4 pass, 0 fail, "
                                 "1 skip, 0 error; 4.2 s"])

    def test_every_failure_with_evidence(self):
        lines = report.summary(made(MIXED))
        self.assertIn("FAIL  a.two: first", lines)
        self.assertIn("ERROR a.three: second", lines)
        self.assertIn("      trace:           a -> c", lines)

    def test_evidence_of_many_lines(self):
        """Each line stands for itself in the TAP file; the summary keeps what is marked."""
        judgement = made(MIXED)
        judgement.report["checks"][1]["evidence"] = {
            "trace": "0: a\n1: b\n>2: c\n3: d\n4: e\n", "first_difference": ""}
        short = [line.split()[-1] for line in report.summary(judgement)
                 if re.match("      .*[0-4]: [a-e]$", line)]
        self.assertEqual(short, ["b", "c", "d"])
        tap = report.to_tap(judgement.report).splitlines()
        self.assertEqual(sum(line.startswith("# a.two: ") for line in tap), 5)
        self.assertTrue(all(line.startswith(("#", "ok", "not ok", "1..", "KTAP"))
                            for line in tap))

    def test_at_most_a_screenful(self):
        many = [("a.n%d" % i, "fail", "wrong") for i in range(200)]
        lines = report.summary(made(many))
        self.assertLessEqual(len(lines), 23)
        self.assertTrue(any("more lines in report.json" in line for line in lines))


if __name__ == "__main__":
    unittest.main()
