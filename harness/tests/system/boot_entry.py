# SPDX-License-Identifier: BSD-2-Clause
"""A file of firmware variables: what is in it, and a boot entry as a boot manager writes it.

Sources: UEFI Platform Initialization Specification, "Firmware Volume Header"; UEFI
Specification, "Load Options", "Device Path Protocol"; EDK II's variable store, which OVMF's
files hold: a header with a GUID, then variables, each aligned to 4, then bytes FFh.
"""

import struct
import uuid
from pathlib import Path

GLOBAL = uuid.UUID("8be4df61-93ca-11d2-aa0d-00e098032b8c")
AUTHENTICATED = uuid.UUID("aaf32c78-947b-439a-a180-2e144ec37792")
STARTED, ADDED = 0x55AA, 0x3F
EVERYWHERE = 7                  # non-volatile, boot services, run time
ACTIVE = 1
HEAD = "<HBBIQ16sIII16s"        # of a variable; time stamp and counter stay zero


def variables(data):
    """(offset of the first variable, offset behind the last one that is there)."""
    volume_head, = struct.unpack_from("<H", data, 48)
    if data[40:44] != b"_FVH" or data[volume_head:volume_head + 16] != AUTHENTICATED.bytes_le:
        raise ValueError("no store of authenticated variables")
    start = at = volume_head + 28
    while struct.unpack_from("<H", data, at)[0] == STARTED:
        name, value = struct.unpack_from("<II", data, at + 36)
        at = (at + struct.calcsize(HEAD) + name + value + 3) & ~3
    return start, at


def living(path, name):
    """The values of the variables of that name that are there; deleted ones are not."""
    data = Path(path).read_bytes()
    at, end = variables(data)
    found = []
    while at < end:
        state = data[at + 2]
        size, value = struct.unpack_from("<II", data, at + 36)
        text = at + struct.calcsize(HEAD)
        if state == ADDED and data[text:text + size] == name.encode("utf-16-le") + b"\0\0":
            found.append(data[text + size:text + size + value])
        at = (text + size + value + 3) & ~3
    return found


def variable(name, value, guid=GLOBAL):
    """One variable as it lies in the store."""
    text = name.encode("utf-16-le") + b"\0\0"
    made = struct.pack(HEAD, STARTED, ADDED, 0, EVERYWHERE, 0, bytes(16), 0, len(text),
                       len(value), guid.bytes_le) + text + value
    return made + b"\xff" * (-len(made) % 4)


def network_path(url):
    """The short form: an address alone, which the firmware tries on every card."""
    address = url.encode("ascii")
    return struct.pack("<BBH", 3, 24, 4 + len(address)) + address + bytes((0x7F, 0xFF, 4, 0))


def add(path, title, url, words=()):
    """Make the address the first thing that the firmware boots; words are its load options."""
    path = Path(path)
    data = bytearray(path.read_bytes())
    place = network_path(url)
    options = (" ".join(words) + "\0").encode("utf-16-le") if words else b""
    entry = struct.pack("<IH", ACTIVE, len(place)) + title.encode("utf-16-le") + b"\0\0" + \
        place + options
    added = variable("Boot0042", entry) + variable("BootOrder", struct.pack("<H", 0x42))
    _, at = variables(data)
    if set(data[at:at + len(added)]) != {0xFF}:
        raise ValueError("the store has no room")
    data[at:at + len(added)] = added
    path.write_bytes(data)
