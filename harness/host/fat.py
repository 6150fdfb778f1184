# SPDX-License-Identifier: BSD-2-Clause
"""The boot volume: a FAT image made, filled and read back with mtools, no mount, no root."""

import os
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
                              text=True, errors="replace", timeout=60, check=False)
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
    """
    volume = Path(volume)
    volume.unlink(missing_ok=True)
    cfg = volume.with_name("waymark.cfg")
    cfg.write_text("".join(line + "\n" for line in options), encoding="ascii", newline="\n")
    run("mformat", "-C", "-i", volume, "-T", str(size_kib * 2), "-h", "64", "-s", "32",
        "-v", "WAYMARK", "::")
    run("mmd", "-i", volume, "::/EFI", "::/EFI/BOOT")
    run("mcopy", "-i", volume, image, "::/EFI/BOOT/BOOTX64.EFI")
    run("mcopy", "-i", volume, cfg, "::/EFI/BOOT/waymark.cfg")
    for path, name in files:
        run("mcopy", "-i", volume, path, "::/" + name)


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
