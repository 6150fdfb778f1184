# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's kernel, downloaded and unpacked, not installed; or one of the user's own.

And the modules that our init loads: which, in which order, by what each says about itself.
"""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "linux-image-amd64"       # depends on the newest kernel
# In the guest results go to a disk, and what is said to a port.
MODULES = ("virtio_pci", "virtio_blk", "virtio_console")


class Missing(Exception):
    """There is no such kernel; the text says what to do."""


@dataclass
class Kernel:
    """modules is lib/modules/VERSION, None when everything is built in."""
    image: Path
    modules: Path = None


def output(*words, cwd=None):
    """What a command prints; Missing with its own words when it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd)
    except FileNotFoundError as error:
        raise Missing("%s is missing: this machine is not a Debian; give a kernel" %
                      words[0]) from error
    if done.returncode:
        raise Missing("%s: %s" % (" ".join(map(str, words)),
                                  (done.stderr.strip() or "failed").split("\n")[-1]))
    return done.stdout


def newest(package=PACKAGE):
    """The package of the newest kernel, as name=version for apt."""
    try:
        about = output("apt-cache", "show", "--no-all-versions", package)
    except Missing as error:
        raise Missing("%s; run apt-get update, or give a kernel" % error) from error
    found = re.search(r"^Depends:.*?(linux-image-[^ ,]+) \(= ([^)]+)\)", about, re.M)
    if not found:
        raise Missing("the package %s does not say which kernel it is; give a kernel" % package)
    return found[1], found[2]


def download(cache):
    """The folder in cache where the newest kernel is unpacked."""
    cache = Path(cache)
    name, version = newest()
    folder = cache / ("%s_%s" % (name, version.replace(":", "_")))
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        for old in cache.glob("*.deb"):
            old.unlink()
        print("kernel: downloading %s %s" % (name, version), flush=True)
        output("apt-get", "-q", "download", "%s=%s" % (name, version), cwd=cache)
        unpack(next(cache.glob("*.deb")), folder)
    return folder


def unpack(package, folder):
    """A Debian package's files; the folder appears when it is whole."""
    half = folder.with_name(folder.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    output("dpkg-deb", "-x", package, half)
    half.rename(folder)
    return folder


def of_folder(folder):
    """The kernel of an unpacked package."""
    images = sorted(Path(folder).glob("boot/vmlinuz-*"))
    if not images:
        raise Missing("%s holds no boot/vmlinuz-*" % folder)
    return with_modules(images[-1], Path(folder))


def with_modules(image, root):
    """The image and, where its name tells, its modules."""
    version = image.name.removeprefix("vmlinuz-")
    for modules in ("lib/modules", "usr/lib/modules"):
        if (root / modules / version / "kernel").is_dir():
            return Kernel(image, root / modules / version)
    return Kernel(image)


def find(asked, cache):
    """The kernel that KERNEL= names, or the distribution's."""
    if not asked:
        return of_folder(download(cache))
    asked = Path(asked)
    if asked.is_dir():
        return of_folder(asked)
    if not asked.is_file():
        raise Missing("%s is no kernel, no package and no folder" % asked)
    if asked.suffix != ".deb":
        return with_modules(asked, asked.resolve().parent.parent)
    folder = Path(cache) / asked.stem
    return of_folder(folder if folder.is_dir() else unpack(asked, folder))


def content(path):
    """A module's bytes as insmod takes them everywhere: not compressed."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    return data


def modules(kernel, names=MODULES):
    """(name, bytes) of each module and of those that it needs, in the order of loading."""
    if not kernel.modules:
        return []
    there = {re.sub(r"\.ko(\.\w+)?$", "", path.name).replace("-", "_"): path
             for path in kernel.modules.rglob("*.ko*")}
    order = {}

    def add(name):
        # What is no file is built in.
        if name in order or name not in there:
            return
        data = content(there[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for need in (needs[1].decode().split(",") if needs else []):
            add(need.replace("-", "_"))
        order[name] = data

    for name in names:
        add(name)
    return list(order.items())
