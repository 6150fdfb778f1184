# SPDX-License-Identifier: BSD-2-Clause
"""The table of `make check`, its selection and its judgement; deps.sh; the host's clock."""

import io
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from pathlib import Path

from harness.dev import check, entries
from harness.host import patience

ROOT = Path(__file__).resolve().parents[3]


class Table(unittest.TestCase):
    """No row of DEEP or COSTS without an entry, and names are names."""

    def setUp(self):
        self.table = entries.table(Path("out"))
        self.names = [entry.name for entry in self.table]

    def test_patterns_match(self):
        for pattern in (*entries.DEEP, *entries.COSTS):
            if pattern.startswith("host."):
                continue            # whether they are built is another entry's question
            self.assertTrue(any(fnmatchcase(name, pattern) for name in self.names), pattern)

    def test_names_differ(self):
        self.assertEqual(len(self.names), len(set(self.names)))

    def test_what_stands_in_is_run(self):
        """What DEEP names in an entry's place is not left out itself."""
        deep = {entry.name: entry for entry in self.table if entry.deep}
        for entry in deep.values():
            self.assertNotIn(entry.deep.split()[0].strip(",:;"), deep, entry.name)

    def test_longest_first(self):
        free = [entry.cost for entry in self.table if not entry.after]
        self.assertEqual(free, sorted(free, reverse=True))

    def test_select(self):
        self.assertEqual([entry.name for entry in check.select(self.table, ["style", "form*"])],
                         [name for name in self.names if name in ("style", "format")])
        self.assertIn("suite.model", [entry.name for entry in check.select(
            self.table, ["report.html"])])


class Judgement(unittest.TestCase):
    """An entry fails by its status, a word that it lacks, or the time."""

    def failed(self, **row):
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            session = check.Check(Path(folder), [entries.Entry("one", **row)])
            return session.run()

    def test_verdicts(self):
        said = [sys.executable, "-c", "print('a word')"]
        self.assertEqual(self.failed(command=said, wants=["^a word$"]), 0)
        self.assertEqual(self.failed(command=said, wants=["^word$"]), 1)
        self.assertEqual(self.failed(command=said, status=1), 1)
        self.assertEqual(self.failed(command=said, verify=lambda place, log: ["no"]), 1)
        self.assertEqual(self.failed(command=["sleep", "60"], seconds=1), 1)


class Deps(unittest.TestCase):
    """deps.sh looks at the goals."""

    def packages(self, *goals):
        return subprocess.run(["sh", ROOT / "harness/deps.sh", "--list", *goals], check=True,
                              capture_output=True, text=True).stdout.split()

    def test_goals(self):
        every, run = self.packages(), self.packages("run-qemu")
        self.assertEqual(every, self.packages("check"))
        self.assertEqual(every, self.packages("run-qemu", "no-such-goal"))
        self.assertLess(set(run), set(every))
        self.assertLessEqual({"gcc", "nasm", "qemu-system-x86", "ovmf", "mtools"}, set(run))
        self.assertFalse({"chromium", "lava-common", "python3-labgrid", "gdb"} & set(run))
        self.assertEqual(set(self.packages("run-qemu", "trace")),
                         set(run) | set(self.packages("trace")))


class Patience(unittest.TestCase):
    """A process's own time is no more than the clock's, and goes on."""

    def test_clock(self):
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
            try:
                before, clock = time.monotonic(), patience.Clock(process.pid)
                first = clock.now()
                time.sleep(1)
                second, gone = clock.now(), time.monotonic() - before
            finally:
                process.kill()
        self.assertLessEqual(second, gone)
        self.assertGreaterEqual(second, first)

    def test_output(self):
        with subprocess.Popen([sys.executable, "-c", "print('x')"],
                              stdout=subprocess.PIPE) as process:
            self.assertEqual(b"".join(patience.output(process, 60)), b"x\n")
        with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as process:
            self.assertEqual(set(patience.output(process, 1)), {b""})
            process.kill()


if __name__ == "__main__":
    unittest.main()
