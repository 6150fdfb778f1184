# SPDX-License-Identifier: BSD-2-Clause
"""Serves one of the vectors to GDB: a target that stands at its end and has recorded a trace.

vector_stub.py [--port N] FOLDER TRACE

There is no process: the memory is the ELF file's, the recording TRACE.btrace.xml.  Prints
`port N`, serves one debugger, ends with it.
"""

import argparse
import re
import socket
import struct
import sys
from pathlib import Path

PACKET = 0x1000
SUPPORTED = ("PacketSize=%x;qXfer:features:read+;Qbtrace:bts+;Qbtrace:off+;qXfer:btrace:read+;"
             "qXfer:btrace-conf:read+" % PACKET)
TARGET = ("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version="
          "\"1.0\"><architecture>i386:x86-64</architecture><osabi>none</osabi></target>")
CONF = ("<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n<btrace-conf version=\"1.0\">"
        "<bts size=\"0x10000\"/></btrace-conf>\n")
FIXED = {"?": "T05thread:1;", "qfThreadInfo": "m1", "qsThreadInfo": "l", "qAttached": "1",
         "qC": "QC1", "Qbtrace:off": "OK", "D": "OK"}


def segments(elf):
    """(address, bytes) of what is loaded."""
    offset, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for at in range(offset, offset + size * count, size):
        kind, _, start, address, _, stored, _ = struct.unpack_from("<IIQQQQQ", elf, at)
        if kind == 1:
            yield address, elf[start:start + stored]


class Target:
    """What the debugger sees."""

    def __init__(self, folder, trace):
        program = trace.split(".")[0].split("-")[0]
        self.segments = list(segments((folder / program).read_bytes()))
        self.document = (folder / (trace + ".btrace.xml")).read_text(encoding="ascii")
        self.rip = int(re.search('end="0x([0-9a-f]+)"', self.document)[1], 16)

    def memory(self, address, count):
        for start, data in self.segments:
            if start <= address < start + len(data):
                return data[address - start:address - start + count].hex()
        return "E01"

    def transfer(self, name, offset, count):
        """Part of a document."""
        text = {"features:read:target.xml": TARGET, "btrace-conf:read:": CONF}.get(name)
        if name.startswith("btrace:read:"):
            # Everything is known when it is first asked for; nothing is ever added.
            text = self.document if name != "btrace:read:delta" else (
                "<btrace version=\"1.0\"><block begin=\"0x0\" end=\"%#x\"/></btrace>"
                % self.rip)
        if text is None:
            return "E00"
        part = text[offset:offset + count]
        return ("l" if offset + len(part) >= len(text) else "m") + part

    def answer(self, packet):
        if packet in FIXED:
            return FIXED[packet]
        if packet.startswith("qSupported"):
            return SUPPORTED
        if packet.startswith("H"):
            return "OK"
        if packet == "g":
            return (bytes(128) + struct.pack("<Q", self.rip) + bytes(28)).hex()
        found = re.fullmatch(r"m([0-9a-f]+),([0-9a-f]+)", packet)
        if found:
            return self.memory(int(found[1], 16), min(int(found[2], 16), PACKET // 2))
        found = re.fullmatch(r"qXfer:(.*):([0-9a-f]+),([0-9a-f]+)", packet)
        if found:
            return self.transfer(found[1], int(found[2], 16),
                                 min(int(found[3], 16), PACKET - 1))
        # Replayed breakpoints concern the debugger alone.
        return "OK" if packet[:2] in ("Z0", "z0") else ""


def frame(text):
    """A reply on the line.  No document here has a byte that would need an escape."""
    return b"$%s#%02x" % (text.encode(), sum(text.encode()) & 255)


def serve(line, target):
    """One debugger, until it goes."""
    held, last = b"", b""
    while True:
        data = line.recv(PACKET)
        if not data:
            return
        held += data
        while held:
            found = re.match(rb"\$([^#]*)#[0-9a-fA-F]{2}", held)
            if held[:1] == b"$" and not found:
                break               # the rest of it comes
            packet = found[1].decode("latin-1") if found else None
            if held[:1] == b"-":
                line.sendall(last)
            held = held[found.end() if found else 1:]
            if packet == "k":
                return
            if packet is not None:
                last = frame(target.answer(packet))
                line.sendall(b"+" + last)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("folder", type=Path)
    parser.add_argument("trace", help="as mix, or mix-tasks.2 of several tasks")
    args = parser.parse_args()
    try:
        target = Target(args.folder, args.trace)
    except OSError as error:
        sys.exit("vector_stub: %s: make the vectors with make vectors" % error)
    with socket.create_server(("127.0.0.1", args.port)) as server:
        print("port %d" % server.getsockname()[1], flush=True)
        line, _ = server.accept()
        with line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(line, target)


if __name__ == "__main__":
    main()
