# SPDX-License-Identifier: BSD-2-Clause
"""Seed corpora for the fuzzers of wtr.

wtr_seeds.py FOLDER: FOLDER/traces for fuzz_wtr_trace (whose first byte is its mode), FOLDER/elf
for fuzz_wtr_elf.
"""

import struct
import subprocess
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.tests.fakes import wtr_file  # noqa: E402
from harness.tests.system.wtr_tools import GCC, PROGRAMS, TESTS  # noqa: E402

# Branches of the program that is traced, roughly: calls, returns, jumps, a kernel address.
PAIRS = [(0x401007, 0x4012FA), (0x401304, 0x40135A), (0x40135E, 0x40119E), (0x4011C1, 0x401363),
         (0x401365, 0x401306), (0x401024, 0xFFFFFFFF81000000), (0xFFFFFFFF81000050, 0x401026)]


def image(process=1, path=b"/nowhere/mix\0"):
    segment = struct.pack("<QQQII", 0x401000, 0x1000, 0x1000, 5, 0)
    body = struct.pack("<QQHHI", 0, 0x401000, 1, 4, len(path)) + segment
    return wtr_file.record("image", body + wtr_file.padded(b"1234") + path, task=process)


def every_kind():
    """Name to the records of one trace each."""
    common = [image(), wtr_file.task("mix", start=0x401000)]
    second = wtr_file.task("other", process=2, parent=1, task_number=2)
    one = {
        "packed": [wtr_file.packed(PAIRS)],
        "flags": [wtr_file.packed([(*pair, 16) for pair in PAIRS])],
        "plain": [wtr_file.branches(PAIRS)],
        "lost": [wtr_file.packed(PAIRS[:3]), wtr_file.lost(9), wtr_file.packed(PAIRS[3:]),
                 wtr_file.lost(task=0), wtr_file.record("wrap", struct.pack("<QII", 3, 0, 0))],
        "tasks": [second, image(2), wtr_file.packed(PAIRS), wtr_file.time(5, "departs"),
                  wtr_file.time(6, "arrives", task=2), wtr_file.packed(PAIRS, task=2)],
        "events": [wtr_file.record("mode", struct.pack("<II", 3, 1)),
                   wtr_file.record("migrate", struct.pack("<IIQ", 0, 1, 7)),
                   wtr_file.record("exception", struct.pack("<IIQQ", 14, 4, 0x401000, 8)),
                   wtr_file.packed(PAIRS), wtr_file.time(99)],
        "words": [wtr_file.record("arguments", struct.pack("<II", 6, 0) + b"mix\0x\0"),
                  wtr_file.record("output", struct.pack("<II", 5, 1) + b"hello"),
                  wtr_file.record("exit", struct.pack("<IiQ", 0, 7, 0x401013))],
        "unknown": [wtr_file.record(77, b"of the future")],
    }
    return {name: common + records for name, records in one.items()}


def main(folder):
    traces, elf = folder / "traces", folder / "elf"
    for place in (traces, elf):
        place.mkdir(parents=True, exist_ok=True)
    for name, records in every_kind().items():
        data = wtr_file.whole(records, 0)
        for mode in (0, 1, 6, 9):
            (traces / ("%s-%d" % (name, mode))).write_bytes(bytes([mode]) + data)
    for name, (source, options) in PROGRAMS.items():
        subprocess.run([*GCC, *options, "-o", elf / name, TESTS / source], check=True)
    for name, options in (("stripped", ["-s"]), ("dwarf4", ["-gdwarf-4"]), ("pie", ["-pie"]),
                          ("compressed", ["-gz"]), ("object", ["-c"])):
        subprocess.run(["gcc", "-nostdlib", "-g", "-O1", "-w", *options, "-o", elf / name,
                        TESTS / "traced_mix.c"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
