# SPDX-License-Identifier: BSD-2-Clause
"""The model resident under other EFI programs: under= with the image itself as the program.

under_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
The image below says provider=native: it sees the model as a processor and its gate decides.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[3])

from harness.host import expected, fat, judge, qemu  # noqa: E402
from harness.tests.system import boot_session  # noqa: E402

SUITE_SECONDS = 300
PROGRAM = "under=/suite/BOOTX64.EFI"
ONE_CHECK = "run=bts.record.fields"


class Session(boot_session.Session):
    """A volume with the image twice: as what firmware starts, and as the program on top."""

    def two(self, first, second):
        """Their options; the second finds its own file beside itself."""
        self.options(first + ["exit=debug"])
        fat.run("mmd", "-i", self.volume, "::/suite")
        fat.run("mcopy", "-i", self.volume, self.image, "::/suite/BOOTX64.EFI")
        self.put("suite/waymark.cfg", "".join(word + "\n" for word in second).encode())

    def processors(self, count):
        self.words = qemu.command(qemu.find_qemu({}),
                                  qemu.find_firmware({}, variables=True), self.own,
                                  self.volume, cpus=count)

    def expect_line(self, text):
        self.expect(text.encode() in self.serial, "'%s' is not on the serial line" % text)

    def expect_refused(self, log, text):
        """One line with this text, and nothing else of ours."""
        self.expect(len(log.messages) == 1 and text in log.messages[0],
                    "'%s' is not the one message: %s" % (text, log.messages))
        self.expect(not log.run and not log.results, "something ran")

    def judge(self, log):
        """By the profile for real machines, as `run.py --profile hardware` does it."""
        newest = fat.results(self.volume, self.own / "results")
        filed = (newest / "report.json").read_text() if newest else None
        judgement = judge.judge(log, filed, qemu.Ending("exited"), expected.load("hardware"))
        self.expect(judgement.status == judge.PASS, "judged %s" % judgement.reason)
        self.expect(log.identity.get("provider") == "native",
                    "the provider is %s" % log.identity.get("provider"))


def suite(session):
    """All of it, whatever it needs from a native processor."""
    session.two([PROGRAM], ["exit=debug", "provider=native", "profile=hardware"])
    session.judge(session.run(SUITE_SECONDS))


def four(session):
    """The same on four processors: firmware starts three by INIT and SIPI inside the model."""
    session.processors(4)
    session.two([PROGRAM], ["exit=debug", "provider=native", "profile=hardware", "cpus=4"])
    log = session.run(SUITE_SECONDS)
    session.judge(log)
    alone = [result.name for result in log.results
             if result.verdict == "skip" and "no second processor" in result.reason]
    session.expect(not alone, "skipped for want of processors: %s" % alone)
    session.expect_line("# under: the model stays, for 4 processors in ")


def words(session):
    """Words reach the program, also with a blank in them, and take the place of a file's."""
    session.two([PROGRAM, "under-args=" + ONE_CHECK, "under-args=seed=7%20verbose=1"],
                ["exit=debug", "provider=native"])
    session.expect_pass(session.run(), [ONE_CHECK[4:]])
    session.expect_line("# seed=7")


def defect(session):
    """A processor with a defect is what the program finds."""
    session.two([PROGRAM, "defect=swap-from-to"], ["exit=debug", "provider=native", ONE_CHECK])
    log = session.run()
    session.expect([result.verdict for result in log.results] == ["fail"], "it did not fail")


def gate(session):
    session.two([PROGRAM, "cpuid=no-ds"], ["exit=debug", "provider=native", ONE_CHECK])
    log = session.run()
    session.expect([result.verdict for result in log.results] == ["skip"], "it did not skip")


def ends(session):
    """A program that returns: the model is left, and the firmware goes on."""
    session.two([PROGRAM], ["exit=return", "provider=native", "list=1"])
    session.run()
    session.expect_line("# under: /suite/BOOTX64.EFI has ended (success), the model too")


def ends_two(session):
    """The other processor leaves the model as well: the firmware still can call upon it."""
    session.processors(2)
    session.two([PROGRAM], ["exit=return", "provider=native", "cpus=2", ONE_CHECK])
    session.run()
    session.expect_line("# under: /suite/BOOTX64.EFI has ended (success), the model too")


def next_volume(session):
    """The disk behind ours: its fall-back loader, the image with options of its own."""
    session.options(["under=next", "exit=debug"])
    other = session.own / "next.img"
    fat.create(other, session.image, ["exit=debug", "provider=native", ONE_CHECK])
    session.words += ["-drive", "if=none,id=next,format=raw,file=%s" % other,
                      "-device", "virtio-blk-pci,drive=next"]
    session.expect_pass(session.run(), [ONE_CHECK[4:]])


def no_next_volume(session):
    session.options(["under=next", "exit=debug"])
    session.expect_refused(session.run(), "none of the 0 other volumes that firmware can read "
                                          "has \\EFI\\BOOT\\BOOTX64.EFI")


def missing(session):
    session.options(["under=/no/such.efi", "exit=debug"])
    session.expect_refused(session.run(), "under=/no/such.efi: cannot be read from the volume "
                                          "of this image (not found)")


def not_efi(session):
    session.two(["under=text.efi"], [])
    session.put("text.efi", b"no program\n")
    session.expect_refused(session.run(), "under=text.efi: firmware does not load it as an EFI "
                                          "program (")


def no_svm(session):
    session.two([PROGRAM], [])
    session.replace("Haswell,+svm", "Haswell")
    session.expect_refused(session.run(), "model: CPUID does not enumerate SVM")


def twice(session):
    session.two([PROGRAM], ["exit=debug", PROGRAM])
    session.expect_refused(session.run(), "a model stays resident already: start the program "
                                          "itself")


CASES = {case.__name__: case for case in (
    suite, four, words, defect, gate, ends, ends_two,
    next_volume, no_next_volume, missing, not_efi, no_svm, twice)}


def main(name, build, own):
    return boot_session.run_case(CASES[name], Session(build, own), own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
