# SPDX-License-Identifier: BSD-2-Clause
"""trace.wtr written and read in Python, from the description in wtr_format.h alone.

A second implementation, so that what wtr reads is the documented format and not its own habits;
and a maker of traces that no recorder gives: several tasks, gaps, damage, a million branches.
"""

import struct

MAGIC = b"\x89WTR\r\n\x1a\n"
UNKNOWN = (1 << 64) - 1
MASK = (1 << 64) - 1
KINDS = ("branches packed arrives departs lost wrap mode migrate exception image task "
         "arguments output exit time end samples sampling start refused signal").split()
NUMBER = {name: number for number, name in enumerate(KINDS, 1)}


def check(data):
    """The check of a record whose own check field is 0."""
    state = 0x57415954524143 ^ len(data)
    for (word,) in struct.iter_unpack("<Q", data):
        state = (state ^ word) * 0x9E3779B97F4A7C15 & MASK
        state ^= state >> 32
    return state & 0xFFFFFFFF


def padded(data):
    return data + bytes(-len(data) % 8)


def header(provider=b"python", producer=b"wtr_file.py", tsc_hz=0, major=1, minor=0):
    data = struct.pack("<8sHHIQ16s32sII", MAGIC, major, minor, 80, tsc_hz, provider, producer,
                       0, 0)
    return data[:76] + struct.pack("<I", check(data))


def record(kind, body, cpu=0, task=1):
    """One record; kind is a name or a number."""
    body = padded(body)
    kind = NUMBER.get(kind, kind)
    head = struct.pack("<HHIII", kind, cpu, 16 + len(body), task, 0)
    return head[:12] + struct.pack("<I", check(head + body)) + body


def branches(pairs, **who):
    """A record of plain branches: (from, to) or (from, to, flags)."""
    body = struct.pack("<II", len(pairs), 0)
    return record("branches", body + b"".join(struct.pack("<QQQ", *(tuple(pair) + (0,))[:3])
                                              for pair in pairs), **who)


def number(value):
    """7 bits a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(difference):
    """A difference of 64 bits with its sign in bit 0."""
    difference &= MASK
    return (difference << 1 & MASK) ^ (MASK if difference >> 63 else 0)


def packed(pairs, **who):
    """The same branches, packed."""
    flags = any(len(pair) > 2 and pair[2] for pair in pairs)
    previous = base = pairs[0][0]
    payload = bytearray()
    for pair in pairs:
        payload += number(signed(pair[0] - previous)) + number(signed(pair[1] - pair[0]))
        if flags:
            payload += number(pair[2] if len(pair) > 2 else 0)
        previous = pair[1]
    fixed = struct.pack("<IIQII", len(pairs), len(payload), base, int(flags), 0)
    return record("packed", fixed + bytes(payload), **who)


def lost(count=UNKNOWN, reason=1, **who):
    return record("lost", struct.pack("<QII", count, reason, 0), **who)


def time(tsc, kind="time", **who):
    return record(kind, struct.pack("<Q", tsc), **who)


def task(name, process=1, parent=0, start=UNKNOWN, task_number=1):
    name = name.encode() + b"\0"
    return record("task", struct.pack("<IIQII", parent, process, start, len(name), 0) + name,
                  task=task_number)


def end(records, count):
    return record("end", struct.pack("<QQ", records, count), task=0)


def whole(records, count, **head):
    """A file of these records (bytes each), with header and end."""
    return header(**head) + b"".join(records) + end(len(records), count)


def read(data):
    """(kind, task, cpu, body, raw) of each record of a good file."""
    at = struct.unpack_from("<I", data, 12)[0]
    while at < len(data):
        kind, cpu, size, number_of, stored = struct.unpack_from("<HHIII", data, at)
        raw = data[at:at + size]
        assert check(raw[:12] + bytes(4) + raw[16:]) == stored
        yield KINDS[kind - 1], number_of, cpu, raw[16:], raw
        at += size


def unpack(body):
    """(from, to, flags) of each branch of a packed record's body."""
    count, length, previous, form, _ = struct.unpack_from("<IIQII", body)
    numbers, value, shift = [], 0, 0
    for byte in body[24:24 + length]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(value)
            value = shift = 0
    each = 3 if form & 1 else 2
    assert len(numbers) == count * each
    for at in range(0, len(numbers), each):
        start, to = (part >> 1 ^ (MASK if part & 1 else 0) for part in numbers[at:at + 2])
        start = start + previous & MASK
        previous = to + start & MASK
        yield start, previous, numbers[at + 2] if each == 3 else 0


def all_branches(data):
    """(task, from, to) of a file."""
    for kind, number_of, _, body, _ in read(data):
        if kind == "packed":
            yield from ((number_of, a, b) for a, b, _ in unpack(body))
        elif kind == "branches":
            count = struct.unpack_from("<I", body)[0]
            yield from ((number_of, a, b) for a, b, _ in
                        struct.iter_unpack("<QQQ", body[8:8 + 24 * count]))


def samples(data):
    """(ip, period, return addresses, registers or None) of each sample of a file."""
    for kind, _, _, body, _ in read(data):
        if kind != "samples":
            continue
        count, payload, period, _, form = struct.unpack_from("<IIQII", body)
        at = 24
        for _ in range(count):
            ip, _, chain, _ = struct.unpack_from("<QQII", body, at)
            at += 24
            registers = struct.unpack_from("<20Q", body, at) if form & 1 else None
            at += 160 if form & 1 else 0
            yield ip, period, struct.unpack_from("<%dQ" % chain, body, at), registers
            at += 8 * chain
        assert at == 24 + payload


def moved(data, distance):
    """The file as if its images had been loaded that much further up."""
    records, count = [], 0
    for kind, number_of, _, body, raw in read(data):
        if kind == "image":
            bias, entry, segments = struct.unpack_from("<QQH", body)
            body = bytearray(body)
            struct.pack_into("<QQ", body, 0, bias + distance, entry + distance)
            for at in range(24, 24 + 32 * segments, 32):
                start = struct.unpack_from("<Q", body, at)[0]
                struct.pack_into("<Q", body, at, start + distance)
            records.append(record("image", bytes(body), task=number_of))
        elif kind == "task":
            body = bytearray(body)
            start = struct.unpack_from("<Q", body, 8)[0]
            struct.pack_into("<Q", body, 8, start + distance)
            records.append(record("task", bytes(body), task=number_of))
        elif kind == "packed":
            pairs = [tuple(place + distance if place < 1 << 63 else place for place in pair[:2])
                     for pair in unpack(body)]
            count += len(pairs)
            records.append(packed(pairs, task=number_of))
        elif kind not in ("end", "exit"):
            records.append(raw)
    return whole(records, count)


def stretched(data, cycle, total):
    """The file with branches cycle[0]..cycle[1]-1 repeated until there are about total."""
    recorded = list(all_branches(data))
    before = [pair[1:] for pair in recorded[:cycle[0]]]
    inside = [pair[1:] for pair in recorded[cycle[0]:cycle[1]]]
    after = [pair[1:] for pair in recorded[cycle[1]:]]
    times_in_record = max(1, 8000 // len(inside))
    block = packed(inside * times_in_record)
    blocks = max(1, (total - len(before) - len(after)) // (len(inside) * times_in_record))
    others = [(kind, raw) for kind, _, _, _, raw in read(data)
              if kind not in ("packed", "branches", "end")]
    head = [raw for kind, raw in others if kind in ("image", "task", "arguments")]
    tail = [raw for kind, raw in others if kind in ("output", "exit")]
    records = [*head, packed(before), *[block] * blocks, packed(after), *tail]
    count = len(before) + len(after) + blocks * len(inside) * times_in_record
    return whole(records, count), count
