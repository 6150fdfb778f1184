# SPDX-License-Identifier: BSD-2-Clause
"""QEMU under OVMF: what is needed, how it is started, and how its serial line is watched."""

import os
import selectors
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.host.judge import Ending
from harness.host.patience import Clock

# Folders of the distributions, and the firmware pairs in the order of our liking: the 4M
# builds have room for variables.  A single file keeps them in memory and starts in three
# quarters of the time, because each write to the emulated flash costs milliseconds.
FIRMWARE_FOLDERS = ("/usr/share/OVMF", "/usr/share/ovmf", "/usr/share/edk2/x64",
                    "/usr/share/edk2/ovmf", "/usr/share/qemu", "/usr/local/share/qemu")
FIRMWARE_PAIRS = (("OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"),
                  ("OVMF_CODE.4m.fd", "OVMF_VARS.4m.fd"),
                  ("OVMF_CODE.fd", "OVMF_VARS.fd"),
                  ("edk2-x86_64-code.fd", "edk2-i386-vars.fd"))


class Missing(Exception):
    """Something is not installed; the text names the package."""


@dataclass
class Firmware:
    """code alone is a single-file build that keeps its variables in memory."""
    code: Path
    vars: Path = None


def find_firmware(env, folders=FIRMWARE_FOLDERS, variables=False):
    """The firmware to use: OVMF_CODE and OVMF_VARS when set, else what is installed.

    variables asks for one whose variables outlive QEMU.
    """
    if env.get("OVMF_CODE"):
        given = [Path(env[k]) for k in ("OVMF_CODE", "OVMF_VARS") if env.get(k)]
        for path in given:
            if not path.is_file():
                raise Missing("%s does not exist: install the package ovmf, or set "
                              "OVMF_CODE and OVMF_VARS" % path)
        return Firmware(*given)
    pairs = [(Path(folder) / code, Path(folder) / kept) for code, kept in FIRMWARE_PAIRS
             for folder in folders]
    singles = [(Path(folder) / "OVMF.fd",) for folder in folders]
    for files in pairs + singles if variables else singles + pairs:
        if all(path.is_file() for path in files):
            return Firmware(*files)
    raise Missing("OVMF is missing: install the package ovmf, or set OVMF_CODE and OVMF_VARS")


def find_qemu(env):
    """The words that start QEMU: QEMU= when set, else qemu-system-x86_64."""
    words = shlex.split(env.get("QEMU", "")) or ["qemu-system-x86_64"]
    if not shutil.which(words[0]):
        raise Missing("%s is missing: install the package qemu-system-x86, or set QEMU"
                      % words[0])
    return words


def memory_mib(cpus):
    """What the image needs: each processor brings its own stand-in along."""
    return 256 + 4 * max(0, cpus - 16)


def command(qemu, firmware, out, volume, accel="tcg", cpu="Haswell,+svm", cpus=1, gdb=None,
            machine="q35", memory=None):
    """The whole command line; firmware variables are a private copy in out.

    memory is in MiB, by default what the suite needs.
    """
    # With a thread for each processor, QEMU 7.2 loses the arithmetic flags of an XCHG on
    # unaligned memory when it is stepped.
    if accel == "tcg" and cpus > 1:
        accel = "tcg,thread=single"
    words = list(qemu) + [
        "-machine", machine, "-accel", accel, "-cpu", cpu, "-smp", str(cpus),
        "-m", "%dM" % (memory or memory_mib(cpus)),
        "-nodefaults", "-display", "none", "-no-reboot",
        "-chardev", "stdio,id=com1,signal=off", "-serial", "chardev:com1",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]
    if firmware.vars:
        private = Path(out) / "ovmf-vars.fd"
        shutil.copyfile(firmware.vars, private)
        words += ["-drive", "if=pflash,unit=0,format=raw,readonly=on,file=%s" % firmware.code,
                  "-drive", "if=pflash,unit=1,format=raw,file=%s" % private]
    else:
        words += ["-bios", str(firmware.code)]
    words += ["-drive", "if=none,id=boot,format=raw,cache=unsafe,file=%s" % volume,
              "-device", "virtio-blk-pci,drive=boot,bootindex=0"]
    if gdb:
        words += ["-S", "-gdb", "tcp:127.0.0.1:%d" % gdb]
    return words


@dataclass
class Budgets:
    """Seconds of patience, of the machine's own time (see patience.py); None waits for ever."""
    boot: float = 60            # from the start to the banner
    check: float = 30           # without a byte, between banner and end line
    total: float = 1500         # everything
    leave: float = 20           # from the end line to QEMU's own end


class Machine:
    """One running QEMU, its serial line on a pipe and copied to a file as it comes."""

    def __init__(self, words, serial_path, error_path, stdin=subprocess.DEVNULL):
        self.serial = open(serial_path, "wb", buffering=0)
        self.errors_path = Path(error_path)
        with open(error_path, "wb") as errors:
            self.process = subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE,
                                            stderr=errors, bufsize=0)
        self.started = time.monotonic()
        self.clock = Clock(self.process.pid)
        self.banner_after = None
        self.end_after = None
        self.ended = None           # as end_after, by the machine's own clock

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.serial.close()

    def age(self):
        return time.monotonic() - self.started

    def watch(self, parser, budgets, progress=lambda log: None, until=lambda log: False):
        """Feed the parser until the machine ends, a budget is spent or until() holds."""
        heard = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                left, ending = self.patience(parser.log, budgets, heard)
                if left is not None and left <= 0:
                    return ending
                if not selector.select(left):
                    continue
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    return self.gone(parser.log)
                heard = self.clock.now()
                self.serial.write(data)
                parser.feed(data)
                self.stamp(parser.log)
                progress(parser.log)
                if until(parser.log):
                    return Ending("stopped")

    def stamp(self, log):
        if log.run and self.banner_after is None:
            self.banner_after = self.age()
        if log.end and self.end_after is None:
            self.end_after = self.age()
            self.ended = self.clock.now()

    def patience(self, log, budgets, heard):
        """(seconds left or None, the Ending when they are spent), by where the run stands."""
        now = self.clock.now()
        step = log.step or log.again
        where = "in %s" % step if step else \
            "after %s" % log.results[-1].name if log.results else "before the first check"
        limits = []
        if log.end:
            limits.append((self.ended, budgets.leave,
                           Ending("lingered", "the machine did not stop after its end line")))
        elif log.run:
            limits.append((heard, budgets.check, Ending(
                "hang", "hang %s: no output for %g s" % (where, budgets.check or 0))))
        else:
            limits.append((0, budgets.boot, Ending(
                "boot", "no banner within %g s of the start" % (budgets.boot or 0))))
        limits.append((0, budgets.total, Ending(
            "time", "time is up %s: %g s in all" % (where, budgets.total or 0))))
        limits = [(start + span - now, ending) for start, span, ending in limits
                  if span is not None]
        return min(limits, key=lambda pair: pair[0], default=(None, None))

    def said(self):
        """What QEMU wrote on standard error, its warnings left out."""
        return [line for line in self.errors_path.read_text(errors="replace").splitlines()
                if line.strip() and "warning:" not in line]

    def gone(self, log):
        """The pipe closed: QEMU ended by itself, and the log says whether it was time to."""
        status = self.process.wait()
        said = self.said() or ["it said nothing"]
        if log.end:
            return Ending("exited")
        if status < 0:
            return Ending("killed", "QEMU was ended by signal %d: %s" % (-status, said[-1]))
        if not log.run and status:
            return Ending("killed", "QEMU ended with status %d: %s" % (status, said[-1]))
        step = log.step or log.again
        where = "in %s" % step if step else "outside a check"
        return Ending("reset", "the machine reset or stopped %s" % where if log.run else
                      "the machine stopped before the banner")
