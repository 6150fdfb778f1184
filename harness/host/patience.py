# SPDX-License-Identifier: BSD-2-Clause
"""Time as a process had it: what it stood in the host's queue for a processor does not count.

A guest on a busy host is late and not hung, and nobody can say beforehand how busy.  Linux
counts for each thread how long it was ready and did not run; the rest is time in which the
process computed, or waited for something of its own.  So a bound in these seconds means the
same on an idle host and beside ten other machines.  Where the kernel does not count it is
plain time.
"""

import os
import selectors
import time
from pathlib import Path


class Clock:
    """Seconds since it was made, without those that the process was kept waiting."""

    def __init__(self, pid):
        self.threads = Path("/proc/%d/task" % pid)
        self.started = time.monotonic()
        self.kept = 0.0

    def waited(self):
        """Of the thread that waited longest: the others waited meanwhile, or for it."""
        for thread in self.threads.glob("*/schedstat"):
            try:
                self.kept = max(self.kept, int(thread.read_text().split()[1]) / 1e9)
            except (OSError, IndexError, ValueError):
                pass                # it ended, or the kernel keeps no account
        return self.kept

    def now(self):
        return time.monotonic() - self.started - self.waited()


def output(process, seconds, poll=0.5):
    """What comes from a process, bytes or b"" when nothing did for a while, until it ends or
    seconds of its own time are up."""
    clock = Clock(process.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while clock.now() < seconds:
            data = b""
            if selector.select(poll):
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    return
            yield data
