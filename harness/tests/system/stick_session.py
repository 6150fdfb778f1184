# SPDX-License-Identifier: BSD-2-Clause
"""The disk for a stick: its structure, that it boots from USB, and Secure Boot with own keys.

stick_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
"""

import filecmp
import json
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import wire  # noqa: E402
from harness.host import disk, fat, qemu  # noqa: E402
from harness.tests.system import boot_session  # noqa: E402

# Debian's firmware for tests comes with a key pair that everybody has, enrolled.
KEY, CERT = (Path("/usr/share/ovmf/PkKek-1-snakeoil." + end) for end in ("key", "pem"))
SECURE = qemu.Firmware(Path("/usr/share/OVMF/OVMF_CODE_4M.snakeoil.fd"),
                       Path("/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"))
SEVERAL = "exit=debug\nrun=hw.*,bts.enum.*,bts.record.*\n"
KEPT_FREE = 15 * 1024           # less than the run writes
CFG = "".join(line + "\n" for line in boot_session.SETTINGS)


class Session(boot_session.Session):
    """QEMU with the disk on a USB port."""

    def __init__(self, build, own, firmware=None):
        super().__init__(build, own)
        self.disk = self.own / "waymark.img"
        self.words = qemu.command(qemu.find_qemu({}),
                                  firmware or qemu.find_firmware({}, variables=True),
                                  self.own, self.disk)
        if firmware:
            self.replace("q35", "q35,smm=on")
            self.words += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
        self.replace("virtio-blk-pci,drive=boot,bootindex=0", "qemu-xhci", "-device",
                     "usb-storage,drive=boot,bootindex=0")
        self.volume = str(self.disk) + "@@1M"

    def tool(self, *words):
        """A standard tool's opinion; anything but success is a complaint."""
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        self.expect(done.returncode == 0, "%s: %s" % (words[0], done.stdout + done.stderr))
        return done.stdout


def structure(session):
    """The tools of the trade find nothing, and a second one is the same, byte for byte."""
    disk.create(session.disk, session.image)
    again = session.own / "again"
    again.mkdir(exist_ok=True)
    copy = again / "other-name.efi"
    copy.write_bytes(session.image.read_bytes())
    disk.create(again / "waymark.img", copy)
    session.expect(filecmp.cmp(session.disk, again / "waymark.img", shallow=False),
                   "two disks differ")
    told = session.tool("sgdisk", "-v", "-p", str(session.disk))
    session.expect("No problems found" in told, told)
    session.expect(" EF00 " in told, "no EFI system partition: " + told)
    volume = session.own / "esp"
    size = disk.PARTITION_SECTORS * disk.SECTOR
    with open(session.disk, "rb") as stream:
        stream.seek(disk.START * disk.SECTOR)
        volume.write_bytes(stream.read(size))
    session.tool("fsck.vfat", "-n", str(volume))
    # A damaged table must be noticed, or the judge above says nothing.
    damaged = bytearray(session.disk.read_bytes())
    damaged[2 * disk.SECTOR + 40] ^= 1
    (again / "waymark.img").write_bytes(damaged)
    done = subprocess.run(["sgdisk", "-v", str(again / "waymark.img")], capture_output=True,
                          text=True, check=False)
    session.expect("No problems found" not in done.stdout, "sgdisk sees no damage")


def usb(session):
    """It boots from a USB port and leaves its results there."""
    disk.create(session.disk, session.image, CFG)
    session.expect_pass(session.run())
    session.expect_files("0001")
    session.tool("sgdisk", "-v", str(session.disk))


def more_checks(session, log, failure):
    """SEVERAL ran to a good end on the wire, and one line says why files end."""
    session.complaints += [fault.text for fault in log.faults]
    session.expect(log.end and log.end.verdict == "pass", "the run did not pass: %s" % log.end)
    told = [text for text in log.comments if re.match("results: .*files end here", text)]
    session.expect(len(told) == 1 and re.search(failure, told[0]) is not None,
                   "told: %s" % told)


def fills_up(session):
    """The volume counts its room wrong, as after an unclean removal, and is full in the middle.

    What was written before stays readable, and the volume stays sound.
    """
    disk.create(session.disk, session.image, SEVERAL)
    fill = session.own / "fill"
    free = re.search(r"([\d ]+) bytes free", session.tool("mdir", "-i", session.volume, "::/"))
    fill.write_bytes(bytes(int(free[1].replace(" ", "")) - KEPT_FREE))
    fat.run("mcopy", "-i", session.volume, fill, "::/fill")
    fill.unlink()
    with open(session.disk, "r+b") as stream:
        stream.seek((disk.START + 1) * disk.SECTOR + 488)   # FSInfo: free clusters
        stream.write(struct.pack("<I", 16384))
    more_checks(session, session.run(), "volume full")
    folder = fat.results(session.volume, session.own / "results")
    kept = (folder / "log.txt").read_bytes()
    session.expect(len(kept) > 500 and kept in session.serial.replace(b"\r\n", b"\n"),
                   "%d bytes of log.txt are left" % len(kept))
    report = json.loads((folder / "report.json").read_text())
    session.expect(report["counts"]["planned"] > 40, "report.json is not whole")
    esp = session.own / "esp"
    with open(session.disk, "rb") as stream:
        stream.seek(disk.START * disk.SECTOR)
        esp.write_bytes(stream.read(disk.PARTITION_SECTORS * disk.SECTOR))
    done = subprocess.run(["fsck.vfat", "-n", str(esp)], capture_output=True, text=True,
                          check=False)
    complaints = [line for line in done.stdout.splitlines()[1:]
                  if not re.search("Free cluster summary|Auto-correcting|changes|esp: ", line)]
    session.expect(not complaints, "fsck.vfat: %s" % complaints)


def pulled_out(session):
    """The stick is gone in the middle of the run: told once, and the wire has everything."""
    disk.create(session.disk, session.image, SEVERAL)
    monitor = session.own / "monitor"
    monitor.unlink(missing_ok=True)
    session.words += ["-monitor", "unix:%s,server=on,wait=off" % monitor]
    at = next(i for i, word in enumerate(session.words) if word.startswith("usb-storage"))
    session.words[at] += ",id=stick"

    def pull(_):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(monitor))
            line.sendall(b"device_del stick\n")
            time.sleep(.5)

    session.on_bytes = (b"\nok 5 - ", pull)
    more_checks(session, session.run(), "gone|device error|no answer|not found")


def signed_image(session):
    """As `make sign` makes it, with the test key; its passphrase is its name."""
    key = session.own / "key.pem"
    session.tool("openssl", "rsa", "-in", str(KEY), "-passin", "pass:snakeoil", "-out",
                 str(key))
    session.tool("make", "-s", "-o", str(session.image), "sign", "KEY=%s" % key,
                 "OUT=%s" % session.image.parent, "SIGNED=%s" % session.own, "CERT=%s" % CERT)
    return session.own / "BOOTX64.EFI"


def secure_boot(session):
    """Firmware that knows the key refuses the image unsigned and starts it signed."""
    disk.create(session.disk, session.image, CFG)
    log = session.run(until=b"Access Denied")
    session.expect(b"Access Denied" in session.serial, "the firmware did not refuse it")
    session.expect(not log.run, "an unsigned image ran under Secure Boot")
    session.serial = b""
    image = signed_image(session)
    session.tool("sbverify", "--cert", str(CERT), str(image))
    disk.create(session.disk, image, CFG)
    session.expect_pass(session.run(seconds=150))
    session.expect_files("0001")


def sign_usage(session):
    """Without a key there is one line that says what to give."""
    done = subprocess.run(["make", "-s", "-o", str(session.image), "sign",
                           "OUT=%s" % session.image.parent], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    session.expect(done.returncode == 2 and "make sign KEY=" in done.stderr,
                   "%d: %s" % (done.returncode, done.stderr))


CASES = {case.__name__: case for case in (
    structure, usb, fills_up, pulled_out, secure_boot, sign_usage)}


def main(name, build, own):
    session = Session(build, own, SECURE if name == "secure_boot" else None)
    return boot_session.run_case(CASES[name], session, own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
