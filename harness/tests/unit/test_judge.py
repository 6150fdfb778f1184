# SPDX-License-Identifier: BSD-2-Clause
"""Judging a run: statuses, the two accounts against each other, and damage to either."""

import json
import unittest

from harness import wire
from harness.host import expected, judge, schema
from harness.tests.fakes import sample

PROFILE = expected.load("sample")


def judged(data, filed=None, ending=judge.Ending(), **more):
    return judge.judge(wire.parse(data), filed, ending, PROFILE, **more)


def account(checks=sample.CHECKS):
    return json.dumps(sample.report(checks))


class Statuses(unittest.TestCase):
    def check(self, status, checks, **more):
        made = judged(sample.log(checks), account(checks), **more)
        self.assertEqual(made.status, status, made.reason)
        self.assertTrue(made.reason)
        self.assertEqual(schema.errors(made.report, schema.report_schema()), [])
        return made

    def test_as_expected(self):
        self.check(judge.PASS, sample.CHECKS)

    def test_what_a_hypervisor_must_do(self):
        def status(provider, checks):
            report = dict(sample.report(checks), provider=provider)
            log = sample.log(checks).replace(b"provider=model", b"provider=%s" %
                                             provider.encode())
            return judge.judge(wire.parse(log),
                               json.dumps(report), judge.Ending(),
                               expected.load("hypervisor")).status

        def run(absent, record):
            return [("bts.enum.absent_is_consistent", *absent), ("bts.record.size", *record),
                    ("hw.cpu.state", "pass", "")]
        skip, good = ("skip", "no DS"), ("pass", "")
        self.assertEqual(status("none", run(good, skip)), judge.PASS)
        self.assertEqual(status("none", run(skip, skip)), judge.ERROR)
        self.assertEqual(status("native", run(("skip", "BTS is available here"), good)),
                         judge.PASS)
        self.assertEqual(status("native", run(("skip", "BTS is available here"), skip)),
                         judge.ERROR)
        self.assertEqual(status("model", run(good, good)), judge.ERROR)

    def test_fail_outranks_error(self):
        checks = sample.changed(1, "error", "trouble")
        checks[1] = (checks[1][0], "fail", "wrong")
        self.assertEqual(self.check(judge.FAIL, checks).report["verdict"], "fail")

    def test_error(self):
        self.check(judge.ERROR, sample.changed(1, "error", "trouble"))

    def test_pass_where_skip_is_expected(self):
        made = self.check(judge.ERROR, sample.changed(4, "pass", ""))
        self.assertIn("bts.cpl.usr: pass, profile sample expects skip", made.reason)
        self.assertEqual(made.report["checks"][3]["expected_verdict"], "skip")

    def test_skip_for_another_reason(self):
        made = self.check(judge.ERROR, sample.changed(4, "skip", "no time"))
        self.assertIn("no time", made.reason)

    def test_check_that_vanished(self):
        made = self.check(judge.ERROR, sample.CHECKS[1:])
        self.assertIn("4 checks", made.reason)

    def test_named_check_that_vanished(self):
        checks = sample.CHECKS[:3] + sample.CHECKS[4:] + [("bts.new", "pass", "")]
        self.assertIn("names bts.cpl.usr", self.check(judge.ERROR, checks).reason)

    def test_selection_asks_for_less(self):
        self.check(judge.PASS, sample.CHECKS[1:2], whole=False)
        self.check(judge.PASS, sample.changed(1, "skip", "by option"), whole=False)
        self.check(judge.ERROR, sample.changed(1, "skip", "by option"))

    def test_strict_skip(self):
        self.check(judge.SKIPPED, [sample.CHECKS[3]], whole=False, strict_skip=True)
        self.check(judge.PASS, [sample.CHECKS[3]], whole=False)
        self.check(judge.PASS, sample.CHECKS, strict_skip=True)

    def test_provider(self):
        report = sample.report()
        report["provider"] = "none"
        made = judged(sample.log(), json.dumps(report))
        self.assertEqual(made.status, judge.ERROR)
        self.assertIn("provider is none", made.reason)


class Damage(unittest.TestCase):
    def test_no_cut_log_passes(self):
        """With the file whole, with the file missing: never a passing status or verdict."""
        data = sample.log()
        for size in range(len(data)):
            for filed in (account(), None):
                made = judged(data[:size], filed)
                self.assertEqual(made.status, judge.ERROR, size)
                self.assertNotIn(made.report["verdict"], ("pass", "skip"), size)

    def test_no_cut_file_passes(self):
        """The verdicts are then the serial log's, and the summary says so."""
        text = account()
        for size in range(len(text)):
            made = judged(sample.log(), text[:size])
            self.assertEqual(made.status, judge.ERROR, size)
            self.assertEqual(made.source, "serial")
            self.assertEqual(made.report["counts"]["pass"], 4)
            self.assertIn("rebuilt from the serial log", made.notes[0])

    def test_two_runs_are_not_one(self):
        text = account().replace(sample.RUN, "11111111")
        self.assertIn("run_id", judged(sample.log(), text).reason)

    def test_different_stories(self):
        for checks, words in ((sample.changed(1, "fail", "x"), "bts.enum.ds is pass"),
                              (sample.CHECKS[1:], "bts.enum.ds is in the serial log"),
                              (sample.CHECKS + [("a.b", "pass", "")], "a.b is in report.json")):
            made = judged(sample.log(), account(checks))
            self.assertNotEqual(made.status, judge.PASS)
            self.assertIn(words, " ".join(made.problems))

    def test_counts_differ(self):
        report = sample.report()
        report["counts"]["pass"] = 5
        made = judged(sample.log(), json.dumps(report))
        self.assertIn("counts differ", made.reason)

    def test_observations_differ(self):
        report = sample.report()
        report["observations"]["bts.wrap.moment"] = "before"
        self.assertIn("observed different", judged(sample.log(), json.dumps(report)).reason)

    def test_machine_ending(self):
        made = judged(sample.log(), account(), judge.Ending("lingered", "it went on"))
        self.assertEqual((made.status, made.reason), (judge.ERROR, "it went on"))

    def test_unfinished_run_uses_both_accounts(self):
        """The file was last written after check 1; the log reached into check 3."""
        report = sample.report()
        for check in report["checks"][1:]:
            check.update(verdict="error", reason="not run")
        report["counts"] = sample.counts([(c["name"], c["verdict"], "") for c in
                                          report["checks"]])
        report["verdict"] = "error"
        lines = sample.lines()
        data = sample.wire_bytes(lines[:lines.index("# step bts.pmi.threshold") + 1])
        made = judged(data, json.dumps(report), judge.Ending("hang", "hang in x"))
        got = [(c["name"], c["verdict"], c["reason"]) for c in made.report["checks"]]
        self.assertEqual(got, [
            ("bts.enum.ds", "pass", ""), ("bts.record.size", "pass", ""),
            ("bts.pmi.threshold", "error", "hang in x"),
            ("bts.cpl.usr", "error", "not run"), ("bts.wrap.moment", "error", "not run")])
        self.assertEqual(made.status, judge.ERROR)

    def test_empty_log(self):
        made = judged(b"", None, judge.Ending("boot", "no banner within 60 s"))
        self.assertEqual((made.status, made.report["verdict"]), (judge.ERROR, "error"))


if __name__ == "__main__":
    unittest.main()
