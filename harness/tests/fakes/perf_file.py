# SPDX-License-Identifier: BSD-2-Clause
"""perf.data read without perf: the records of the processor's branch trace as they were stored.

perf's own decoder leaves records out (the last one of each buffer), so what the kernel took
from the processor is read from the file itself.
Source: the kernel's tools/perf/Documentation/perf.data-file-format.txt.
"""

import struct
from dataclasses import dataclass

AUXTRACE = 71
RECORD = struct.Struct("<QQQ")


@dataclass
class Buffer:
    """One AUXTRACE event: what the driver handed over at once."""
    offset: int
    thread: int
    cpu: int
    records: list           # (from, to, flags)


def events(data):
    """(type, misc, body, offset behind the event) of each event."""
    if data[:8] != b"PERFILE2":
        raise ValueError("no perf.data")
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at + 8 <= end:
        kind, misc, bytes_ = struct.unpack_from("<IHH", data, at)
        if bytes_ < 8:
            raise ValueError("an event of %d bytes" % bytes_)
        body, at = data[at + 8:at + bytes_], at + bytes_
        yield kind, misc, body, at
        if kind == AUXTRACE:
            at += struct.unpack_from("<Q", body)[0]


def buffers(path):
    """The trace's buffers in the order of the file."""
    data = path.read_bytes()
    end = 0
    for kind, _, body, behind in events(data):
        if kind != AUXTRACE:
            continue
        size, offset, _, _, thread, cpu = struct.unpack_from("<QQQIII", body)
        whole = size // RECORD.size * RECORD.size
        yield Buffer(offset, thread, cpu,
                     list(RECORD.iter_unpack(data[behind:behind + whole])))
        end = behind + size
    if end > len(data):
        raise ValueError("perf.data is cut short")
