# SPDX-License-Identifier: BSD-2-Clause
"""What a traced program is given on its volume: its files, its input; and what it leaves.

The files go as one tar archive in POSIX's ustar form, which the image reads in place; what the
program wrote comes back as another.
"""

import shutil
import tarfile
from pathlib import Path

from harness.host import fat

ARCHIVE = "files.tar"       # on the volume and in the folder of results
INPUT = "stdin.bin"


class Unfit(Exception):
    """Something that the program cannot be given, and why."""


def pack(folder, target):
    """All regular files and folders below folder; links are followed."""
    top = Path(folder)
    if not top.is_dir():
        raise Unfit("%s is no folder: give FILES=folder" % folder)
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT, dereference=True) as archive:
        for path in sorted(top.rglob("*")):
            if not path.is_file() and not path.is_dir():
                continue
            try:
                archive.add(path, str(path.relative_to(top)), recursive=False)
            except ValueError as error:
                raise Unfit("%s: its name is too long for a tar archive" % path) from error


def gather(args, out):
    """(lines for waymark.cfg, files for the volume) of --files, --stdin, --cwd, --env."""
    lines, files = [], []
    if args.files:
        pack(args.files, out / ARCHIVE)
        lines.append("files=" + ARCHIVE)
        files.append((out / ARCHIVE, ARCHIVE))
    if args.stdin:
        if not Path(args.stdin).is_file():
            raise Unfit("%s is no file: give STDIN=file" % args.stdin)
        lines.append("stdin=" + INPUT)
        files.append((Path(args.stdin), INPUT))
    if args.cwd:
        lines.append("cwd=" + fat.option_word(args.cwd))
    for word in args.env:
        if word.find("=") < 1:
            raise Unfit("ENV has the word '%s': each is NAME=value" % word)
        lines.append("env=" + fat.option_word(word))
    if args.seed is not None:
        lines.append("seed=%d" % args.seed)
    return lines, files


def unpack(newest, out):
    """What the program wrote, into out/files; the paths."""
    target = out / "files"
    shutil.rmtree(target, ignore_errors=True)
    archive = newest / ARCHIVE if newest else None
    if not archive or not archive.is_file():
        return []
    with tarfile.open(archive, "r:") as made:
        # A folder that the program closed to itself must not be closed to us.
        for member in made.getmembers():
            member.mode |= 0o700 if member.isdir() else 0o600
        made.extractall(target, filter="data") if hasattr(tarfile, "data_filter") else \
            made.extractall(target, members=[m for m in made.getmembers() if is_inside(m)])
        return sorted(member.name for member in made.getmembers() if member.isfile())


def is_inside(member):
    """A plain file or folder that stays where it is put."""
    parts = Path(member.name).parts
    return (member.isfile() or member.isdir()) and ".." not in parts and \
        not Path(member.name).is_absolute()
