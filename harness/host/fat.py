# SPDX-License-Identifier: BSD-2-Clause
"""The boot volume: a FAT image made, filled and read back with mtools, no mount, no root."""

import os
import re
import shutil
import subprocess
from pathlib import Path

SIZE_KIB = 48 * 1024
TOOLS = ("mformat", "mmd", "mcopy")


class Trouble(Exception):
    """mtools is missing or said no."""


def run(*words):
    """One mtools command; its own words when it fails."""
    env = dict(os.environ, MTOOLS_SKIP_CHECK="1")
    try:
        done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=600, check=False)
    except FileNotFoundError as error:
        raise Trouble("%s is missing: install the package mtools" % words[0]) from error
    if done.returncode:
        raise Trouble("%s: %s" % (" ".join(map(str, words)), done.stderr.strip()))


def present():
    """Raise Trouble unless every tool is there."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Trouble("%s is missing: install the package mtools" % tool)


def create(volume, image, options, files=(), size_kib=SIZE_KIB):
    """A new volume with the EFI image in the removable-media place and its options beside it.

    options is the list of key=value lines for waymark.cfg; files are (path, name in the root).
    Without an image it is a volume that firmware's shell may start something from.
    """
    volume = Path(volume)
    volume.unlink(missing_ok=True)
    cfg = volume.with_name("waymark.cfg")
    cfg.write_text("".join(line + "\n" for line in options), encoding="ascii", newline="\n")
    run("mformat", "-C", "-i", volume, "-T", str(size_kib * 2), "-h", "64", "-s", "32",
        "-v", "WAYMARK", "::")
    run("mmd", "-i", volume, "::/EFI", "::/EFI/BOOT")
    if image:
        run("mcopy", "-i", volume, image, "::/EFI/BOOT/BOOTX64.EFI")
    run("mcopy", "-i", volume, cfg, "::/EFI/BOOT/waymark.cfg")
    for path, name in files:
        run("mcopy", "-i", volume, path, "::/" + name)


def root_name(path, instead):
    """A file's own name for the root where that is plain and free, else instead."""
    name = Path(path).name
    plain = re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,60}", name)
    return name if plain and name.lower() not in ("efi", "waymark", "startup.nsh") else instead


def option_word(text):
    """Any bytes as one word of the image's options."""
    return "".join(chr(b) if 33 <= b < 127 and b != 37 else "%%%02X" % b
                   for b in os.fsencode(text))


def results(volume, folder):
    """Copy the image's result folders to folder; the newest one, or None when there is none."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        run("mcopy", "-s", "-n", "-i", volume, "::/waymark", folder)
    except Trouble:
        return None
    made = sorted(path for path in (folder / "waymark").iterdir() if path.is_dir())
    return made[-1] if made else None
