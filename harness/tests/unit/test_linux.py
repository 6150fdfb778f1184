# SPDX-License-Identifier: BSD-2-Clause
"""What `make under` and `make linux` do without a machine: archives, modules, endings."""

import io
import lzma
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from harness import linux, run
from harness.host import initramfs, kernel, resident


def members(data):
    """(name, mode, bytes) of each member of a newc archive, by the format's description."""
    at = 0
    while True:
        fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        name_at = at + 110
        name = data[name_at:name_at + fields[11] - 1].decode()
        body = (name_at + fields[11] + 3) & ~3
        if name == "TRAILER!!!":
            return
        yield name, fields[1], data[body:body + fields[6]]
        at = (body + fields[6] + 3) & ~3


class Archive(unittest.TestCase):
    def test_members(self):
        stream = io.BytesIO()
        archive = initramfs.Archive(stream)
        archive.file("a/b/odd", b"12345", 0o644)
        archive.link("a/link", "b/odd")
        archive.file("a/b/odd", b"second")
        archive.close()
        made = {name: (mode, data) for name, mode, data in members(stream.getvalue())}
        self.assertEqual(made["a/b/odd"], (0o100644, b"12345"))
        self.assertEqual(made["a/link"], (0o120777, b"b/odd"))
        self.assertEqual(made["a"][0] & 0o170000, 0o040000)
        self.assertIn("a/b", made)

    def test_program_brings_its_libraries(self):
        stream = io.BytesIO()
        root = initramfs.Root(stream)
        root.file("/bin/sh", "program")
        root.close()
        names = [name for name, _, _ in members(stream.getvalue())]
        self.assertIn("program", names)
        self.assertTrue(any("libc.so" in name for name in names))
        self.assertTrue(any("ld-linux" in name for name in names))


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.inside = self.folder / "lib/modules/9.9/kernel/x"
        self.inside.mkdir(parents=True)
        (self.folder / "boot").mkdir()
        (self.folder / "boot/vmlinuz-9.9").write_bytes(b"MZ")

    def module(self, name, needs, pack=lambda data: data):
        (self.inside / name).write_bytes(pack(b"\x7fELF\0depends=%s\0more" % needs))

    def test_order(self):
        self.module("ring-of.ko", b"")
        self.module("base.ko.xz", b"ring_of", lzma.compress)
        self.module("top.ko", b"base,built_in,ring-of")
        found = kernel.of_folder(self.folder)
        self.assertEqual([name for name, _ in kernel.modules(found, ["top", "nowhere"])],
                         ["ring_of", "base", "top"])
        self.assertTrue(all(data.startswith(b"\x7fELF") for _, data in
                            kernel.modules(found, ["top"])))

    def test_kernels(self):
        self.assertEqual(kernel.find(self.folder / "boot/vmlinuz-9.9", None).modules,
                         self.folder / "lib/modules/9.9")
        alone = self.folder / "bzImage"
        alone.write_bytes(b"MZ")
        self.assertEqual(kernel.modules(kernel.find(alone, None)), [])
        with self.assertRaisesRegex(kernel.Missing, "is no kernel"):
            kernel.find(self.folder / "nothing", None)
        with self.assertRaisesRegex(kernel.Missing, "holds no boot"):
            kernel.find(self.inside, None)


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.disk, self.place = self.folder / "disk", self.folder / "place"

    def write(self, *files):
        with tarfile.open(self.disk, "w") as archive:
            for name, data in files:
                about = tarfile.TarInfo(name)
                about.size = len(data)
                archive.addfile(about, io.BytesIO(data))

    def test_whole(self):
        self.write(("out/a/b", b"x" * 5000), ("out/../../c", b"no"), ("run/dmesg", b"said"),
                   ("run/status", b"7\n"))
        self.assertEqual(linux.unpack(self.disk, self.place), 7)
        self.assertEqual((self.place / "a/b").read_bytes(), b"x" * 5000)
        self.assertEqual((self.place / "dmesg.txt").read_bytes(), b"said")
        self.assertFalse((self.folder / "c").exists())

    def test_cut(self):
        self.write(("out/a", b"x" * 5000), ("run/status", b"0\n"))
        self.disk.write_bytes(self.disk.read_bytes()[:3000])
        self.assertIsNone(linux.unpack(self.disk, self.place))
        self.disk.write_bytes(bytes(1 << 20))
        self.assertIsNone(linux.unpack(self.disk, self.place))

    def test_init_is_a_script(self):
        subprocess.run(["sh", "-n", linux.INIT], check=True)

    def test_tools(self):
        with self.assertRaisesRegex(run.Usage, "--tools emacs"):
            linux.arguments(["--tools", "perf,emacs"])


class Endings(unittest.TestCase):
    def ended(self, log, status=0, panic="", plain=False, said=(), resets=""):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "serial.log").write_text(log)
        (folder / "resets.log").write_text(resets)
        machine = SimpleNamespace(process=SimpleNamespace(returncode=status),
                                  said=lambda: list(said))
        guest = resident.Guest("x.efi", plain=plain)
        return resident.ended(guest, machine, panic, folder, 9)

    def test_each(self):
        started = "# under: the model stays in 9 KiB; starting x.efi\r\nwaymark: its own\r\n"
        for want, words, given in (
                (0, "switched off", {"log": started}),
                (0, "exit device got 0", {"log": started, "status": 1}),
                (1, "exit device got 4", {"log": started, "status": 9}),
                (1, "triple fault", {"log": started, "resets": "Triple fault\n"}),
                (0, "returned: success",
                 {"log": started + "# under: x.efi has ended (success), the model too\n"}),
                (1, "returned: aborted",
                 {"log": started + "# under: x.efi has ended (aborted), the model too\n"}),
                (2, "under=x: no", {"log": "waymark: under=x: no\r\n", "status": 1}),
                (3, "unknown option", {"log": "waymark: unknown option 'y'\r\n"}),
                (2, "did not start", {"log": "BdsDxe\n"}),
                (0, "switched off", {"log": "BdsDxe\n", "plain": True}),
                (2, "gave up: model: bad", {"log": started, "panic": "model: bad"}),
                (2, "time is up", {"log": started, "panic": None}),
                (2, "signal 9", {"log": started, "status": -9}),
                (2, "status 1: no such", {"log": "", "status": 1, "said": ["no such"]}),
        ):
            with self.subTest(words):
                status, reason = self.ended(**given)
                self.assertEqual(status, want)
                self.assertIn(words, reason)

    def test_panic_line(self):
        found = resident.PANIC.search(b"x\r\n# model: exit 7\r\n")
        self.assertEqual(found[1], b"model: exit 7")
        self.assertIsNone(resident.PANIC.search(b"x # model: exit"))


if __name__ == "__main__":
    unittest.main()
