# SPDX-License-Identifier: BSD-2-Clause
"""The image booted over the network: PXE and UEFI HTTP boot, options and results that way too.

network_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, `CASE: as expected`, or
`SKIP: ` and what the firmware here lacks.
"""

import json
import re
import sys
import threading
import time
from http import server as http_server
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness import serve  # noqa: E402
from harness.tests.fakes import net_peer  # noqa: E402
from harness.tests.system import boot_entry, boot_session  # noqa: E402

CARD = "020000abcdef"
MAC = ":".join(re.findall("..", CARD))
ONE_CHECK = boot_session.ONE_CHECK
CFG = ("exit=debug\n%s\n" % ONE_CHECK).encode()
# Enough that the log is sent in between too.
MORE = ("exit=debug", "run=hw.*,bts.enum.*,bts.record.*,bts.buffer.*,boot.takeover.*")
DOCUMENTS = ("report.json", "report.tap", "machine.json", "log.txt")
SLIRP_HOST = "10.0.2.2"         # how the guest names the host in QEMU's own network


class Lacking(Exception):
    """The firmware cannot do what the case is about."""


class Session(boot_session.Session):
    """QEMU without a disk, with a network card."""

    def __init__(self, build, own):
        super().__init__(build, own)
        self.without_drive()

    def card(self, netdev, model="virtio-net-pci", own_code=False):
        """own_code: the card brings its own boot program, as cards do; else the firmware's."""
        self.words += ["-netdev", netdev, "-device", "%s,netdev=net,mac=%s%s" % (
            model, MAC, ",bootindex=0" + ("" if own_code else ",romfile="))]

    def expect_sent(self, files, log):
        """All documents are there, are those of this run, and are what was on the wire."""
        prefix = "waymark-%s-%s-" % (CARD, log.run)
        names = sorted(name for name in files if name.startswith("waymark-"))
        self.expect(names == sorted(prefix + one for one in DOCUMENTS), "sent: %s" % names)
        if len(names) < len(DOCUMENTS):
            return
        report = json.loads(files[prefix + "report.json"])
        self.expect(report["run_id"] == log.run, "report.json is of another run")
        self.expect([(c["name"], c["verdict"]) for c in report["checks"]] ==
                    [(r.name, r.verdict) for r in log.results], "report.json differs")
        self.expect(report["observations"] == log.observations, "observations differ")
        text = self.serial.replace(b"\r\n", b"\n")
        self.expect(files[prefix + "log.txt"] in text, "log.txt is not what was on the wire")
        tap = files[prefix + "report.tap"]
        self.expect(tap.startswith(b"# version=") and tap in text, "report.tap differs")
        self.expect("identity" in json.loads(files[prefix + "machine.json"]), "machine.json")

    def expect_more(self, log):
        """MORE ran, and well."""
        self.complaints += [fault.text for fault in log.faults]
        self.expect(len(log.results) > 50, "%d checks ran" % len(log.results))
        self.expect(log.end and log.end.verdict == "pass", "the run did not pass")

    def expect_comment(self, log, text):
        self.expect(any(text in one for one in log.comments), "'%s' is not in %s" % (
            text, [one for one in log.comments if "results" in one]))

    def pxe(self, peer):
        """A run from the peer's image; Lacking when nobody ever asked for an address."""
        self.card(peer.netdev())
        with peer:
            log = self.run()
        if not peer.seen:
            raise Lacking("the firmware asks no DHCP server: built without a network stack")
        return log

    def image_bytes(self):
        return self.image.read_bytes()


# --- PXE, by the firmware's own code

def pxe(session):
    """Image and options by TFTP out of a folder, results back into it."""
    peer = net_peer.Peer({"lab/BOOTX64.EFI": session.image_bytes(),
                          "lab/waymark.cfg": "\n".join(MORE).encode()}, "lab/BOOTX64.EFI")
    log = session.pxe(peer)
    session.expect_more(log)
    session.expect(log.identity.get("options") == "waymark.cfg of the server",
                   "options=%s" % log.identity.get("options"))
    session.expect_comment(log, "results: sent as tftp://192.0.2.1/lab/waymark-" + CARD)
    session.expect(all(name.startswith("lab/") for name in peer.taken), "%s" % list(peer.taken))
    session.expect_sent({name[4:]: data for name, data in peer.taken.items()}, log)
    logs = [name for kind, name in peer.asked if kind == net_peer.WRITE and "log.txt" in name]
    session.expect(len(logs) > 2, "the log was sent %d times" % len(logs))


def pxe_refused(session):
    """A server that takes nothing: said before the first check, the run goes on."""
    peer = net_peer.Peer({"BOOTX64.EFI": session.image_bytes(), "waymark.cfg": CFG},
                         "BOOTX64.EFI", refuse=(2, "Only RRQ here"))
    log = session.pxe(peer)
    session.expect_pass(log)
    session.expect_comment(log, "results: not sent to tftp://192.0.2.1/: the server ")
    writes = [name for kind, name in peer.asked if kind == net_peer.WRITE]
    session.expect(len(writes) == 1, "it asked again: %s" % writes)


def pxe_gone(session):
    """A server that goes away in the middle: told in time, in one line, ahead of the end."""
    peer = net_peer.Peer({"BOOTX64.EFI": session.image_bytes(), "waymark.cfg": CFG},
                         "BOOTX64.EFI", leave_after=1)
    log = session.pxe(peer)
    session.expect_pass(log)
    session.expect_comment(log, "results: sent as tftp://192.0.2.1/waymark-")
    session.expect_comment(log, "results: sending report.json failed (no answer in time)")
    session.expect(len(peer.taken) == 1, "taken: %s" % list(peer.taken))


def pxe_usage(session):
    """A mistake in the server's options is bad usage, as it is on a stick."""
    peer = net_peer.Peer({"BOOTX64.EFI": session.image_bytes(),
                          "waymark.cfg": CFG + b"frobnicate\n"}, "BOOTX64.EFI")
    session.expect_usage(session.pxe(peer), "frobnicate")


def pxe_long(session):
    peer = net_peer.Peer({"BOOTX64.EFI": session.image_bytes(), "waymark.cfg": b"#" * 5000},
                         "BOOTX64.EFI")
    session.expect_usage(session.pxe(peer), "tftp://192.0.2.1/waymark.cfg: longer than")


# --- PXE, by a card's own program

def card_program(session):
    """The program in QEMU's e1000 offers no writing by TFTP; the rest works."""
    folder = serve.prepare(session.own / "tftp", session.image, CFG.decode().split())
    session.card("user,id=net,tftp=%s,bootfile=BOOTX64.EFI" % folder, "e1000", own_code=True)
    log = session.run()
    if not log.run and b"iPXE" not in session.serial:
        raise Lacking("QEMU's e1000 has no boot program here")
    session.expect_pass(log)
    session.expect(log.identity.get("options") == "waymark.cfg of the server",
                   "options=%s" % log.identity.get("options"))
    session.expect_comment(log, "results: not sent to tftp://10.0.2.2/: ")


# --- UEFI HTTP boot

def http_run(session, options, words=(), handler=serve.Handler):
    """A run from a web server on the host; (log, what lies in its folder afterwards)."""
    place = serve.prepare(session.own / "netboot", session.image, options)
    for old in place.glob("waymark-*"):
        old.unlink()
    if options is None:
        (place / "waymark.cfg").unlink()
    asked = []

    class Noting(handler):
        """The handler, with its requests noted instead of printed."""

        def log_message(self, form, *args):
            asked.append(form % args)

    with serve.server(place, "127.0.0.1", 0, Noting) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        boot_entry.add(session.own / "ovmf-vars.fd", "Waymark by HTTP",
                       "http://%s:%d/BOOTX64.EFI" % (SLIRP_HOST, one.server_port), words)
        session.card("user,id=net")
        # QEMU's own order of devices would overrule the entry.
        session.words[-1] = session.words[-1].replace(",bootindex=0", "")
        log = session.run()
        one.shutdown()
    if not asked and b"HTTP Boot" not in session.serial:
        raise Lacking("the firmware boots by no HTTP: built without it")
    return log, {path.name: path.read_bytes() for path in place.iterdir()}


def http(session):
    """Image and options by HTTP, results back by PUT."""
    log, files = http_run(session, MORE)
    session.expect_more(log)
    session.expect(log.identity.get("options") == "waymark.cfg of the server",
                   "options=%s" % log.identity.get("options"))
    session.expect_comment(log, "results: sent as http://10.0.2.2:")
    session.expect_sent(files, log)


def http_entry(session):
    """The boot entry's load options win over the server's file; upload=0 sends nothing."""
    log, files = http_run(session, ["exit=debug", "run=hw.*"], [ONE_CHECK, "upload=0"])
    session.expect_pass(log)
    session.expect(log.identity.get("options") == "waymark.cfg of the server, load options",
                   "options=%s" % log.identity.get("options"))
    session.expect(not [name for name in files if name.startswith("waymark-")], "%s" % files)


def http_no_file(session):
    """No options on the server: the entry's alone."""
    log, files = http_run(session, None, ["exit=debug", ONE_CHECK])
    session.expect_pass(log)
    session.expect(log.identity.get("options") == "load options",
                   "options=%s" % log.identity.get("options"))
    session.expect_sent(files, log)


class ReadOnly(http_server.SimpleHTTPRequestHandler):
    """A server that knows no PUT, as most do not."""

    def __init__(self, *args, folder, **kwargs):
        super().__init__(*args, directory=str(folder), **kwargs)


def http_refused(session):
    """Said before the first check, and the run goes on."""
    log, files = http_run(session, CFG.decode().split(), handler=ReadOnly)
    session.expect_pass(log)
    session.expect_comment(log, "the server answers PUT with 501")
    session.expect(not [name for name in files if name.startswith("waymark-")], "%s" % files)


class Leaving(serve.Handler):
    """Takes the first document and is mute from then on."""
    taken = 0

    def do_PUT(self):
        Leaving.taken += 1
        if Leaving.taken == 1:
            super().do_PUT()
        else:
            time.sleep(30)


def http_gone(session):
    """A server that goes away in the middle: told in time, in one line, ahead of the end."""
    log, files = http_run(session, CFG.decode().split(), handler=Leaving)
    session.expect_pass(log)
    session.expect_comment(log, "results: sent as http://")
    session.expect_comment(log, "results: sending report.json failed (no answer in time)")
    session.expect(len([name for name in files if name.startswith("waymark-")]) == 1,
                   "%s" % list(files))


CASES = {case.__name__: case for case in (
    pxe, pxe_refused, pxe_gone, pxe_usage, pxe_long, card_program, http, http_entry,
    http_no_file, http_refused, http_gone)}


def main(name, build, own):
    Path(own).mkdir(parents=True, exist_ok=True)
    session = Session(build, own)
    try:
        CASES[name](session)
    except Lacking as lacking:
        print("SKIP: %s" % lacking)
        return 0
    print("\n".join(session.complaints) or "%s: as expected" % name)
    return 1 if session.complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
