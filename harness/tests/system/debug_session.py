# SPDX-License-Identifier: BSD-2-Clause
"""`make debug` as its user meets it: start it, run the GDB command it prints, stop in C code.

debug_session.py BUILD-FOLDER OWN-FOLDER
"""

import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[2] / "run.py"


def free_port():
    """A port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(build, own):
    words = [sys.executable, str(RUNNER), "--image", build + "/BOOTX64.EFI", "--out", own,
             "--debug", "--gdb-port", str(free_port())]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as runner:
        try:
            line = next((x for x in runner.stdout if x.startswith("gdb ")), None)
            if line is None:
                print("the runner printed no GDB command")
                return 1
            print(line, end="")
            gdb = shlex.split(line)
            gdb[1:1] = ["-nx", "-batch"]
            for command in ("hbreak harness_begin", "continue", "info symbol $pc",
                            "frame", "kill"):
                gdb += ["-ex", command]
            done = subprocess.run(gdb, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=1200, check=False)
            print(done.stdout, done.stderr)
            if re.search(r"^harness_begin in section \.text", done.stdout, re.M) and \
                    re.search(r"harness/[\w/]+\.c:\d+", done.stdout):
                print("harness_begin reached")
                return 0
            return 1
        finally:
            runner.terminate()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
