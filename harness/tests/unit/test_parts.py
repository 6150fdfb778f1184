# SPDX-License-Identifier: BSD-2-Clause
"""Small parts: schema validator, profiles, firmware search, words, the FAT volume."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from harness import matrix, run, trace_run
from harness.dev import mutants
from harness.host import disk, expected, fat, qemu, schema
from harness.tests.fakes import sample


class Schema(unittest.TestCase):
    """Each keyword accepts and refuses; the whole schema refuses each kind of damage."""

    def test_keywords(self):
        for rule, good, bad in (
                ({"type": "integer"}, 1, True), ({"type": ["string", "null"]}, None, 1),
                ({"type": "number"}, 1.5, "1"), ({"const": 1}, 1, True),
                ({"enum": ["a"]}, "a", "b"), ({"pattern": "^a$"}, "a", "ab"),
                ({"minLength": 1}, "a", ""), ({"minimum": 0}, 0, -1), ({"maximum": 3}, 3, 4),
                ({"required": ["a"]}, {"a": 1}, {}),
                ({"properties": {"a": {"type": "string"}}}, {"a": ""}, {"a": 1}),
                ({"additionalProperties": False}, {}, {"a": 1}),
                ({"additionalProperties": {"type": "string"}}, {"a": ""}, {"a": 1}),
                ({"propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
                ({"items": {"type": "string"}}, ["a"], ["a", 1]),
                ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3),
                ({"if": {"const": 1}, "then": {"minimum": 2}}, 5, 1),
                ({"if": {"const": 1}, "else": {"minimum": 5}}, 1, 3),
                ({"$ref": "#/$defs/x", "$defs": {"x": {"const": 1}}}, 1, 2)):
            self.assertEqual(schema.errors(good, rule), [], rule)
            self.assertNotEqual(schema.errors(bad, rule), [], rule)

    def test_unknown_keyword_is_refused(self):
        with self.assertRaises(ValueError):
            schema.errors(1, {"multipleOf": 2})

    def test_report(self):
        rules = schema.report_schema()
        self.assertEqual(schema.errors(sample.report(), rules), [])
        for key in list(sample.report()):
            broken = sample.report()
            del broken[key]
            self.assertNotEqual(schema.errors(broken, rules), [], key)
        for key, value in (("verdict", "good"), ("clauses", "x"), ("ms", -1), ("extra", 1),
                           ("name", "Not A Name")):
            broken = sample.report()
            broken["checks"][0][key] = value
            self.assertNotEqual(schema.errors(broken, rules), [], key)
        broken = sample.report(sample.changed(1, "fail", ""))
        self.assertNotEqual(schema.errors(broken, rules), [], "a failure without a reason")


class Profiles(unittest.TestCase):
    def test_all_load(self):
        self.assertLessEqual({"qemu", "qemu-nosvm", "hardware"}, set(expected.names()))
        for name in expected.names():
            self.assertTrue(expected.load(name)["description"])

    def test_unknown(self):
        with self.assertRaisesRegex(expected.Unknown, "there are .*qemu"):
            expected.load("warp")

    def test_no_check_vanishes(self):
        """One check fewer than the build found in the image is told; as many are good."""
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder) / "BOOTX64.EFI"
            self.assertEqual(expected.load("qemu", image)["at_least"], 1)
            image.with_name("checks.txt").write_text("hw.a kind=must\nhw.b kind=must\n")
            profile = expected.load("qemu", image)
        for count, want in ((1, ["1 checks, profile qemu expects at least 2"]), (2, [])):
            checks = [{"name": "x.%d" % n} for n in range(count)]
            told = [text for text in expected.whole_run(profile, checks, set())
                    if "at least" in text]
            self.assertEqual(told, want)

    def test_first_exception_decides(self):
        profile = {"name": "x", "default": "pass", "at_least": 0, "checks": [
            {"name": "a.b", "verdict": "fail"}, {"name": "a.*", "verdict": ["skip", "pass"]}]}
        for name, verdicts in (("a.b", ["fail"]), ("a.c", ["skip", "pass"]), ("b", ["pass"])):
            self.assertEqual(expected.rule_for(profile, name)[0], verdicts)


class Explained(unittest.TestCase):
    """Why a mutant survives is said of lines that are there, or not at all."""

    def test_nothing_is_stale(self):
        self.assertEqual(mutants.stale(), [])

    def test_a_changed_line_is_noticed(self):
        key = ("record.c", "return what_was_here;", "return !what_was_here;")
        with unittest.mock.patch.dict(mutants.EXPLAINED, {key: "for no reason"}):
            self.assertEqual(mutants.stale(), [key])


class Firmware(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, *names):
        for name in names:
            (self.folder / name).write_bytes(b"x")

    def found(self, env=None, **more):
        return qemu.find_firmware(env or {}, [self.folder], **more)

    def test_order(self):
        with self.assertRaisesRegex(qemu.Missing, "install the package ovmf"):
            self.found()
        self.put("OVMF_CODE.fd", "OVMF_VARS.fd")
        self.assertEqual(self.found().code.name, "OVMF_CODE.fd")
        self.put("OVMF_CODE_4M.fd")
        self.assertEqual(self.found().code.name, "OVMF_CODE.fd")
        self.put("OVMF_VARS_4M.fd")
        self.assertEqual(self.found().vars.name, "OVMF_VARS_4M.fd")

    def test_a_single_file_unless_variables_must_last(self):
        self.put("OVMF.fd")
        self.assertEqual(self.found(variables=True).vars, None)
        self.put("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd")
        self.assertEqual(self.found().code.name, "OVMF.fd")
        self.assertEqual(self.found(variables=True).code.name, "OVMF_CODE_4M.fd")

    def test_environment_wins(self):
        self.put("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd", "mine.fd")
        mine = self.folder / "mine.fd"
        self.assertEqual(self.found({"OVMF_CODE": str(mine)}).code, mine)

    def test_command(self):
        self.put("code.fd", "vars.fd")
        firmware = qemu.Firmware(self.folder / "code.fd", self.folder / "vars.fd")
        words = qemu.command(["qemu"], firmware, self.folder, "v.img", cpus=2, gdb=1234)
        for pair in (("-smp", "2"), ("-cpu", "Haswell,+svm"), ("-accel", "tcg,thread=single"),
                     ("-gdb", "tcp:127.0.0.1:1234")):
            self.assertEqual(words[words.index(pair[0]) + 1], pair[1])
        self.assertIn("-no-reboot", words)
        self.assertTrue((self.folder / "ovmf-vars.fd").is_file())


@unittest.skipUnless(shutil.which("mformat"), "no mtools")
class Words(unittest.TestCase):
    """What is wrong with a word is said before anything is built or booted."""

    def test_program(self):
        for words in (["--memory", "16"], ["--memory", "x"], ["--volume", "0"],
                      ["--volume", "-1"], ["--option", "bogus"], ["--option", "\xe9=1"]):
            with self.assertRaisesRegex(run.Usage, words[0], msg=words):
                trace_run.arguments(words + ["program"])

    def test_names_and_counts(self):
        for made, bad in ((matrix.named, ("x", "=x", "x=", "")),
                          (mutants.at_least_one, ("0", "-1", "x", ""))):
            for word in bad:
                with self.assertRaises(argparse.ArgumentTypeError, msg=word):
                    made(word)
        self.assertEqual((matrix.named("7.2=qemu"), mutants.at_least_one("1")),
                         ("7.2=qemu", 1))

    def test_output_that_takes_no_more(self):
        words = [sys.executable, "harness/run.py", "rejudge"]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.json")
            path.write_text(json.dumps(sample.report()))
            want = subprocess.run([*words, path], stdout=subprocess.DEVNULL, check=False)
            with open("/dev/full", "wb") as full:
                done = subprocess.run([*words, path], stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual(done.returncode, want.returncode or 2)
            self.assertRegex(done.stderr, r"\Astatus: \d standard output: .*\n\Z")
            with subprocess.Popen([*words, path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as early:
                early.stdout.close()
                self.assertEqual(early.stderr.read(), b"")
            self.assertEqual(early.returncode, want.returncode)

    def test_disk_of_nothing(self):
        with self.assertRaisesRegex(fat.Trouble, "build it with make"):
            disk.create("/nowhere/disk.img", "/nowhere/image")


class Volume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.image = self.folder / "x.efi"
        self.image.write_bytes(b"MZ" * 5000)
        self.volume = self.folder / "volume.img"
        fat.create(self.volume, self.image, ["run=bts.*", "exit=debug"])

    def test_contents(self):
        fat.run("mcopy", "-i", self.volume, "::/EFI/BOOT/*", self.folder)
        self.assertEqual((self.folder / "BOOTX64.EFI").read_bytes(), self.image.read_bytes())
        self.assertEqual((self.folder / "waymark.cfg").read_text(), "run=bts.*\nexit=debug\n")

    @unittest.skipUnless(shutil.which("fsck.fat"), "no fsck.fat")
    def test_an_independent_checker_agrees(self):
        done = subprocess.run(["fsck.fat", "-n", str(self.volume)], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_newest_results(self):
        self.assertIsNone(fat.results(self.volume, self.folder / "got"))
        fat.run("mmd", "-i", self.volume, "::/waymark")
        for name in ("0001-A", "0003-B", "0002-C"):
            fat.run("mmd", "-i", self.volume, "::/waymark/" + name)
        self.assertEqual(fat.results(self.volume, self.folder / "got").name, "0003-B")

    def test_trouble_has_words(self):
        with self.assertRaisesRegex(fat.Trouble, "mcopy"):
            fat.run("mcopy", "-i", self.volume, "::/nothing", self.folder)


if __name__ == "__main__":
    unittest.main()
