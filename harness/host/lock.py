# SPDX-License-Identifier: BSD-2-Clause
"""One run at a time in a folder: two would write over each other's files."""

import fcntl
import os

NAME = ".lock"
held = {}                   # folder -> descriptor, for as long as this process lives


class Taken(Exception):
    """Somebody else writes in that folder."""


def take(folder):
    """Makes the folder this process's own; the lock goes when the process does."""
    key = os.path.realpath(folder)
    if key in held:
        return
    # The file stays: to remove it would let two hold a lock on two files of one name.
    mine = os.open(os.path.join(key, NAME), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        who = os.read(mine, 20).decode("ascii", "replace").strip()
        os.close(mine)
        raise Taken("%s: another run writes there (process %s): wait for it, or give this "
                    "one a folder of its own (--out, with make OUT=)" % (
                        folder, who or "?")) from error
    os.ftruncate(mine, 0)
    os.write(mine, b"%d\n" % os.getpid())
    held[key] = mine
