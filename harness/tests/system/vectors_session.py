# SPDX-License-Identifier: BSD-2-Clause
"""The vectors, made anew and read by the programs that they are made for.

vectors_session.py same|perf|lcov|gdb|image BUILD-FOLDER OWN-FOLDER
"""

import filecmp
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(ROOT)

from harness.vectors import vectors  # noqa: E402

PATIENCE = 600
PCS = ("python print('PCS', *['%x' % i.pc for i in gdb.current_recording()"
       ".instruction_history])")


class Wrong(Exception):
    """A file does not hold what it should."""


def demand(good, text):
    if not good:
        raise Wrong(text)


def run(*words, cwd, status=0):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE * 5,
                          check=False)
    demand(done.returncode == status, "%s: status %d: %s" % (words[0], done.returncode,
                                                             done.stdout + done.stderr))
    return done


def lines(folder, name):
    return (folder / name).read_text().splitlines()


def same(build, folder):
    """Made twice, in two places, they are equal; and none is missing, empty or unknown."""
    again = folder.with_name("again" * 5)
    count = vectors.make(build, again)
    names = sorted(path.name for path in again.iterdir())
    demand(count == len(names) > 50, "%d files" % count)
    differ = filecmp.cmpfiles(folder, again, names, shallow=False)
    demand(differ[0] == names, "not equal: %s" % (differ[1:],))
    demand(all((folder / name).stat().st_size for name in names), "a file is empty")
    run("sha256sum", "--quiet", "-c", "SHA256SUMS", cwd=folder)
    text = (folder / "README.txt").read_text()
    demand(all(re.search("^%s " % trace, text, re.M) for trace in vectors.TRACES),
           "README.txt leaves a trace out")


def perf(build, folder):
    """perf script prints the expected text, and says how often something is lost."""
    for trace in vectors.TRACES:
        done = run("perf", "script", "-i", trace + ".perf.data", "--itrace=b", "-F",
                   "ip,sym,symoff,addr", cwd=folder)
        demand(done.stdout == (folder / (trace + ".perf-script")).read_text(),
               trace + ": perf prints something else")
        said = "AUX data lost 2 times" if trace == "mix-gap" else ""
        demand(said in done.stderr and bool(said) == bool(done.stderr.strip()),
               "%s: perf says %s" % (trace, done.stderr))


def lcov(build, folder):
    """genhtml takes each tracefile and finds the sources beside it."""
    for trace in vectors.TRACES:
        done = run("genhtml", "--branch-coverage", "-o", folder.with_name("genhtml"),
                   trace + ".info", cwd=folder)
        text = (folder / (trace + ".info")).read_text()
        for word, found, hit in (("lines", "LF", "LH"), ("branches", "BRF", "BRH")):
            want = [int(re.search("^%s:(.*)" % tag, text, re.M)[1]) for tag in (hit, found)]
            demand(re.search(r"%s\.+: [\d.]+%% \(%d of %d " % (word, *want), done.stdout),
                   "%s: %s: %s" % (trace, want, done.stdout))


def histories(folder, trace):
    """The instructions that GDB makes of a document."""
    program = re.match(r"\w+", trace)[0]
    stub = ROOT / "harness/vectors/vector_stub.py"
    with subprocess.Popen([sys.executable, stub, folder, trace],
                          stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline().split()[1])
        done = run("gdb", "-nx", "-q", "-batch", "-ex", "target remote 127.0.0.1:%d" % port,
                   "-ex", "info record", "-ex", PCS, "-ex", "reverse-stepi", "-ex",
                   "p/x (long)$pc", program, cwd=folder)
    said = done.stdout + done.stderr
    demand("(0 gaps)" in said and "warning" not in said, trace + ": " + said)
    pcs = re.search("^PCS (.*)$", said, re.M)[1].split()
    demand(re.search(r"^\$1 = 0x%s$" % pcs[-1], said, re.M), trace + ": " + said[-300:])
    return pcs


def gdb(build, folder):
    """Each document is, to a stock GDB, what the single steps were."""
    steps = {name: lines(folder, name + ".steps") for name in ("calls", "labels", "mix",
                                                              "mix-kernel")}
    for trace, want in steps.items():
        demand(histories(folder, trace) == want[:-1], trace + ": GDB's history differs")
    # What follows the last gap; the second task, whose beginning and end nobody knows.
    after = histories(folder, "mix-gap")
    demand(100 < len(after) and after == steps["mix"][-1 - len(after):-1], "mix-gap")
    second = histories(folder, "mix-tasks.2")
    first = "".join(word + " " for word in histories(folder, "mix-tasks.1"))
    demand(len(second) > 800 and "".join(word + " " for word in second) in first, "mix-tasks")


def image(build, folder):
    """The image, in QEMU, records of the same files what single steps on the host found."""
    for program in ("calls", "labels"):
        run(sys.executable, ROOT / "harness/trace_run.py", "--image", build / "BOOTX64.EFI",
            "--out", folder.with_name("machine"), folder / program, cwd=ROOT)
        trace = folder.with_name("machine") / "trace.wtr"
        got = run(build / "wtr", "list", "--raw", trace, cwd=folder).stdout.splitlines()
        demand(got == lines(folder, program + ".branches"), program + ": other branches")
        document = run(build / "wtr", "btrace", trace, cwd=folder).stdout
        demand(document == (folder / (program + ".btrace.xml")).read_text(),
               program + ": another document")


CASES = {one.__name__: (one, tool, package) for one, tool, package in (
    (same, "sha256sum", "coreutils"), (perf, "perf", "linux-perf"), (lcov, "genhtml", "lcov"),
    (gdb, "gdb", "gdb"), (image, "qemu-system-x86_64", "qemu-system-x86"))}


def main(case, build, own):
    function, tool, package = CASES[case]
    build, own = Path(build).resolve(), Path(own).resolve()
    if not shutil.which(tool):
        print("%s: SKIP: %s is not installed (package %s)" % (case, tool, package))
        return 0
    try:
        vectors.make(build, own / "vectors")
        function(build, own / "vectors")
    except (Wrong, OSError, subprocess.SubprocessError) as error:
        print("%s: %s" % (case, error))
        return 1
    print("%s: as expected" % case)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
