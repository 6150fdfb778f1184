# SPDX-License-Identifier: BSD-2-Clause
"""Where the lines go: several ports, wrong ones, ACPI's, and registers in memory.

output_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
"""

import json
import re
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import wire  # noqa: E402
from harness.host import fat  # noqa: E402
from harness.tests.system import boot_session  # noqa: E402
from harness.tests.system.boot_session import SETTINGS  # noqa: E402

UART_IN_RAM = 0x3000000         # free RAM that nobody else uses while 256 MiB are there
STRIDE = 4
LINE, MODEM, STATUS = 3, 4, 5


class Session(boot_session.Session):
    """QEMU without the usual port unless a case adds it."""

    def without_serial(self):
        at = self.words.index("-serial")
        del self.words[at:at + 2]

    def spcr(self, space, address, access):
        """An SPCR table that names a 16550."""
        body = self.own / "spcr"
        body.write_bytes(struct.pack("<B3xBBBBQ", 0, space, 8 * STRIDE if space == 0 else 8, 0,
                                     access, address) + bytes(28))
        self.words += ["-acpitable", "sig=SPCR,rev=2,oem_id=MADEUP,data=%s" % body]

    def dbg2(self, *devices):
        """A DBG2 table with devices of (type, subtype, port or None for no address)."""
        made = b""
        for kind, subtype, port in devices:
            name, count = b".\0", int(port is not None)
            made += struct.pack("<BHBHHHHHHHHH", 0, 22 + 16 * count + len(name), count,
                                len(name), 22 + 16 * count, 0, 0, kind, subtype, 0, 22,
                                22 + 12 * count)
            if count:
                made += struct.pack("<BBBBQI", 1, 8, 0, 1, port, 8)
            made += name
        body = self.own / "dbg2"
        body.write_bytes(struct.pack("<II", 44, len(devices)) + made)
        self.words += ["-acpitable", "sig=DBG2,rev=0,oem_id=MADEUP,data=%s" % body]

    def files(self):
        """(the log's text, machine.json) of the newest results."""
        folder = fat.results(self.volume, self.own / "results")
        return ((folder / "log.txt").read_text(),
                json.loads((folder / "machine.json").read_text()))

    def expect_outputs(self, text):
        log, machine = self.files()
        self.expect(machine["identity"]["outputs"] == text,
                    "outputs=%s" % machine["identity"]["outputs"])
        self.expect(re.search(r"verdict=pass$", log.strip()), "log.txt does not end well")
        return machine


def two_ports(session):
    """Both say the same; a third that is not there takes nothing from them."""
    second = session.own / "com2.log"
    session.words += ["-serial", "file:%s" % second]
    session.options(SETTINGS + ["serial=com1,com3,com2"])
    log = session.run()
    session.expect_pass(log)
    other = wire.parse(second.read_bytes())
    session.expect(other.run == log.run and other.end == log.end and not other.faults,
                   "the second port says something else")
    session.expect_outputs("0x3f8, 0x2f8; no answer: 0x3e8")


def wrong_port(session):
    """No port answers: the files and their identity still say so."""
    session.options(SETTINGS + ["serial=com4"])
    session.run()
    # The firmware's own console remains, and it feeds the first port as a terminal.
    session.expect_outputs("screen 80x50; no answer: 0x2e8")


def acpi_port(session):
    """The usual port is missing: ACPI's is taken, without any option."""
    session.without_serial()
    session.words += ["-device", "isa-serial,iobase=0x2f8,irq=3,chardev=com1"]
    session.spcr(1, 0x2F8, 1)
    session.expect_pass(session.run())
    machine = session.expect_outputs("SPCR 0x2f8; no answer: 0x3f8")
    session.expect(any(re.match("SPCR rev 2 80 bytes MADEUP", line)
                       for line in machine["acpi"]),
                   "%s" % machine["acpi"])


def acpi_dbg2(session):
    """DBG2 names the port, behind devices that are none."""
    session.without_serial()
    session.words += ["-device", "isa-serial,iobase=0x2e8,irq=3,chardev=com1"]
    session.dbg2((0x8003, 0, None), (0x8000, 3, 0x2F8), (0x8000, 0, 0x2E8))
    session.expect_pass(session.run())
    session.expect_outputs("DBG2 0x2e8, screen 80x25; no answer: 0x3f8")


def acpi_dbg2_broken(session):
    """A device that reaches beyond the table ends it; the run goes on without a port."""
    session.dbg2((0x8000, 0, 0x2F8))
    body = bytearray((session.own / "dbg2").read_bytes())
    struct.pack_into("<H", body, 8 + 1, 0x4000)
    (session.own / "dbg2").write_bytes(body)
    session.options(SETTINGS + ["serial=com1,acpi"])
    session.expect_pass(session.run())
    session.expect_outputs("0x3f8; no answer: a port in SPCR or DBG2")


def acpi_none(session):
    """Asked for, and no table names one."""
    session.options(SETTINGS + ["serial=acpi,com1"])
    session.expect_pass(session.run())
    session.expect_outputs("0x3f8; no answer: a port in SPCR or DBG2")


def in_memory(session):
    """Registers in memory, 32 bits each.  RAM stands in: it keeps what a UART would swallow."""
    session.without_serial()
    ram = session.own / "ram"
    session.words += ["-object", "memory-backend-file,id=ram,size=256M,share=on,mem-path=%s"
                      % ram, "-machine", "memory-backend=ram",
                      "-device", "loader,addr=%#x,data=0x60,data-len=4"
                      % (UART_IN_RAM + STATUS * STRIDE)]
    session.spcr(0, UART_IN_RAM, 3)
    session.run()
    session.expect_outputs("SPCR memory 0x3000000, screen 80x25; no answer: 0x3f8")
    with open(ram, "rb") as stream:
        stream.seek(UART_IN_RAM)
        registers = struct.unpack("<8I", stream.read(8 * STRIDE))
    ram.unlink()
    session.expect(registers[0] == ord("\n"), "the last byte was %#x" % registers[0])
    session.expect((registers[LINE], registers[MODEM]) == (3, 0x0B), "%s" % (registers,))


def machine_file(session):
    """machine.json against another witness: what QEMU itself says of the processor."""
    session.options(SETTINGS)
    session.expect_pass(session.run())
    machine = session.files()[1]
    leaves = dict(line.split(": ") for line in machine["cpuid"])
    vendor = bytes.fromhex("".join(
        "".join(reversed(re.findall("..", leaves["00000000.00"].split()[i])))
        for i in (1, 3, 2))).decode()
    session.expect(vendor == "GenuineIntel", vendor)
    session.expect(leaves["40000000.00"].split()[1] == "54474354", "no TCG in the leaves")
    # Haswell as QEMU defines it: family 6, model 60, stepping 4.
    session.expect(leaves["00000001.00"].startswith("000306c4"), leaves["00000001.00"])
    session.expect(machine["msr"]["IA32_EFER"] == "d01", "EFER %s" % machine["msr"])
    session.expect([line[:4] for line in machine["acpi"]][:3] == ["FACP", "APIC", "HPET"],
                   "%s" % machine["acpi"])
    session.expect(machine["identity"]["secure_boot"] == "off", "Secure Boot is not off")


CASES = {case.__name__: case for case in (
    two_ports, wrong_port, acpi_port, acpi_dbg2, acpi_dbg2_broken,
    acpi_none, in_memory, machine_file)}


def main(name, build, own):
    return boot_session.run_case(CASES[name], Session(build, own), own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
