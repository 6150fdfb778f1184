# SPDX-License-Identifier: BSD-2-Clause
"""Programs as people have them, in QEMU and on the host: the same output, the same files, the
same end.  A language whose compiler is not here is skipped.

programs_session.py served|refused|c|c++|rust|ada|pascal BUILD-FOLDER OWN-FOLDER
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.ending import conclude  # noqa: E402

SOURCES = ROOT / "harness/tests/programs/libc"
ENVIRONMENT = {"GREETING": "hi there", "EMPTY": ""}
WORDS = ["first", "second word"]
# What builds a language's program; the names of source and program come behind.
COMPILERS = {
    "c": ("hello.c", ["musl-gcc", "-O1", "-static", "-o"]),
    "c++": ("iostream.cc", ["g++", "-O1", "-static", "-o"]),
    "rust": ("hello.rs", ["rustc", "-C", "target-feature=+crt-static", "-o"]),
    "ada": ("hello.adb", ["gnatmake", "-q", "-gnatws", "-o"]),
    "pascal": ("hello.pas", ["fpc", "-v0", "-o"]),
}
BEHIND = {"ada": ["-bargs", "-static", "-largs", "-static"]}


class Session:
    """Where things are, and what went wrong so far."""

    def __init__(self, out, place):
        self.out, self.place = Path(out).resolve(), Path(place).resolve()
        self.place.mkdir(parents=True, exist_ok=True)
        self.complaints = []

    def same(self, got, want, what):
        if got != want:
            self.complaints.append("%s: %.300r, expected %.300r" % (what, got, want))

    def build(self, source, command, *behind):
        target = self.place / "program"
        subprocess.run([*command, target, SOURCES / source, *behind], cwd=self.place,
                       stdout=subprocess.DEVNULL, check=True)
        return target

    def trace(self, program, words, options, status):
        done = subprocess.run(
            [sys.executable, ROOT / "harness/trace_run.py", "--image",
             self.out / "BOOTX64.EFI", "--out", self.place / "out", *options, program, "--",
             *words], capture_output=True, text=True, errors="replace", timeout=500,
            check=False)
        self.same(done.returncode, status, "status (%s)" % "\n".join(
            done.stdout.splitlines()[-3:]))
        return done.stdout

    def result(self, name):
        return (self.place / "out" / name).read_bytes()


def native(program, words, folder, given=b""):
    """The same file under the host's own kernel."""
    return subprocess.run([program, *words], cwd=folder, env=ENVIRONMENT, input=given,
                          capture_output=True, check=False)


def tree(folder):
    """{path: content} of all files below."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file()}


def served(session):
    """Every call that is served, in one program: static-pie, with files, input, environment."""
    program = session.build("served.c", ["gcc", "-O1", "-static-pie", "-Wall", "-Wextra",
                                         "-Werror", "-o"])
    given = session.place / "given"
    shutil.rmtree(given, ignore_errors=True)
    (given / "in").mkdir(parents=True)
    (given / "in/notes.txt").write_text("hello notes\nline two\n")
    (given / "in/old").write_text("old\n")
    numbers = session.place / "numbers"
    numbers.write_bytes(b"1\n22\n333")
    options = ["--files", given, "--stdin", numbers, "--seed", "7"]
    for name, value in ENVIRONMENT.items():
        options += ["--env", "%s=%s" % (name, value)]
    said = session.trace(program, WORDS, options, 1)
    there = session.place / "there"
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(given, there)
    done = native(program, WORDS, there, numbers.read_bytes())
    session.same(done.returncode, -6, "the host's own end")
    for stream, name in ((done.stdout, "program.out"), (done.stderr, "program.err")):
        lines = list(zip(session.result(name).split(b"\n"), stream.split(b"\n")))
        wrong = [pair for pair in lines if pair[0] != pair[1]]
        session.same(wrong[:3], [], name + ", here and there")
        session.same(len(session.result(name)), len(stream), name + ", length")
    changed = {path: content for path, content in tree(there).items()
               if tree(given).get(path) != content}
    session.same(tree(session.place / "out/files"), changed, "what it left")
    session.same(re.findall(r"^program: (\w+) at 0x\w+ \((.*)\)$", said, re.M),
                 [("SIGABRT", "exit 134")], said)
    session.same("refused" in said, False, said)
    kinds = {kind: body for kind, _, _, body, _ in wtr_file.read(session.result("trace.wtr"))}
    session.same(int.from_bytes(kinds["start"][:8], "little"), 7, "seed in the trace")
    session.same(b"GREETING=hi there\0EMPTY=\0" in kinds["start"], True, "environment")
    check = subprocess.run([session.out / "wtr", "check", session.place / "out/trace.wtr"],
                           capture_output=True, text=True, check=False)
    session.same(check.returncode, 0, "wtr check: " + check.stdout + check.stderr)


def refused(session):
    """A thread and sockets are refused by name; a wait for nobody ends and says so."""
    program = session.build("threads.c", ["gcc", "-static", "-no-pie", "-o"])
    said = session.trace(program, [], ["--option", "untraced=1"], 1)
    session.same(session.result("program.out"),
                 b"Resource temporarily unavailable\n-1 -1\n", "its output")
    for words in (r"clone x1 \(one thread only\)", r"socket x2 \(no network\)"):
        session.same(re.search(r"^refused: .*\b" + words, said, re.M) is None, False, said)
    session.same("waits in futex" in said and "in futex for ever" in said.splitlines()[-1],
                 True, said)


def language(session, name):
    """Its runtime starts, prints and ends as under the host's kernel."""
    source, command = COMPILERS[name]
    if not shutil.which(command[0]):
        return False
    program = session.build(source, command, *BEHIND.get(name, []))
    done = native(program, WORDS, session.place)
    # What a C++ or a Rust runtime does at an exception is long; here it is whether it can.
    options = ["--option", "untraced=1"] if name in ("c++", "rust") else []
    said = session.trace(program, WORDS, options, 0)
    session.same(session.result("program.out"), done.stdout, "its output")
    session.same(re.findall(r"^program: exit (\d+)", said, re.M), [str(done.returncode)], said)
    session.same("refused" in said, False, said)
    return True


def main():
    what, out, place = sys.argv[1:]
    session = Session(out, place)
    os.environ.pop("RUST_BACKTRACE", None)
    if what in COMPILERS:
        if not language(session, what):
            print("SKIP: there is no %s" % COMPILERS[what][1][0])
            return 0
    else:
        {"served": served, "refused": refused}[what](session)
    return conclude(what, session)


if __name__ == "__main__":
    sys.exit(main())
