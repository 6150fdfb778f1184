# SPDX-License-Identifier: BSD-2-Clause
"""Boot the distribution's Linux on the resident model: a shell, or one command, with BTS.

linux.py [options] [--file PATH]... [--run WORDS]

The guest has busybox, perf and GDB, and each PATH in its root.  Without --run it is a shell on
this terminal.  With it the guest's shell runs the words, what they print is printed here, and
what they leave in /out comes back to OUT/linux/.  The status is theirs; 2 when there is none,
3 for bad usage.  The last line says `status: N reason`.
"""

import os
import shutil
import signal
import sys
import tarfile
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run, trace_run, under  # noqa: E402
from harness.host import initramfs, judge, kernel, resident  # noqa: E402

INIT = Path(__file__).with_name("host") / "linux_init.sh"
# The page tables of a kernel without PTI stay in place at a switch, which the driver of BTS
# asks for. The watchdog would count cycles for ever, and the model would step.
COMMAND_LINE = "console=ttyS0 nopti nmi_watchdog=0 panic=-1 rdinit=/init initrd=\\initrd.img"
RESULT_MIB = 2048           # of a sparse file
SECONDS = 1800              # for words; a shell has no end


def arguments(words):
    made = under.parser("linux.py", __doc__.splitlines()[0])
    made.add_argument("--run", metavar="WORDS", help="what the guest's shell shall run")
    made.add_argument("--kernel", metavar="PATH",
                      help="another kernel: a vmlinuz, a package or an unpacked package")
    made.add_argument("--cache", metavar="FOLDER",
                      help="where kernels are kept (default OUT/kernel)")
    made.add_argument("--append", default="", metavar="WORDS", help="for its command line")
    made.add_argument("--tools", default="perf,gdb", help="less of these start faster")
    args = made.parse_args(words)
    args.tools = [name for name in args.tools.split(",") if name]
    for name in args.tools:
        if name not in initramfs.PACKAGES:
            raise run.Usage("--tools %s: there are %s" % (name, ", ".join(initramfs.PACKAGES)))
    args.seconds = args.seconds or (SECONDS if args.run else 0)
    return args


def initrd(args, path, found):
    """The guest's root as an archive."""
    with open(path, "wb") as stream:
        root = initramfs.Root(stream)
        root.archive.file("init", INIT.read_bytes())
        for number, (name, data) in enumerate(kernel.modules(found)):
            root.archive.file("modules/%02d-%s.ko" % (number, name), data, 0o644)
        for each in map(Path, args.file):
            if each.is_dir():
                root.tree(each, each.resolve().name)
            else:
                root.file(each, each.name)
        if args.run:
            root.archive.file("run/words", (args.run + "\n").encode(), 0o644)
        initramfs.tools(root, args.tools)
        root.close()


def devices(args, place):
    """QEMU's words for the disk of results and, with --run, for what is said."""
    disk = place / "results.img"
    with open(disk, "wb") as stream:
        stream.truncate(RESULT_MIB << 20)
    words = ["-drive", "if=none,id=out,format=raw,cache=unsafe,file=%s" % disk,
             "-device", "virtio-blk-pci,drive=out,serial=waymark-out"]
    if args.run:
        words += ["-chardev", "file,id=words,path=%s" % (place / "words.txt"),
                  "-device", "virtio-serial-pci",
                  "-device", "virtserialport,chardev=words,name=org.waymark.words"]
    return words


def unpack(disk, place):
    """The files that came back, into place; the status of the words, None without."""
    status = None
    try:
        with tarfile.open(disk, "r:") as archive:
            for member in archive:
                name = Path(member.name)
                if name.is_absolute() or ".." in name.parts:
                    continue
                data = archive.extractfile(member) if member.isfile() else None
                if data and member.name == "run/status":
                    status = int(data.read())
                elif data:
                    target = place / ("dmesg.txt" if member.name == "run/dmesg" else
                                      name.relative_to("out"))
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with open(target, "wb") as stream:
                        shutil.copyfileobj(data, stream)
    except (tarfile.TarError, ValueError):
        pass
    return status


class Words:
    """What the guest says, passed on while it grows."""

    def __init__(self, path):
        self.path, self.at = path, 0

    def __call__(self):
        if not self.path.is_file():
            return
        with open(self.path, "rb") as stream:
            stream.seek(self.at)
            while data := stream.read(1 << 20):
                self.at += len(data)
                resident.shown(data)


def linux(words, env):
    """(status, reason) of one run."""
    args = arguments(words)
    under.check(args, [path for path in args.file if not Path(path).is_dir()])
    out = Path(args.out)
    place = out / "linux"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    found = kernel.find(args.kernel, args.cache or out / "kernel")
    initrd(args, out / "initrd.img", found)
    line = (COMMAND_LINE + " " + args.append).strip()
    guest = under.guest(args, found.image, line, [(out / "initrd.img", "initrd.img")])
    guest.more += devices(args, place)
    said = Words(place / "words.txt")
    status, reason = resident.run(
        guest, args.image, out, env, args.seconds,
        (lambda data: None) if args.run else resident.shown, said)
    said()
    theirs = unpack(place / "results.img", place)
    (place / "results.img").unlink()
    print("results: %s %s" % (place, out / "serial.log"))
    if theirs is None or status == judge.ERROR:
        return judge.ERROR, reason if status else "%s before the guest was done" % reason
    return theirs, "the words ended with %d" % theirs if args.run else "the shell ended"


def main(words, env):
    """(status, reason), whatever goes wrong."""
    def run_it(words, env):
        try:
            return linux(words, env)
        except (initramfs.Missing, kernel.Missing) as error:
            return judge.ERROR, str(error)
    return trace_run.finish(run_it, words, env)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, run.stop)
    run.leave(*main(sys.argv[1:], os.environ))
