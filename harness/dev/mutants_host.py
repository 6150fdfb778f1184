# SPDX-License-Identifier: BSD-2-Clause
"""Judging a mutant of ds/ by the unit tests alone: one file compiled anew, every test linked.

Without the sanitizers, and with the objects of everything else kept, so that a mutant costs a
second or two.
"""

import resource
import subprocess
import time

FLAGS = ["-std=gnu11", "-O1", "-w", "-D_GNU_SOURCE", "-DWAYMARK_HOST", "-I."]
SHARED = ["harness/tests/fakes/fake_*.c", "hw/pmc.c", "ds/*.c"]
TESTS = ["harness/tests/unit/test_ds_*.c", "harness/tests/unit/fuzz_ds_*.c"]
LEFT_OUT = {"test_ds_bracket"}      # of the assembly
SECONDS = 20                        # of the processor; a test takes two at most


def limited():
    """In a child: a test that loops is ended by what it used, however busy the host is."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


class HostBench:
    """Object files of ds/, its fakes and its tests, from the sources under tree."""

    def __init__(self, tree, out):
        self.tree = tree
        self.out = out
        self.out.mkdir(parents=True, exist_ok=True)
        self.shared = [path for pattern in SHARED for path in sorted(tree.glob(pattern))]
        self.tests = [path for pattern in TESTS for path in sorted(tree.glob(pattern))
                      if path.stem not in LEFT_OUT]

    def object(self, path):
        return self.out / ("%s.o" % "-".join(path.relative_to(self.tree).with_suffix("").parts))

    def compile(self, path):
        return subprocess.run(["cc", *FLAGS, "-c", "-o", str(self.object(path)), str(path)],
                              cwd=self.tree, capture_output=True, check=False).returncode == 0

    def passes(self, test):
        program = self.out / test.stem
        objects = [str(self.object(path)) for path in (test, *self.shared)]
        linked = subprocess.run(["cc", "-o", str(program), *objects], capture_output=True,
                                check=False).returncode == 0
        try:
            return linked and subprocess.run([str(program)], timeout=60 * SECONDS,
                                             preexec_fn=limited,
                                             stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL,
                                             check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def prepare(self):
        """Names of what fails undamaged; the quick tests come first from then on."""
        failing = [path.name for path in (*self.shared, *self.tests) if not self.compile(path)]
        seconds = {}
        for test in self.tests:
            start = time.monotonic()
            if not failing and not self.passes(test):
                failing.append(test.name)
            seconds[test] = time.monotonic() - start
        self.tests.sort(key=seconds.get)
        return failing

    def knows(self, name):
        """Whether the tests contain that file at all."""
        return self.tree / name in self.shared

    def failing(self, name):
        """The first test that fails with the file as it is now, or None. The object stays."""
        path = self.tree / name
        if not self.compile(path):
            return "the compiler"
        return next((test.stem for test in self.tests if not self.passes(test)), None)
