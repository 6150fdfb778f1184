# SPDX-License-Identifier: BSD-2-Clause
"""The other end of an Ethernet cable: a DHCP and TFTP server in one thread, no privileges.

QEMU's `-netdev socket,udp=...` puts each frame into one datagram to a port of the host.  This
end answers ARP, hands out one address with server and boot file, and reads and takes files
(RFC 951, 1350, 2131, 2347, 2348).  It is small because a test's cable loses nothing.
"""

import socket
import struct
import threading

MAC = bytes.fromhex("020000000001")
OURS, THEIRS = bytes((192, 0, 2, 1)), bytes((192, 0, 2, 7))     # documentation's own network
ARP, IPV4, UDP = 0x0806, 0x0800, 17
READ, WRITE, DATA, ACK, ERROR, OPTIONS = range(1, 7)


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Peer:
    """files: name -> bytes, what TFTP reads; taken: what came; boot_file for DHCP.

    refuse is the error that a write gets, None to take it; after leave_after files that came
    it is mute.  seen counts DHCP requests.
    """

    def __init__(self, files, boot_file, refuse=None, leave_after=None):
        self.files, self.boot_file, self.refuse = files, boot_file, refuse
        self.leave_after = leave_after
        self.taken, self.asked = {}, []
        self.seen = 0
        self.transfers = {}             # guest's port -> [kind, name, data, block size]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(.2)
        spare = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        spare.bind(("127.0.0.1", 0))
        self.guest = spare.getsockname()
        spare.close()
        self.running = True
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def netdev(self):
        """QEMU's words for this cable."""
        return "socket,id=net,udp=127.0.0.1:%d,localaddr=127.0.0.1:%d" % (
            self.socket.getsockname()[1], self.guest[1])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.running = False
        self.thread.join()
        self.socket.close()

    def serve(self):
        while self.running:
            try:
                frame = self.socket.recv(4096)
            except socket.timeout:
                continue
            kind, = struct.unpack_from("!H", frame, 12)
            if kind == ARP and frame[38:42] == OURS:
                self.send(frame[6:12], ARP, frame[14:20] + b"\0\2" + MAC + OURS +
                          frame[22:32])
            elif kind == IPV4 and frame[23] == UDP:
                head = 14 + (frame[14] & 15) * 4
                source, port, size = struct.unpack_from("!HHH", frame, head)
                self.datagram(frame[6:12], source, port, frame[head + 8:head + size])

    def send(self, to, kind, payload):
        self.socket.sendto((to + MAC + struct.pack("!H", kind) + payload).ljust(60, b"\0"),
                           self.guest)

    def reply(self, to, source, port, payload, address=THEIRS):
        """One UDP datagram to the guest; its checksum may be left out (RFC 768)."""
        udp = struct.pack("!HHHH", source, port, 8 + len(payload), 0) + payload
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, UDP, 0, OURS,
                           address)
        head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
        self.send(to, IPV4, head + udp)

    def datagram(self, mac, source, port, data):
        if len(self.taken) == self.leave_after:
            return
        if port == 67:
            self.dhcp(mac, data)
        elif port == 69:
            self.begin(mac, source, data)
        elif source in self.transfers:
            self.go_on(mac, source, data)

    # --- DHCP

    def dhcp(self, mac, data):
        """Offer, then acknowledge, the one address."""
        self.seen += 1
        at, kind = 240, 0
        while at + 1 < len(data) and data[at] != 255:
            if data[at] == 53:
                kind = data[at + 2]
            at += 2 + data[at + 1] if data[at] else 1
        if kind not in (1, 3):
            return
        options = bytes((53, 1, 2 if kind == 1 else 5, 54, 4)) + OURS + bytes((1, 4)) + \
            b"\xff\xff\xff\0" + bytes((51, 4)) + struct.pack("!I", 3600)
        packet = b"\2" + data[1:16] + THEIRS + OURS + bytes(4) + data[28:44] + bytes(64) + \
            self.boot_file.encode().ljust(128, b"\0") + data[236:240] + options + b"\xff"
        self.reply(mac, 67, 68, packet.ljust(300, b"\0"), b"\xff" * 4)

    # --- TFTP

    def begin(self, mac, source, data):
        """A read or write request, with the options that concern us."""
        kind, = struct.unpack_from("!H", data)
        words = data[2:].decode("latin-1").split("\0")
        name, given = words[0], {k.lower(): v for k, v in zip(words[2::2], words[3::2])}
        self.asked.append((kind, name))
        why = self.refuse if kind == WRITE else \
            None if name in self.files else (1, "file not found")
        if why:
            self.reply(mac, 2000, source, struct.pack("!HH", ERROR, why[0]) +
                       why[1].encode() + b"\0")
            return
        body = b"" if kind == WRITE else self.files[name]
        size = int(given.get("blksize", 512))
        self.transfers[source] = [kind, name, body, size]
        answer = {}
        if "blksize" in given:
            answer["blksize"] = size
        if "tsize" in given:
            answer["tsize"] = given["tsize"] if kind == WRITE else len(body)
        if answer:
            self.reply(mac, 2000, source, struct.pack("!H", OPTIONS) + b"".join(
                b"%s\0%s\0" % (k.encode(), str(v).encode()) for k, v in answer.items()))
        elif kind == WRITE:
            self.reply(mac, 2000, source, struct.pack("!HH", ACK, 0))
        else:
            self.block(mac, source, 1)

    def block(self, mac, source, number):
        """Block number (from 1, modulo 65536) of what is read."""
        _, _, body, size = self.transfers[source]
        part = body[(number - 1) * size:number * size]
        self.reply(mac, 2000, source, struct.pack("!HH", DATA, number & 0xFFFF) + part)

    def go_on(self, mac, source, data):
        kind, number = struct.unpack_from("!HH", data)
        transfer = self.transfers[source]
        if kind == ACK and transfer[0] == READ:
            if number * transfer[3] <= len(transfer[2]):
                self.block(mac, source, number + 1)
        elif kind == DATA and transfer[0] == WRITE:
            if number == len(transfer[2]) // transfer[3] + 1:     # not one sent again
                transfer[2] += data[4:]
            if len(data) - 4 < transfer[3]:
                self.taken[transfer[1]] = transfer[2]
            self.reply(mac, 2000, source, struct.pack("!HH", ACK, number))
