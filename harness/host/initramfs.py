# SPDX-License-Identifier: BSD-2-Clause
"""An initramfs for Linux: files of this machine, with the shared libraries that they need.

The archive is cpio's "newc", which the kernel's documentation of initramfs describes
(driver-api/early-userspace/buffer-format).
"""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

# What a shell with perf and GDB needs; the package of each, for who lacks it.
PACKAGES = {"busybox": "busybox", "perf": "linux-perf", "gdb": "gdb"}
# Python's library is wanted whole, but for what no debugger imports.
PYTHON_LEFT_OUT = re.compile(r"/(test|tests|idlelib|tkinter|ensurepip|lib2to3|"
                             r"pydoc_data|distutils|turtledemo|config-[^/]*)(/|$)")


class Missing(Exception):
    """Something that belongs into it is not on this machine."""


class Archive:
    """newc, member after member; folders above a member come by themselves."""

    def __init__(self, stream):
        self.stream, self.seen, self.number = stream, set(), 0

    def member(self, name, mode, data=b"", device=(0, 0), time=0):
        """One member, once: who is first wins."""
        if name in self.seen:
            return
        self.seen.add(name)
        parent = os.path.dirname(name)
        if parent:
            self.folder(parent)
        self.number += 1
        encoded = os.fsencode(name) + b"\0"
        fields = (self.number, mode, 0, 0, 1, time, len(data), 0, 0, *device, len(encoded),
                  0)
        head = b"070701" + b"".join(b"%08x" % value for value in fields) + encoded
        self.stream.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))

    def folder(self, name):
        self.member(name, stat.S_IFDIR | 0o755)

    def link(self, name, target):
        self.member(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    def file(self, name, data, mode=0o755, time=0):
        self.member(name, stat.S_IFREG | mode, data, time=time)

    def copy(self, path, name):
        """A file of this machine; with its time, by which Python finds its compiled modules."""
        data, about = path.read_bytes(), path.stat()
        self.file(name, data, about.st_mode & 0o777, int(about.st_mtime))
        return data

    def close(self):
        self.number = -1
        self.member("TRAILER!!!", 0)


class Root:
    """What the guest will see as /."""

    def __init__(self, stream):
        self.archive = Archive(stream)
        self.libraries = set()
        for name in ("bin", "sbin", "dev", "proc", "sys", "tmp", "run", "root", "etc", "out",
                     "usr/bin", "usr/sbin", "mnt"):
            self.archive.folder(name)
        # Debian's own layout; a library is found by either name.
        for name in ("lib", "lib64"):
            self.archive.folder("usr/" + name)
            self.archive.link(name, "usr/" + name)
        self.archive.member("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        self.archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
        self.archive.file("etc/group", b"root:x:0:\n", 0o644)

    def file(self, path, name):
        """A file, with its libraries when it is a program."""
        path = Path(path)
        data = self.archive.copy(path, name)
        if data[:4] == b"\x7fELF":
            for library in libraries(path):
                self.library(library)

    def library(self, path):
        """A shared library at its own place."""
        name = str(path).lstrip("/")
        if name.startswith(("lib/", "lib64/")):
            name = "usr/" + name
        if name not in self.libraries:
            self.libraries.add(name)
            self.archive.copy(Path(path), name)

    def tree(self, path, name, left_out=None):
        """A folder with all that is in it; links stay links."""
        for folder, folders, files in os.walk(path):
            here = Path(folder)
            folders[:] = [each for each in folders if not (
                left_out and left_out.search("/%s/" % each))]
            inside = os.path.normpath(os.path.join(name, os.path.relpath(folder, path)))
            self.archive.folder(inside)
            for each in files + [one for one in folders if (here / one).is_symlink()]:
                if (here / each).is_symlink():
                    self.archive.link("%s/%s" % (inside, each), os.readlink(here / each))
                elif (here / each).is_file():
                    self.file(here / each, "%s/%s" % (inside, each))

    def close(self):
        self.archive.close()


def libraries(path):
    """The shared libraries of a program of this machine, its loader too."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    missing = re.findall(r"^\s*(\S+) => not found", done.stdout, re.M)
    if missing:
        raise Missing("%s needs %s, which is not on this machine" % (path, missing[0]))
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.M)


def tools(root, wanted):
    """busybox and those that are wanted, with what they read at run time."""
    for name in ("busybox", *wanted):
        package = PACKAGES[name]
        path = shutil.which(name)
        if not path:
            raise Missing("%s is missing: install the package %s" % (name, package))
        root.file(Path(path).resolve(), "usr/bin/" + name)
    root.archive.link("bin/sh", "/usr/bin/busybox")
    python(root)
    if "gdb" in wanted and Path("/usr/share/gdb").is_dir():
        root.tree("/usr/share/gdb", "usr/share/gdb", PYTHON_LEFT_OUT)
    for kind in ("l/linux", "x/xterm", "v/vt100", "d/dumb"):
        for folder in ("/usr/share/terminfo", "/lib/terminfo"):
            if (Path(folder) / kind).is_file():
                root.file(Path(folder) / kind, "usr/share/terminfo/" + kind)


def python(root):
    """The library of the Python that GDB and perf are linked with."""
    versions = {found[1] for name in root.libraries
                if (found := re.search(r"/libpython(3\.\d+)\.so", name))}
    for version in sorted(versions):
        folder = Path("/usr/lib/python" + version)
        if not (folder / "encodings").is_dir():
            raise Missing("GDB needs %s: install the package libpython%s-minimal" % (
                folder, version))
        root.tree(folder, "usr/lib/python" + version, PYTHON_LEFT_OUT)
