# SPDX-License-Identifier: BSD-2-Clause
"""Start an EFI program in QEMU with the model staying resident below it: it finds BTS and PEBS.

under.py [options] PROGRAM.EFI [WORD...]

The words are the program's load options. Its serial line is passed through, both ways; with a
terminal, Ctrl-A X ends QEMU.  0 the machine was switched off or reset, or the program gave 0 to
QEMU's exit device; 1 it gave something else, or a triple fault ended it; 2 it could not be
started, the model gave up, or the time was up; 3 bad usage.  The last line says
`status: N reason`.
"""

import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file: make the package harness importable whatever the current folder is.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from harness import run, trace_run  # noqa: E402
from harness.host import fat, qemu, resident  # noqa: E402

WORDS_MOST = 1000           # what the image takes for the load options


def parser(name, text):
    """The options of everything that is started on the model."""
    made = run.Arguments(prog=name, description=text)
    made.add_argument("--image", default="out/BOOTX64.EFI", help="our EFI image")
    made.add_argument("--out", default="out", help="folder for everything that is written")
    made.add_argument("--cpu", default=resident.Guest.cpu, help="QEMU's -cpu")
    made.add_argument("--cpus", type=int, default=1, help="processors")
    made.add_argument("--memory", type=trace_run.mebibytes(128), default=resident.Guest.memory,
                      help="of the machine, in MiB")
    made.add_argument("--machine", default="q35", help="QEMU's -machine: q35, pc, ...")
    made.add_argument("--seconds", type=float, default=0, help="end it then (default never)")
    made.add_argument("--option", action="append", type=trace_run.option, default=[],
                      metavar="KEY=VALUE", help="an option of the image, as pebs=4")
    made.add_argument("--file", action="append", default=[], metavar="PATH",
                      help="a file to lie beside the program")
    made.add_argument("--plain", action="store_true", help="without the model")
    made.add_argument("--qemu-word", action="append", default=[], metavar="WORD",
                      help="a word more for QEMU")
    return made


def arguments(words):
    made = parser("under.py", __doc__.splitlines()[0])
    made.add_argument("program")
    made.add_argument("words", nargs="*", metavar="word")
    return trace_run.parse(made, words)


def check(args, paths):
    """What can be found wrong before QEMU starts."""
    for path in paths:
        if not Path(path).is_file():
            raise run.Usage("%s is no file" % path)
    if not args.plain and not Path(args.image).is_file():
        raise qemu.Missing("%s does not exist: build it with make" % args.image)
    if args.cpus < 1:
        raise run.Usage("--cpus %d: at least 1" % args.cpus)
    fat.present()
    Path(args.out).mkdir(parents=True, exist_ok=True)


def guest(args, efi, words, files=()):
    """What the options ask for."""
    if len(words) > WORDS_MOST:
        raise run.Usage("the words are longer than %d bytes" % WORDS_MOST)
    return resident.Guest(Path(efi), words, list(files), args.option, args.plain, args.cpu,
                          args.cpus, args.memory, args.machine, args.qemu_word)


def under(words, env):
    """(status, reason) of one run."""
    args = arguments(words)
    check(args, [args.program] + args.file)
    files = [(path, Path(path).name) for path in args.file]
    started = guest(args, args.program, " ".join(args.words), files)
    status, reason = resident.run(started, args.image, args.out, env, args.seconds)
    print("\nresults: %s" % (Path(args.out) / "serial.log"))
    return status, reason


def main(words, env):
    """(status, reason), whatever goes wrong."""
    return trace_run.finish(under, words, env)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, run.stop)
    run.leave(*main(sys.argv[1:], os.environ))
