#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The image as gdbserver: what GDB's own test suite starts (harness/labs/waymark-board.exp).

waymark_gdbserver.py [--once] [--multi] [HOST]:PORT PROGRAM [ARGUMENT...]

Boots the image in QEMU with PROGRAM and says `Listening on port PORT` once GDB may connect.
WAYMARK_IMAGE names the image, WAYMARK_GDB more options of gdb_run.py.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(words):
    while words and words[0].startswith("--"):
        words.pop(0)
    if len(words) < 2 or ":" not in words[0]:
        print(__doc__, file=sys.stderr)
        return 3
    port = words[0].rpartition(":")[2]
    image = os.environ.get("WAYMARK_IMAGE", str(ROOT / "out/BOOTX64.EFI"))
    folder = tempfile.mkdtemp(prefix="waymark-gdb-")
    command = [sys.executable, str(ROOT / "harness/gdb_run.py"), "--image", image,
               "--out", folder, "--serve", "--port", port,
               *shlex.split(os.environ.get("WAYMARK_GDB", "")), words[1], "--", *words[2:]]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            for line in server.stdout:
                if line.startswith("port "):
                    print("Listening on port " + port, flush=True)
                elif line.startswith("status: ") and not line.startswith("status: 0"):
                    print(line, end="", flush=True)
            return server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
