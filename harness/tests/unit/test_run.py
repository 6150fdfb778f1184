# SPDX-License-Identifier: BSD-2-Clause
"""The runner from command line to files, against a fake QEMU: each ending, its status."""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from harness import run, wire
from harness.host import lock, schema
from harness.tests.fakes import sample

ROOT = Path(__file__).resolve().parents[3]
FAKE = "%s %s" % (sys.executable, Path(__file__).parents[1] / "fakes/fake_qemu.py")


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.image = self.out / "BOOTX64.EFI"
        self.image.write_bytes(b"MZ")
        self.code = self.out / "code.fd"
        self.code.write_bytes(b"firmware")

    def run_play(self, play, *words, options=(), **env):
        """(status, output lines) of one run of the real runner."""
        env = {**os.environ, "QEMU": FAKE, "OVMF_CODE": str(self.code),
               "OVMF_VARS": str(self.code), "FAKE_QEMU": play, **env}
        done = subprocess.run(
            [sys.executable, str(ROOT / "harness/run.py"), "--image", str(self.image),
             "--out", str(self.out), "--profile", "sample", *words, "--", *options],
            env=env, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertTrue(lines[-1].startswith("status: %d " % done.returncode), lines)
        return done.returncode, lines

    def report(self):
        report = json.loads((self.out / "report.json").read_text())
        self.assertEqual(schema.errors(report, schema.report_schema()), [])
        counts = report["counts"]
        self.assertEqual(counts["planned"], sum(counts[k] for k in counts) - counts["planned"])
        return report

    def test_pass(self):
        status, lines = self.run_play("pass")
        self.assertEqual(status, 0, lines)
        report = self.report()
        self.assertEqual(report["verdict"], "pass")
        self.assertEqual(report["host"]["source"], "image")
        self.assertEqual((self.out / "serial.log").read_bytes(), sample.log())
        covered = report["coverage"].values()
        self.assertEqual(lines[-2], "clauses: %d of %d covered" % (
            sum(part["covered"] for part in covered), sum(part["total"] for part in covered)))
        self.assertNotIn("\x1b", "".join(lines))
        self.assertIn("ok 4 - bts.cpl.usr # SKIP no DS-CPL",
                      (self.out / "report.tap").read_text())

    def test_fail(self):
        status, lines = self.run_play("fail")
        self.assertEqual(status, 1)
        self.assertIn("FAIL  bts.record.size: the record has 23 bytes", lines)
        self.assertTrue(any("a -> b" in line for line in lines), lines)
        self.assertEqual(self.report()["checks"][1]["expected_verdict"], "pass")

    def test_error(self):
        status, lines = self.run_play("error")
        self.assertEqual(status, 2)
        self.assertIn("ERROR bts.record.size: it reported nothing", lines)

    def test_trials_cover_nothing(self):
        status, lines = self.run_play("pass", options=["prove=defects"])
        self.assertEqual(status, 0, lines)
        self.assertFalse([line for line in lines if line.startswith("clauses:")])

    def test_skip_where_pass_is_expected(self):
        status, lines = self.run_play("skip")
        self.assertEqual(status, 2)
        self.assertIn("bts.record.size: skip, profile sample expects pass", lines[-1])

    def test_hang_names_the_check(self):
        status, lines = self.run_play("hang", "--check-timeout", "2")
        self.assertEqual(status, 2)
        self.assertIn("hang in bts.pmi.threshold", lines[-1])
        checks = self.report()["checks"]
        self.assertEqual([c["verdict"] for c in checks],
                         ["pass", "pass", "error", "error", "error"])
        self.assertIn("hang", checks[2]["reason"])
        self.assertEqual({c["reason"] for c in checks[3:]}, {"not run"})

    def test_flood_runs_out_of_time(self):
        status, lines = self.run_play("flood", "--timeout", "5")
        self.assertEqual(status, 2)
        self.assertIn("time is up in bts.pmi.threshold", lines[-1])

    def test_reset(self):
        status, lines = self.run_play("reset")
        self.assertEqual(status, 2)
        self.assertIn("the machine reset or stopped in bts.pmi.threshold", lines[-1])

    def test_restart(self):
        status, lines = self.run_play("restart")
        self.assertEqual(status, 2)
        self.assertTrue(any("started again in bts.pmi.threshold" in x for x in lines), lines)

    def test_silence(self):
        status, lines = self.run_play("silent", "--boot-timeout", "2")
        self.assertEqual(status, 2)
        self.assertIn("no banner", lines[-1])

    def test_a_terminated_runner_takes_its_machine_along(self):
        env = {**os.environ, "QEMU": FAKE, "OVMF_CODE": str(self.code), "FAKE_QEMU": "silent"}
        runner = subprocess.Popen(
            [sys.executable, str(ROOT / "harness/run.py"), "--image", str(self.image),
             "--out", str(self.out)], env=env, stdout=subprocess.PIPE, text=True)
        said = self.out / "qemu.log"
        for _ in range(300):
            if said.is_file() and said.read_text().endswith("\n"):
                break
            time.sleep(0.1)
        runner.terminate()
        lines = runner.communicate(timeout=600)[0].splitlines()
        self.assertEqual((runner.returncode, lines[-1]), (2, "status: 2 interrupted"))
        with self.assertRaises(ProcessLookupError):
            os.kill(int(said.read_text()), 0)

    def test_linger(self):
        status, lines = self.run_play("linger", "--leave-timeout", "1")
        self.assertEqual(status, 2)
        self.assertIn("did not stop after its end line", lines[-1])

    def test_one_run_in_a_folder(self):
        """A second one says who is there, and touches nothing of the first one's."""
        with tempfile.TemporaryDirectory() as folder:
            other = subprocess.Popen(
                [sys.executable, "-c", "import sys, time\nfrom harness.host import lock\n"
                 "lock.take(sys.argv[1])\nprint('mine', flush=True)\ntime.sleep(60)", folder],
                stdout=subprocess.PIPE, text=True, cwd=ROOT)
            try:
                self.assertEqual(other.stdout.readline(), "mine\n")
                with self.assertRaisesRegex(lock.Taken, "process %d.*--out" % other.pid):
                    lock.take(folder)
            finally:
                other.kill()
                other.wait()
                other.stdout.close()
            lock.take(folder)
            lock.take(folder)

    def test_abort(self):
        status, lines = self.run_play("abort")
        self.assertEqual(status, 2)
        self.assertIn("vector=8", lines[-1])
        self.assertEqual(self.report()["verdict"], "abort")

    def test_corrupt(self):
        status, lines = self.run_play("corrupt")
        self.assertEqual(status, 2)
        self.assertIn("broken line: ok 3 - b\\x7f\\x7fs.pmi", lines[-1])

    def test_usage(self):
        status, lines = self.run_play("usage", options=["nonsense=1"])
        self.assertEqual(status, 3)
        self.assertIn("unknown option 'nonsense'", lines[-1])

    def test_missing_file_is_rebuilt(self):
        status, lines = self.run_play("nofile")
        self.assertEqual(status, 2)
        self.assertTrue(any("rebuilt from the serial log" in x for x in lines), lines)
        self.assertEqual(self.report()["counts"]["pass"], 4)

    def test_cut_file_is_rebuilt(self):
        status, lines = self.run_play("cutfile")
        self.assertEqual(status, 2)
        self.assertTrue(any("rebuilt from the serial log" in x for x in lines), lines)

    def test_file_and_log_disagree(self):
        status, lines = self.run_play("lie")
        self.assertIn(status, (1, 2))
        self.assertTrue(any("bts.enum.ds is pass in the serial log and fail" in x
                            for x in lines), lines)

    def test_qemu_says_no(self):
        status, lines = self.run_play("die")
        self.assertEqual(status, 2)
        self.assertIn("no such machine", lines[-1])

    def test_kvm_falls_back(self):
        status, lines = self.run_play("nokvm", "--accel", "kvm")
        self.assertEqual(status, 0)
        self.assertEqual(sum("using tcg" in line for line in lines), 1)

    def test_missing_tools(self):
        for env, word in (({"QEMU": "/nowhere/qemu"}, "qemu-system-x86"),
                          ({"OVMF_CODE": "/nowhere/code.fd"}, "ovmf"),
                          ({"PATH": "/nowhere"}, "mtools")):
            status, lines = self.run_play("pass", **env)
            self.assertEqual(status, 2)
            self.assertIn("install the package " + word, lines[-1])

    def test_missing_image(self):
        self.image.unlink()
        status, lines = self.run_play("pass")
        self.assertEqual(status, 2)
        self.assertIn("build it with make", lines[-1])

    def test_bad_usage_of_the_runner(self):
        for words, options in ((("--nonsense",), ()), (("--accel", "warp"), ()),
                               (("--boot-timeout", "-1"), ()), (("--profile", "x"), ()),
                               ((), ("a\nb=1",)), ((), ("=1",)), ((), ("\u00e9=1",))):
            status, lines = self.run_play("pass", *words, options=options)
            self.assertEqual(status, 3, (words, options, lines))
            self.assertFalse((self.out / "volume.img").exists())

    def test_old_results_do_not_survive(self):
        self.run_play("pass")
        self.run_play("die")
        self.assertNotEqual(self.report()["verdict"], "pass")


class Terminal(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def isatty(self):
        return self.answer


class Progress(unittest.TestCase):
    """One line, rewritten, on a terminal; test_pass shows that the runner asks the stream."""

    def shown(self, terminal):
        stream = Terminal(terminal)
        progress = run.Progress(stream)
        parser = wire.Parser()
        for line in sample.log().splitlines(True):
            parser.feed(line)
            progress(parser.log)
        progress.clear()
        return stream.getvalue()

    def test_terminal(self):
        shown = self.shown(True)
        for number, check in enumerate(sample.CHECKS):
            self.assertIn("\r\x1b[K%d/5 %s" % (number, check[0]), shown)
        self.assertNotIn("\n", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"))

    def test_anything_else(self):
        self.assertEqual(self.shown(False), "")


if __name__ == "__main__":
    unittest.main()
