# SPDX-License-Identifier: BSD-2-Clause
"""An EFI program in QEMU with the model staying resident below it, or without the model.

Volume, machine, and how a machine is followed that speaks for itself: no line of it is ours
but the one that says why the model gave up.
"""

import os
import re
import subprocess
import sys
import termios
from dataclasses import dataclass, field
from pathlib import Path

from harness.host import fat, judge, patience, qemu

SLACK_KIB = 16 * 1024       # of the volume, beside the files
TICK = 0.2                  # seconds between two looks at what else grows
LAST_WORDS = 2              # seconds that a model gets after the line that it gave up
PANIC = re.compile(rb"^# (model: [^\r\n]*)[\r\n]", re.M)
TRIPLE = "Triple fault"
# The image's own words: why it starts nothing, that it starts it, that it came back.
REFUSED = re.compile(r"^waymark: (.*?)\r?$", re.M)
STARTED = re.compile(r"^# under: .*; starting ", re.M)
RETURNED = re.compile(r"^# under: .* has ended \(([^)]*)\)", re.M)


@dataclass
class Guest:
    """What is started, and on what machine."""
    efi: Path
    words: str = ""             # its load options, as one text
    files: list = field(default_factory=list)       # (path, name in the root)
    options: list = field(default_factory=list)     # of the image
    plain: bool = False         # without the model
    cpu: str = "Skylake-Client,+svm"
    cpus: int = 1
    memory: int = 1024          # MiB
    machine: str = "q35"
    more: list = field(default_factory=list)        # words for QEMU


def volume(guest, image, out):
    """The boot volume in out; its path."""
    made, name = Path(out) / "under.img", fat.root_name(guest.efi, "program.efi")
    files = [(guest.efi, name)] + guest.files
    size = SLACK_KIB + sum(Path(path).stat().st_size + 65536 for path, _ in files) // 1024
    if guest.plain and not guest.words:
        fat.create(made, guest.efi, [], guest.files, size)
    elif guest.plain:
        script = Path(out) / "startup.nsh"
        script.write_text("@echo -off\r\nfs0:\r\n%s %s\r\nreset -s\r\n" % (name, guest.words))
        fat.create(made, None, [], files + [(script, "startup.nsh")], size)
    else:
        lines = ["exit=debug"] + guest.options + ["under=" + name]
        if guest.words:
            lines.append("under-args=" + fat.option_word(guest.words))
        fat.create(made, image, lines + ["exit=debug"], files, size)
    return made


def command(guest, image, out, env):
    """QEMU's words, on a new volume."""
    words = qemu.command(qemu.find_qemu(env), qemu.find_firmware(env), out,
                         volume(guest, image, out), cpu=guest.cpu, cpus=guest.cpus,
                         machine=guest.machine, memory=guest.memory)
    # On a terminal Ctrl-A X must end QEMU, since Ctrl-C is the guest's.
    words[words.index("-serial") - 1] += ",mux=on"
    # A triple fault resets, and so does a guest that wants to: only the log tells them apart.
    return words + ["-d", "cpu_reset", "-D", str(Path(out) / "resets.log")] + guest.more


class Terminal:
    """QEMU makes the terminal raw, and cannot undo that when it is killed."""

    def __enter__(self):
        self.saved = termios.tcgetattr(0) if os.isatty(0) else None
        return self

    def __exit__(self, *unused):
        if self.saved:
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)


def follow(machine, seconds, show, tick=lambda: None):
    """Pass the serial line on until the machine ends; what the model said last, or ''.

    None: the time is up.  tick() is called a few times a second.
    """
    panic, tail = "", b""
    for data in patience.output(machine.process, seconds or float("inf"), TICK):
        machine.serial.write(data)
        show(data)
        tick()
        tail = (tail + data)[-4096:]
        found = PANIC.search(tail)
        if found:
            # The model resets the machine with its last word.
            panic = found[1].decode(errors="replace")
            break
    for data in patience.output(machine.process, LAST_WORDS, TICK) if panic else ():
        machine.serial.write(data)
        show(data)
    if panic:
        return panic
    try:
        machine.process.wait(1)
    except subprocess.TimeoutExpired:
        return None
    return ""


def ours(guest, text):
    """(status, reason) of what the image itself said on the serial line, None for nothing."""
    if guest.plain:
        return None
    started = STARTED.search(text)
    refused = REFUSED.search(text, 0, started.start() if started else len(text))
    if refused:
        about_it = refused[1].startswith("under=")
        return judge.ERROR if about_it else judge.USAGE, refused[1]
    if not started:
        return judge.ERROR, "the image did not start the program"
    returned = RETURNED.search(text)
    if returned:
        return int(returned[1] != "success"), "the program returned: " + returned[1]
    return None


def ended(guest, machine, panic, out, seconds):
    """(status, reason) once follow() came back."""
    if panic:
        return judge.ERROR, "the model gave up: " + panic
    if panic is None:
        return judge.ERROR, "time is up: %g s in all" % seconds
    status = machine.process.returncode
    if status < 0:
        return judge.ERROR, "QEMU was ended by signal %d" % -status
    if status & 1 and machine.said():
        return judge.ERROR, "QEMU ended with status %d: %s" % (status, machine.said()[-1])
    words = ours(guest, (out / "serial.log").read_text(errors="replace"))
    if words:
        return words
    if TRIPLE in (out / "resets.log").read_text(errors="replace"):
        return judge.FAIL, "a triple fault reset the machine"
    if status & 1:
        return int(status >> 1 != 0), "the exit device got %d" % (status >> 1)
    return judge.PASS, "the machine was switched off or reset"


def shown(data):
    """On standard output, byte for byte."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def run(guest, image, out, env, seconds, show=shown, tick=lambda: None, stdin=None):
    """Boot it and follow it to its end: what ended() says."""
    out = Path(out)
    words = command(guest, image, out, env)
    with Terminal(), qemu.Machine(words, out / "serial.log", out / "qemu.log",
                                  stdin) as machine:
        return ended(guest, machine, follow(machine, seconds, show, tick), out, seconds)
