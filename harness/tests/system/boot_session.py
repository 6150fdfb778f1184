# SPDX-License-Identifier: BSD-2-Clause
"""The image started in every way and on every volume that its users have.

boot_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import wire  # noqa: E402
from harness.host import fat, patience, qemu  # noqa: E402

SECONDS = 300                   # of the machine's own time; a boot takes five
ONE_CHECK = "run=boot.memory.identity_map"
SETTINGS = ["exit=debug", ONE_CHECK]


class Session:
    """One QEMU over one volume; the cases change words and volume before it starts."""

    def __init__(self, build, own):
        self.image = Path(build) / "BOOTX64.EFI"
        self.own = Path(own)
        self.volume = self.own / "boot.img"
        self.options(SETTINGS)
        self.words = qemu.command(qemu.find_qemu({}),
                                  qemu.find_firmware({}, variables=True), self.own,
                                  self.volume)
        self.serial = b""
        self.on_bytes = None        # (bytes, what to do once they were on the wire)
        self.complaints = []

    def options(self, lines):
        """A fresh volume with these lines in waymark.cfg."""
        fat.create(self.volume, self.image, lines)

    def put(self, name, content):
        """A file on the volume, in place of one that is there."""
        path = self.own / "file"
        path.write_bytes(content)
        fat.run("mcopy", "-o", "-i", self.volume, path, "::/" + name)

    def replace(self, old, *new):
        at = self.words.index(old)
        self.words[at:at + 1] = new

    def read_only(self):
        at = next(i for i, word in enumerate(self.words) if word.startswith("if=none,id=boot"))
        self.words[at] += ",readonly=on"

    def without_drive(self):
        at = next(i for i, word in enumerate(self.words) if word.startswith("if=none,id=boot"))
        del self.words[at - 1:at + 3]

    def run(self, seconds=SECONDS, until=None):
        """To QEMU's end; with until, to the moment the serial line holds these bytes."""
        process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        with open(self.own / "serial.log", "wb", buffering=0) as copy, process:
            parser = wire.Parser()
            try:
                for data in patience.output(process, seconds):
                    self.serial += data
                    copy.write(data)
                    parser.feed(data)
                    if self.on_bytes and self.on_bytes[0] in self.serial:
                        self.on_bytes[1](process)
                        self.on_bytes = None
                    if parser.log.end and parser.log.end.verdict == "usage":
                        break           # options that were not understood: it never leaves
                    if until and until in self.serial:
                        break
                if until:
                    self.seen(process)
            finally:
                process.kill()
        return wire.parse(self.serial)

    def seen(self, process):
        """For a case that looks at the running machine."""

    def expect(self, good, text):
        if not good:
            self.complaints.append(text)

    def expect_pass(self, log, names=(ONE_CHECK[4:],)):
        self.complaints += [fault.text for fault in log.faults]
        self.expect([r.name for r in log.results] == list(names),
                    "ran %s" % [r.name for r in log.results])
        self.expect(log.end and log.end.verdict == "pass", "the run did not pass")

    def expect_usage(self, log, text):
        self.expect(log.end and log.end.verdict == "usage", "the verdict is not usage")
        self.expect(not log.results, "checks ran")
        self.expect(any(text in message for message in log.messages),
                    "'%s' is not in %s" % (text, log.messages))

    def expect_files(self, number):
        """The newest result folder has this number and holds what was on the wire."""
        folder = fat.results(self.volume, self.own / "results")
        self.expect(folder is not None and folder.name[:4] == number,
                    "results lie in %s" % folder)
        if folder is None:
            return
        text = (folder / "log.txt").read_bytes()
        tap = (folder / "report.tap").read_bytes()
        self.expect(text.splitlines()[-1].startswith(b"# waymark end"), "log.txt has no end")
        self.expect(tap.startswith(b"# version="), "report.tap does not begin with identity")
        if self.serial:
            wire_text = self.serial.replace(b"\r\n", b"\n")
            self.expect(text in wire_text, "log.txt is not what was on the wire")

    def expect_no_files(self, log, why):
        self.expect("results: not kept in files: " + why in log.comments,
                    "comments: %s" % log.comments)
        self.expect_pass(log)


# --- how it is started

def pc(session):
    session.words[session.words.index("q35")] = "pc"
    session.expect_pass(session.run())
    session.expect_files("0001")


def processors(session):
    session.words[session.words.index("-smp") + 1] = "4"
    log = session.run()
    session.expect_pass(log)
    session.expect(log.identity.get("cpus") == "4", "cpus=%s" % log.identity.get("cpus"))


def kernel(session):
    session.without_drive()
    session.words += ["-kernel", str(session.image), "-append", " ".join(SETTINGS)]
    session.expect_no_files(session.run(), "the boot volume is read-only")


def kernel_usage(session):
    session.without_drive()
    session.words += ["-kernel", str(session.image), "-append", "exit=debug frobnicate"]
    session.expect_usage(session.run(), "frobnicate")


def shell(session):
    """Three runs from one shell session: options beside the image, then the command's."""
    fat.run("mmd", "-i", session.volume, "::/tools")
    session.put("tools/wm.efi", session.image.read_bytes())
    session.put("tools/waymark.cfg", b"run=boot.takeover.round_trips\n")
    fat.run("mdel", "-i", session.volume, "::/EFI/BOOT/BOOTX64.EFI")
    session.put("startup.nsh", b"fs0:\r\ncd tools\r\nwm\r\nwm.efi %s\r\necho between\r\n"
                b"fs0:\\tools\\wm.efi \"exit=debug\" %s\r\n" % (2 * (ONE_CHECK.encode(),)))
    session.run()
    text = session.serial.replace(b"\r\n", b"\n").split(b"waymark format=")[1:]
    session.expect(len(text) == 3, "%d runs, not 3" % len(text))
    for run, name in zip(text, ("boot.takeover.round_trips", ONE_CHECK[4:], ONE_CHECK[4:])):
        session.expect(b"ok 1 - %s\n" % name.encode() in run, "%s did not pass" % name)
    session.expect(b"\nbetween\n" in session.serial.replace(b"\r\n", b"\n"),
                   "the shell did not go on")
    session.expect_files("0003")


# --- where its output goes

def no_serial(session):
    at = session.words.index("-chardev")
    session.words[at:at + 4] = ["-serial", "none"]
    session.run()
    session.expect(not session.serial, "there was a serial port after all")
    session.expect_files("0001")


def dump(monitor, path):
    """A picture of the screen once it stands still: the last line comes behind the wire's."""
    before, prompt = None, b"(qemu) "
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(monitor))
        said = b""
        for number in range(60):
            line.sendall(b"screendump %s\n" % str(path).encode())
            while said.count(prompt) < number + 2:
                heard = line.recv(4096)
                if not heard:
                    return          # QEMU is gone
                said += heard
            if path.read_bytes() == before:
                return
            before = path.read_bytes()
            time.sleep(2)


def screen(session):
    """The text is on the screen, and the firmware does not send it down the serial line."""
    monitor = session.own / "monitor"
    monitor.unlink(missing_ok=True)
    session.options([ONE_CHECK])
    session.words += ["-vga", "std", "-monitor", "unix:%s,server=on,wait=off" % monitor]

    session.seen = lambda process: dump(monitor, session.own / "screen.ppm")
    log = session.run(until=b"verdict=pass\r\n")
    session.expect_pass(log)
    pixels = (session.own / "screen.ppm").read_bytes().split(b"\n", 3)[3]
    lit = sum(1 for value in pixels[::3] if value)
    # A screen of text: some thousand pixels, and far from all.
    session.expect(5000 < lit < len(pixels) // 12, "%d pixels are lit" % lit)
    session.expect(session.serial.count(b"# version=") == 1, "lines are on the wire twice")


def panel(session):
    """On a 4K screen the text is three times as large, with the progress line on top."""
    monitor = session.own / "monitor"
    monitor.unlink(missing_ok=True)
    session.options([ONE_CHECK, "screen=3840x2160", "selftest=fail"])
    session.words += ["-device", "VGA,vgamem_mb=64",
                      "-monitor", "unix:%s,server=on,wait=off" % monitor]

    session.seen = lambda process: dump(monitor, session.own / "screen.ppm")
    log = session.run(until=b"# waymark end")
    session.expect(log.identity.get("outputs") == "0x3f8, panel 160x37 on 3840x2160",
                   log.identity.get("outputs"))
    _, size, _, pixels = (session.own / "screen.ppm").read_bytes().split(b"\n", 3)
    session.expect(size == b"3840 2160", "the screen is %s" % size)
    rows = [pixels[y * 3840 * 3:(y + 1) * 3840 * 3] for y in range(0, 57 * 8)]
    status = sum(row.count(b"\x20\x40\x80") for row in rows[:57])
    session.expect(0.8 < status / (57 * 3840) < 1, "%d pixels of the top line" % status)
    session.expect(b"\x20\x40\x80" not in rows[57], "the top line is too high")
    # Enlarged by whole numbers: each pixel of a glyph is a square of nine.
    session.expect(all(rows[y] == rows[y - y % 3] for y in range(len(rows))) and
                   all(row[x:x + 3] * 3 == row[x:x + 9] for row in rows[::3]
                       for x in range(0, 1920 * 3, 9)), "pixels are not squares of nine")
    session.expect(any(b"\xd8\xd8\xd8" in row for row in rows), "no text")


# --- what it finds on its volume

def read_only(session):
    session.read_only()
    session.expect_no_files(session.run(), "the boot volume is read-only")


def full(session):
    session.put("fill", bytes((fat.SIZE_KIB - 1400) * 1024))
    session.expect_no_files(session.run(), "less than 1 MiB is free on the boot volume")


def numbers(session):
    """The highest number counts, and what is no result folder does not."""
    fat.run("mmd", "-i", session.volume, "::/waymark", "::/waymark/0041-X",
            "::/waymark/9000", "::/waymark/0007-X")
    session.expect_pass(session.run())
    folders = [path.name for path in fat.results(session.volume, session.own / "results")
               .parent.iterdir()]
    session.expect(any(name.startswith("0042-") for name in folders), "%s" % folders)


def numbers_used_up(session):
    fat.run("mmd", "-i", session.volume, "::/waymark", "::/waymark/9999-X")
    session.expect_no_files(session.run(), "all numbers up to 9999 are in use in waymark")


def name_taken(session):
    session.put("waymark", b"a file where the folder should be")
    session.expect_no_files(session.run(), "waymark on the boot volume is a file")


def cfg_binary(session):
    session.put("EFI/BOOT/waymark.cfg", b"exit=debug\nrun=\x01\x02\xff\n")
    session.expect_usage(session.run(), "waymark.cfg: not a text file")


def cfg_long(session):
    session.put("EFI/BOOT/waymark.cfg", b"#" * 5000)
    session.expect_usage(session.run(), "waymark.cfg: longer than 4096 bytes")


def cfg_folder(session):
    fat.run("mdel", "-i", session.volume, "::/EFI/BOOT/waymark.cfg")
    fat.run("mmd", "-i", session.volume, "::/EFI/BOOT/waymark.cfg")
    session.expect_usage(session.run(), "waymark.cfg: cannot read it")


def cfg_utf16(session):
    text = "\ufeff" + "".join(line + "\r\n" for line in ["# by Notepad"] + SETTINGS)
    session.put("EFI/BOOT/waymark.cfg", text.encode("utf-16-le"))
    session.expect_pass(session.run())


CASES = {case.__name__: case for case in (
    pc, processors, kernel, kernel_usage, shell, no_serial, screen, panel, read_only, full,
    numbers, numbers_used_up, name_taken, cfg_binary, cfg_long, cfg_folder, cfg_utf16)}


def run_case(case, session, own):
    """Run one case and print its complaints; the status of the program."""
    Path(own).mkdir(parents=True, exist_ok=True)
    case(session)
    print("\n".join(session.complaints) or "%s: as expected" % case.__name__)
    return 1 if session.complaints else 0


def main(name, build, own):
    return run_case(CASES[name], Session(build, own), own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
