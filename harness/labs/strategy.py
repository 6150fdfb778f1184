# SPDX-License-Identifier: BSD-2-Clause
"""A labgrid strategy: off, then booted, then done with the log of the run.

Needs a power driver and a console driver on the target, which a QEMUDriver is both of, and
nothing on the machine but the image.
"""

import time

import attr
from labgrid.factory import target_factory
from labgrid.protocol import ConsoleProtocol, PowerProtocol
from labgrid.strategy import Strategy, StrategyError
from pexpect import TIMEOUT

from harness import wire


@target_factory.reg_driver
@attr.s(eq=False)
class WaymarkStrategy(Strategy):
    """transition("done") boots the machine once; log is then what it said, parsed."""
    bindings = {"power": PowerProtocol, "console": ConsoleProtocol}
    boot_seconds = attr.ib(default=180, validator=attr.validators.instance_of(int))
    check_seconds = attr.ib(default=60, validator=attr.validators.instance_of(int))

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.status = "unknown"
        self.log = None
        self.raw = b""

    def transition(self, status, *, step=None):
        """To "off" or "done"; done is reached through off."""
        if status == self.status:
            return
        if status == "off":
            self.target.activate(self.console)
            self.target.activate(self.power)
            self.power.off()
        elif status == "done":
            self.transition("off")
            self.power.cycle()
            self.log = self.watch()
        else:
            raise StrategyError("no such state: %s" % status)
        self.status = status

    def watch(self):
        """Read until the end line or until a budget is spent; a broken log says so itself."""
        parser = wire.Parser()
        heard = time.monotonic()
        while not parser.log.end:
            limit = self.check_seconds if parser.log.run else self.boot_seconds
            if time.monotonic() - heard > limit:
                break
            try:
                data = self.console.read(timeout=1)
            except TIMEOUT:
                continue
            heard = time.monotonic() if parser.log.run else heard
            self.raw += data
            parser.feed(data)
        return parser.finish()
