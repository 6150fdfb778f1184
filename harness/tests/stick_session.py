# SPDX-License-Identifier: BSD-2-Clause
"""The disk for a stick: its structure, that it boots from USB, and Secure Boot with own keys.

stick_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
"""

import filecmp
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import disk, fat, qemu, wire  # noqa: E402
from harness.tests import boot_session  # noqa: E402

# Debian's firmware for tests comes with a key pair that everybody has, enrolled.
KEY, CERT = (Path("/usr/share/ovmf/PkKek-1-snakeoil." + end) for end in ("key", "pem"))
SECURE = qemu.Firmware(Path("/usr/share/OVMF/OVMF_CODE_4M.snakeoil.fd"),
                       Path("/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"))
CFG = "".join(line + "\n" for line in boot_session.SETTINGS)


class Session(boot_session.Session):
    """QEMU with the disk on a USB port."""

    def __init__(self, build, own, firmware=None):
        super().__init__(build, own)
        self.disk = self.own / "waymark.img"
        self.words = qemu.command(qemu.find_qemu({}), firmware or qemu.find_firmware({}),
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


CASES = {case.__name__: case for case in (structure, usb, secure_boot, sign_usage)}


def main(name, build, own):
    session = Session(build, own, SECURE if name == "secure_boot" else None)
    return boot_session.run_case(CASES[name], session, own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
