# SPDX-License-Identifier: BSD-2-Clause
"""A disk for a USB stick: GPT, one EFI system partition, the image in it; the same every time.

Nothing in it depends on when or where it is made: identifiers, serial number and time stamps
are fixed.  Source: UEFI Specification, "GUID Partition Table (GPT) Disk Layout".
"""

import argparse
import os
import struct
import sys
import uuid
import zlib
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from harness.host import fat  # noqa: E402

SECTOR = 512
START = 2048                    # in sectors: 1 MiB, where partitions are aligned to
PARTITION_SECTORS = 64 * 2048   # FAT32 needs 65525 clusters, and some firmware wants FAT32
ENTRIES, ENTRY_BYTES = 128, 128
TABLE_SECTORS = ENTRIES * ENTRY_BYTES // SECTOR
SECTORS = START + PARTITION_SECTORS + 2048

SYSTEM_PARTITION = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
DISK_ID = uuid.UUID("7761796d-6172-4b00-8000-000000000001")
PARTITION_ID = uuid.UUID("7761796d-6172-4b00-8000-000000000002")
VOLUME_SERIAL = "5741594D"
EPOCH = "1577836800"            # 2020-01-01: FAT begins at 1980

CFG = """# Options for Waymark, one or more key=value a line. For example
# run=bts.record.*
# serial=com1 baud=115200
# profile=hardware
"""


def protective_mbr():
    """One entry of type EEh over the whole disk, for tools that know no GPT."""
    entry = struct.pack("<B3sB3sII", 0, b"\x00\x02\x00", 0xEE, b"\xff\xff\xff", 1, SECTORS - 1)
    return bytes(446) + entry + bytes(48) + b"\x55\xaa"


def table():
    """The partition entries, the first one ours."""
    name = "WAYMARK".encode("utf-16-le").ljust(72, b"\0")
    entry = SYSTEM_PARTITION.bytes_le + PARTITION_ID.bytes_le + struct.pack(
        "<QQQ", START, START + PARTITION_SECTORS - 1, 0) + name
    return entry.ljust(ENTRIES * ENTRY_BYTES, b"\0")


def header(own, other, table_at):
    """The GPT header at sector own, whose twin is at sector other."""
    def fields(checksum):
        return struct.pack(
            "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, checksum, 0, own, other,
            2 + TABLE_SECTORS, SECTORS - TABLE_SECTORS - 2, DISK_ID.bytes_le, table_at,
            ENTRIES, ENTRY_BYTES, zlib.crc32(table()))
    return fields(zlib.crc32(fields(0))).ljust(SECTOR, b"\0")


def partition(path, image, cfg):
    """A FAT32 volume with the image in the removable-media place."""
    os.environ.update(SOURCE_DATE_EPOCH=EPOCH, TZ="UTC")
    path.unlink(missing_ok=True)
    text = path.with_suffix(".cfg")
    text.write_text(cfg, encoding="ascii", newline="\n")
    fat.run("mformat", "-C", "-i", path, "-F", "-c", "1", "-T", str(PARTITION_SECTORS),
            "-h", "64", "-s", "32", "-H", str(START), "-N", VOLUME_SERIAL, "-v", "WAYMARK",
            "::")
    fat.run("mmd", "-i", path, "::/EFI", "::/EFI/BOOT")
    for source, name in ((image, "BOOTX64.EFI"), (text, "waymark.cfg")):
        os.utime(text, (int(EPOCH), int(EPOCH)))
        fat.run("mcopy", "-i", path, source, "::/EFI/BOOT/" + name)
    text.unlink()
    return path.read_bytes()


def create(disk, image, cfg=CFG):
    """Write the disk; raises fat.Trouble."""
    if not Path(image).is_file():
        raise fat.Trouble("%s does not exist: build it with make" % image)
    disk = Path(disk)
    disk.parent.mkdir(parents=True, exist_ok=True)
    volume = disk.with_suffix(".esp")
    data = bytearray(SECTORS * SECTOR)
    for sector, part in ((0, protective_mbr()), (1, header(1, SECTORS - 1, 2)), (2, table()),
                         (START, partition(volume, image, cfg)),
                         (SECTORS - 1 - TABLE_SECTORS, table()),
                         (SECTORS - 1, header(SECTORS - 1, 1, SECTORS - 1 - TABLE_SECTORS))):
        data[sector * SECTOR:sector * SECTOR + len(part)] = part
    volume.unlink()
    disk.write_bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", type=Path, help="the EFI image")
    parser.add_argument("disk", type=Path, help="the disk to write")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE",
                        help="lines for waymark.cfg instead of the commented sample")
    args = parser.parse_args()
    try:
        create(args.disk, args.image, "".join(o + "\n" for o in args.options) or CFG)
    except (fat.Trouble, OSError, UnicodeEncodeError) as error:
        print("disk: %s" % error, file=sys.stderr)
        return 1
    print("%s: write it to a stick with: dd if=%s of=/dev/sdX bs=4M conv=fsync" % (
        args.disk, args.disk))
    return 0


if __name__ == "__main__":
    sys.exit(main())
