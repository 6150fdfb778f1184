# SPDX-License-Identifier: BSD-2-Clause
"""Stands in for QEMU in the runner's tests: plays a run and leaves files on the volume.

FAKE_QEMU holds the words of the play: `pass`, `fail`, `error`, `usage`, `corrupt`, `nofile`,
`cutfile`, `lie` (file and log differ), `hang`, `flood`, `reset`, `restart`, `silent`,
`linger`, `abort`, `die`, `nokvm`.  The log comes in small pieces, as a serial line would
bring it.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import sample  # noqa: E402

USAGE = [sample.lines()[0], "waymark: unknown option 'nonsense'",
         "# waymark end run=%s planned=0 pass=0 fail=0 skip=0 error=0"
         " verdict=usage" % sample.RUN]


def say(data, piece=37):
    for start in range(0, len(data), piece):
        sys.stdout.buffer.write(data[start:start + piece])
        sys.stdout.buffer.flush()


def volume_of(words):
    """The path in the drive that is no flash chip."""
    drive = next(word for word in words if word.startswith("if=none"))
    return next(part[5:] for part in drive.split(",") if part.startswith("file="))


def leave_files(volume, text):
    """What the image writes: waymark/0001-FAKE/report.json."""
    subprocess.run(["mmd", "-i", volume, "::/waymark", "::/waymark/0001-FAKE"], check=True)
    subprocess.run(["mcopy", "-i", volume, "-", "::/waymark/0001-FAKE/report.json"],
                   input=text.encode(), check=True)


def broken_off(play):
    """Logs that end before their end line."""
    lines = sample.lines()
    at = lines.index("# step bts.pmi.threshold") + 1
    say(sample.wire_bytes(lines[:at]))
    if play == "hang":
        time.sleep(60)
    if play == "restart":
        say(sample.wire_bytes(lines[:12]))
    if play == "abort":
        end = "# waymark end run=%s planned=5 pass=2 fail=0 skip=0 error=3 verdict=abort"
        say(sample.wire_bytes(["Bail out! vector=8 rip=0x1000 check=bts.pmi.threshold",
                               end % sample.RUN], b""))
    while play == "flood":
        say(b"# still here\r\n")
        time.sleep(0.01)


def whole(play, volume):
    """Logs with an end line."""
    checks = sample.CHECKS
    if play == "fail":
        checks = sample.changed(2, "fail", "the record has 23 bytes")
    if play == "error":
        checks = sample.changed(2, "error", "it reported nothing")
    if play == "skip":
        checks = sample.changed(2, "skip", "no BTS")
    text = json.dumps(sample.report(checks))
    if play == "lie":
        text = json.dumps(sample.report(sample.changed(1, "fail", "other")))
    if play == "cutfile":
        text = text[:-20]
    lines = sample.lines(checks)
    if play == "corrupt":
        lines[lines.index("# step bts.pmi.threshold") + 1] = "ok 3 - b\x7f\x7fs.pmi"
    if play != "nofile":
        leave_files(volume, text)
    say(sample.wire_bytes(lines))
    if play == "linger":
        time.sleep(60)


def main(words):
    play = os.environ["FAKE_QEMU"]
    if "kvm" in words[words.index("-accel") + 1] and play == "nokvm":
        print("failed to initialize kvm", file=sys.stderr)
        return 1
    if play == "die":
        print("no such machine", file=sys.stderr)
        return 1
    if play == "silent":
        print(os.getpid(), file=sys.stderr, flush=True)
        time.sleep(60)
    elif play == "usage":
        say(sample.wire_bytes(USAGE))
    elif play in ("hang", "flood", "reset", "restart", "abort"):
        broken_off(play)
    else:
        whole(play, volume_of(words))
    return 0 if play in ("reset", "restart") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
