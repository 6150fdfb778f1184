# SPDX-License-Identifier: BSD-2-Clause
"""A machine that hangs, resets or loses power in a check: what the next boots make of it.

resume_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`,
with the seconds from the hang to the resumed verdict.
"""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import wire  # noqa: E402
from harness.host import fat, patience  # noqa: E402
from harness.tests.fakes import net_peer  # noqa: E402
from harness.tests.system import boot_entry, boot_session  # noqa: E402

RUN = "run=hw.cpu.*,bts.enum.*,bts.record.*,boot.takeover.*"
VARIABLE = "WaymarkJournal"
# Seconds of the machine's own time (see patience.py): after so many without a byte the watcher
# presses reset, and after so many in all he gives up.
SILENCE = 4
ENOUGH = 600


class Session(boot_session.Session):
    """QEMU that starts again after a reset, as a machine does, with a reset button."""

    def __init__(self, build, own):
        super().__init__(build, own)
        self.words.remove("-no-reboot")
        self.monitor = self.own / "monitor"
        self.words += ["-monitor", "unix:%s,server=on,wait=off" % self.monitor]
        self.hung_at = None
        self.took = None

    def press_reset(self):
        self.hung_at = self.hung_at or time.monotonic()
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.monitor))
            line.sendall(b"system_reset\n")
            time.sleep(.2)

    def boots(self, seconds=ENOUGH, power_cut=False, until=None, button=True):
        """Run to QEMU's end; the log of each boot.  Reset, or cut the power, when it is mute.

        until cuts the power as soon as these bytes were on the wire.  A step is reset once:
        the firmware is mute for longer than a hang takes to be believed.
        """
        self.monitor.unlink(missing_ok=True)
        self.serial = b""
        reset_in = -1
        with subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, bufsize=0) as process:
            clock, heard = patience.Clock(process.pid), 0
            try:
                for data in patience.output(process, seconds, .1):
                    if data:
                        self.serial += data
                        heard, heard_at = clock.now(), time.monotonic()
                    step = self.serial.rfind(b"\n# step ")
                    in_step = step > reset_in and self.serial.count(b"\n", step) == 2
                    if in_step and clock.now() - heard > SILENCE:
                        if power_cut:
                            self.hung_at = heard_at
                            return self.parsed()
                        reset_in = step
                        if button:
                            self.press_reset()
                    if until and until in self.serial.replace(b"\r", b""):
                        return self.parsed()
            finally:
                process.kill()
        if self.hung_at:
            self.took = time.monotonic() - self.hung_at
        return self.parsed()

    def parsed(self):
        (self.own / "serial.log").write_bytes(self.serial)
        return wire.boots(self.serial)

    def report(self):
        """The newest report.json on the volume."""
        return json.loads((fat.results(self.volume, self.own / "results") / "report.json")
                          .read_text())

    def expect_resumed(self, log, stuck):
        """A whole and true account: everything ran but the one that never came back."""
        self.complaints += [fault.text for fault in log.faults]
        bad = {r.name: r for r in log.results if r.verdict not in ("pass", "skip")}
        self.expect(list(bad) == stuck, "errors: %s, expected %s" % (list(bad), stuck))
        for name in stuck:
            self.expect("never came back" in bad[name].reason if name in bad else False,
                        "%s does not say why" % name)
        verdict = "error" if stuck else "pass"
        self.expect(log.end and log.end.verdict == verdict, "the verdict is %s" % log.end)
        report = self.report()
        self.expect([(c["name"], c["verdict"]) for c in report["checks"]] ==
                    [(r.name, r.verdict) for r in log.results], "report.json differs")
        self.expect(report["observations"] == log.observations, "observations differ")
        try:
            fat.run("mtype", "-i", self.volume, "::/waymark/journal.txt")
            self.expect(False, "the journal is still there")
        except fat.Trouble:
            pass


def power_cut(session):
    """The power goes while a check hangs; the next boot, told not to hang, does the rest."""
    hang = "run=bts.enum.*,bts.record.*"
    session.options(["exit=debug", hang, "selftest=hang"])
    first = session.boots(power_cut=True)[0]
    stuck = first.step
    session.expect(bool(stuck) and not first.end, "it did not hang")
    session.put("EFI/BOOT/waymark.cfg", ("exit=debug\n%s\n" % hang).encode())
    second = session.boots()
    session.expect(len(second) == 1, "%d boots" % len(second))
    session.expect_resumed(second[-1], [stuck])


def any_moment(session):
    """The power goes in the middle of a good run: what was done stays done."""
    session.options(["exit=debug", "run=hw.*"])
    first = session.boots(until=b"\nok 12 - ")[0]
    session.put("EFI/BOOT/waymark.cfg", b"exit=debug\nrun=hw.*\n")
    log = session.boots()[-1]
    carried = [r for r in log.results if "decided before the machine started again" in r.detail]
    session.expect(len(carried) >= 12, "%d results were carried over" % len(carried))
    session.expect([r.name for r in first.results] ==
                   [r.name for r in carried][:len(first.results)], "others were carried over")
    stuck = [r.name for r in log.results if r.verdict == "error"]
    # The check that was under way, unless the power went between two.
    session.expect(len(stuck) <= 1, "errors: %s" % stuck)
    session.expect_resumed(log, stuck)


def reset_button(session):
    """Each boot hangs in its first check and is reset: three resumes, then the end."""
    session.options(["exit=debug", RUN, "selftest=hang"])
    logs = session.boots()
    session.expect(len(logs) == 5, "%d boots, not 5" % len(logs))
    last = logs[-1]
    names = [log.step for log in logs[:-1]]
    session.expect(len(set(names)) == 4, "hung in %s" % names)
    errors = [r for r in last.results if r.verdict == "error"]
    session.expect([r.name for r in errors if r.reason != "not run"] == names,
                   "%s" % [(r.name, r.reason) for r in errors][:6])
    session.expect(any(r.reason == "not run" for r in errors), "nothing was given up")
    session.expect(last.end and last.end.verdict == "error", "the verdict is %s" % last.end)
    session.expect(not last.faults, "faults: %s" % [f.text for f in last.faults])


def triple(session):
    """The same where the machine resets by itself."""
    session.options(["exit=debug", "run=bts.enum.*,bts.record.*", "selftest=triple"])
    logs = session.boots(button=False)
    session.expect(len(logs) == 5, "%d boots, not 5" % len(logs))
    session.expect(logs[-1].end and logs[-1].end.verdict == "error", "no verdict")


def other_selection(session):
    """A journal of another selection is told, and not gone on with."""
    session.options(["exit=debug", "run=bts.enum.*", "selftest=hang"])
    session.boots(power_cut=True)
    session.put("EFI/BOOT/waymark.cfg", b"exit=debug\nrun=bts.record.*\n")
    log = session.boots()[-1]
    session.expect(log.end and log.end.verdict == "pass", "the verdict is %s" % log.end)
    session.expect(any("is not gone on with" in text for text in log.comments),
                   "it is not told: %s" % log.comments)


def switched_off(session):
    """journal=0 keeps none."""
    session.options(["exit=debug", "run=bts.enum.*", "selftest=hang", "journal=0"])
    session.boots(power_cut=True)
    session.put("EFI/BOOT/waymark.cfg", b"exit=debug\nrun=bts.enum.*\n")
    log = session.boots()[-1]
    session.expect(log.end and log.end.verdict == "pass" and not any(
        "not gone on" in text or "resume" in text for text in log.comments),
        "there was a journal")


def first_record(session):
    """The first record never comes back: nothing is traced after that, the rest still runs."""
    session.options(["exit=debug", RUN, "selftest=first"])
    first = session.boots(power_cut=True, until=b"\n# first-record: one branch")[0]
    session.expect(not first.results and not first.end, "it did not hang there")
    session.put("EFI/BOOT/waymark.cfg", ("exit=debug\n%s\nselftest=first\n" % RUN).encode())
    log = session.boots()[-1]
    bad = [r for r in log.results if "first record never came back" in r.reason]
    session.expect(bad and all(r.verdict == "error" and r.name.startswith("bts.") for r in bad),
                   "no check of records is an error: %s" % bad)
    session.expect(any(r.name.startswith("hw.") and r.verdict == "pass" for r in log.results),
                   "the other checks did not run")
    session.expect(log.end and log.end.verdict == "error", "the verdict is %s" % log.end)


def gate(session):
    """The file that a gate without return leaves: nobody asks again, and that is said."""
    session.options(["exit=debug", RUN, "provider=native"])
    log = session.boots()[-1]
    session.expect(log.end and log.end.verdict == "pass", "the verdict is %s" % log.end)
    fat.results(session.volume, session.own / "results")
    session.expect(not (session.own / "results/waymark/gate.txt").exists(), "gate.txt is left")
    session.put("waymark/gate.txt", b"")
    log = session.boots()[-1]
    traced = [r for r in log.results if r.verdict == "skip"]
    session.expect(len(traced) > 5 and all("never came back" in r.reason for r in traced),
                   "skipped: %s" % [(r.name, r.reason) for r in traced][:4])
    session.expect("gate.txt" in log.identity.get("provider_reason", ""), "it is not told")
    session.expect(log.end and not log.faults, "faults: %s" % log.faults)


def soak(session):
    """A hang in a later pass of a soak: the journal names the check."""
    session.options(["exit=debug", "run=hw.cpu.*", "soak=1h"])
    session.boots(until=b"\n# soak: 4 passes")
    session.put("EFI/BOOT/waymark.cfg", b"exit=debug\nrun=hw.cpu.*\nsoak=1h\n")
    log = session.boots()[-1]
    stuck = [r.name for r in log.results if r.verdict == "error"]
    session.expect(len(stuck) == 1, "errors: %s" % stuck)
    session.expect_resumed(log, stuck)


def no_volume(session):
    """Nothing can be written on the volume: a variable keeps the step, and is gone at the end.

    The boot that goes on does everything again but what hung.
    """
    hang = "run=bts.enum.*,bts.record.*"
    session.options(["exit=debug", hang, "selftest=hang"])
    session.read_only()
    stuck = session.boots(power_cut=True)[0].step
    variables = session.own / "ovmf-vars.fd"
    session.expect(bool(stuck), "it did not hang")
    session.expect(len(boot_entry.living(variables, VARIABLE)) == 1, "there is no variable")
    session.put("EFI/BOOT/waymark.cfg", ("exit=debug\n%s\n" % hang).encode())
    log = session.boots()[-1]
    session.complaints += [fault.text for fault in log.faults]
    bad = {r.name: r.reason for r in log.results if r.verdict not in ("pass", "skip")}
    session.expect(list(bad) == [stuck] and "never came back" in bad[stuck], "errors: %s" % bad)
    session.expect(not any("decided before" in line for r in log.results for line in r.detail
                           if r.name != stuck), "results were carried over")
    session.expect(log.end and log.end.verdict == "error", "the verdict is %s" % log.end)
    session.expect(not boot_entry.living(variables, VARIABLE), "the variable is still there")
    log = session.boots()[-1]
    session.expect(log.end and log.end.verdict == "pass", "the next run is not a good one")


def no_volume_button(session):
    """As reset_button, with the variable: three resumes, and it is gone."""
    session.options(["exit=debug", "run=bts.enum.*", "selftest=hang"])
    session.read_only()
    logs = session.boots()
    session.expect(len(logs) == 5, "%d boots, not 5" % len(logs))
    session.expect(logs[-1].end and logs[-1].end.verdict == "error", "no verdict")
    session.expect(len({log.step for log in logs[:-1]}) == 4, "hung twice in one check")
    session.expect(not boot_entry.living(session.own / "ovmf-vars.fd", VARIABLE),
                   "the variable is still there")


def from_network(session):
    """Booted over the network, reset in a hang: the next boot goes on, by the variable."""
    hang = "exit=debug\nrun=bts.enum.*\n"
    with net_peer.Peer({"BOOTX64.EFI": session.image.read_bytes(),
                        "waymark.cfg": (hang + "selftest=hang\n").encode()},
                       "BOOTX64.EFI") as peer:
        session.without_drive()
        session.words += ["-netdev", peer.netdev(), "-device",
                          "virtio-net-pci,netdev=net,romfile=,bootindex=0"]
        stuck = session.boots(power_cut=True)[0].step
        if not peer.seen:
            print("SKIP: the firmware asks no DHCP server: built without a network stack")
            return
        peer.files["waymark.cfg"] = hang.encode()
        log = session.boots()[-1]
    bad = [r.name for r in log.results if r.verdict not in ("pass", "skip")]
    session.expect(bad == [stuck], "errors: %s, stuck in %s" % (bad, stuck))
    sent = [data for name, data in peer.taken.items() if name.endswith("report.json")]
    session.expect(len(sent) == 1 and json.loads(sent[0])["verdict"] == "error",
                   "%d reports were sent" % len(sent))


CASES = {case.__name__: case for case in (
    no_volume, no_volume_button, from_network,
    power_cut, any_moment, reset_button, triple, other_selection, switched_off,
    first_record, gate, soak)}


def main(name, build, own):
    session = Session(build, own)
    status = boot_session.run_case(CASES[name], session, own)
    if session.took:
        print("%.1f s from the first hang to the verdict" % session.took)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
