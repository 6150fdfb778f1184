# SPDX-License-Identifier: BSD-2-Clause
"""The wire parser: a good log has no fault, and every way of spoiling one is seen."""

import copy
import os
import random
import unittest
from pathlib import Path

from harness import wire
from harness.tests.fakes import sample


def kinds(data):
    return {fault.kind for fault in wire.parse(data).faults}


def spoiled(change):
    """The kinds of fault in the sample after change(lines)."""
    lines = sample.lines()
    change(lines)
    return kinds(sample.wire_bytes(lines))


def index(lines, start):
    return next(i for i, line in enumerate(lines) if line.startswith(start))


def recorded():
    """Whole good logs: the sample, and a real run's when its folder is given."""
    yield sample.log()
    folder = os.environ.get("WAYMARK_OUT")
    if folder:
        yield (Path(folder) / "serial.log").read_bytes()


class GoodLog(unittest.TestCase):
    def test_everything_is_read(self):
        log = wire.parse(sample.log())
        self.assertEqual(log.faults, [])
        self.assertEqual((log.run, log.profile, log.plan), (sample.RUN, "qemu", 5))
        self.assertEqual(log.identity["cpu"], "Intel Core Processor (Haswell)")
        self.assertEqual([r.name for r in log.results], [c[0] for c in sample.CHECKS])
        self.assertEqual(log.results[3].reason, "no DS-CPL")
        self.assertEqual(log.results[1].group, "bts.record")
        self.assertEqual(log.observations, {"bts.wrap.moment": "after"})
        self.assertEqual(log.coverage["software"], {"covered": 3, "total": 20})
        self.assertEqual(log.verdict(), "pass")

    def test_passes_that_print_no_results(self):
        lines = sample.lines()
        at = index(lines, "# group")
        lines[at:at] = ["# again bts.enum.ds", "# again bts.record.size"]
        log = wire.parse(sample.wire_bytes(lines))
        self.assertEqual((log.faults, log.again), ([], ""))
        log = wire.parse(sample.wire_bytes(lines[:at + 2]))
        self.assertEqual(log.again, "bts.record.size")

    def test_line_ends_do_not_matter(self):
        self.assertEqual(kinds(sample.log().replace(b"\r\n", b"\n")), set())

    def test_pieces_of_any_size(self):
        data = sample.log()
        for size in (1, 2, 7, 64):
            parser = wire.Parser()
            for start in range(0, len(data), size):
                parser.feed(data[start:start + size])
            self.assertEqual(parser.finish(), wire.parse(data))

    def test_firmware_may_speak_before_and_after(self):
        noise = b"BdsDxe: failed to load Boot0002\r\n\x1b[31mShell> \xff\x00"
        self.assertEqual(kinds(noise + b"\r\n" + sample.log() + noise), set())

    def test_banner_behind_escape_sequences(self):
        self.assertEqual(kinds(b"\x1b[2J\x1b[01;01H" + sample.wire_bytes(sample.lines(), b"")),
                         set())

    def test_detail_belongs_to_its_check(self):
        log = wire.parse(sample.log(sample.changed(2, "fail", "the size is 23")))
        self.assertEqual(log.results[1].detail, ["the size is 23"])
        self.assertEqual(log.results[2].detail, [])
        self.assertEqual(log.faults, [])

    def test_usage(self):
        lines = [sample.lines()[0], "waymark: unknown option 'x'; see README",
                 "# waymark end run=%s planned=0 pass=0 fail=0 skip=0 error=0 verdict=usage"
                 % sample.RUN]
        log = wire.parse(sample.wire_bytes(lines))
        self.assertEqual(log.faults, [])
        self.assertEqual(log.messages, ["unknown option 'x'; see README"])
        lines.insert(1, "1..5")
        self.assertIn("plan", kinds(sample.wire_bytes(lines)))


class CutLog(unittest.TestCase):
    def test_no_cut_is_good(self):
        for data in recorded():
            end = data.index(b"# waymark end ")
            whole = data.index(b"\n", end) + 1
            parser = wire.Parser()
            for size in range(whole):
                self.assertNotEqual(self.as_if_cut(parser), [], size)
                parser.feed(data[size:size + 1])
            self.assertEqual(self.as_if_cut(parser), [])

    @staticmethod
    def as_if_cut(parser):
        """The faults if no byte came any more; the parser goes on untouched."""
        trial = copy.copy(parser)
        trial.log = copy.copy(parser.log)
        trial.log.faults = list(parser.log.faults)
        return trial.finish().faults

    def test_cut_and_parsed_anew(self):
        """The same from the start, without any state carried over."""
        data = sample.log()
        for size in range(len(data)):
            self.assertNotEqual(wire.parse(data[:size]).faults, [], size)

    def test_no_lost_line_is_good(self):
        """Any single line that carries a result, the plan, a step or an end matters."""
        for data in recorded():
            lines = data.split(b"\n")
            for i, line in enumerate(lines):
                if line.startswith((b"ok ", b"1..", b"# step", b"KTAP", b"waymark ",
                                    b"# waymark end")):
                    rest = b"\n".join(lines[:i] + lines[i + 1:])
                    self.assertNotEqual(wire.parse(rest).faults, [], line)

    def test_a_lost_byte_never_changes_a_verdict(self):
        """The line may become a fault or stay as it is; it may not turn good from bad."""
        good = sample.log(sample.changed(3, "fail", "it is wrong"))
        for i in range(good.index(b"KTAP"), len(good)):
            log = wire.parse(good[:i] + good[i + 1:])
            self.assertTrue(log.faults or log.verdict() == "fail", i)

    def test_random_damage_is_harmless(self):
        """No input makes the parser raise."""
        rng = random.Random(1)
        data = bytearray(sample.log())
        for _ in range(500):
            hurt = bytearray(data)
            for _ in range(rng.randrange(1, 9)):
                hurt[rng.randrange(len(hurt))] = rng.randrange(256)
            wire.parse(bytes(hurt))


class SpoiledLog(unittest.TestCase):
    def expect(self, kind, change):
        self.assertIn(kind, spoiled(change))

    def test_no_banner(self):
        self.expect("no-banner", lambda l: l.pop(0))

    def test_second_banner(self):
        self.expect("second-banner", lambda l: l.insert(20, l[0]))

    def test_two_ends(self):
        self.expect("two-ends", lambda l: l.append(l[-1]))

    def test_output_after_the_end(self):
        self.expect("after-end", lambda l: l.append("ok 6 - bts.late"))

    def test_broken_line(self):
        for text in ("ok 2 -", "\x01\x02", "ok 2- a.b", "Ok 1 - a", "bts.wrap.moment",
                     "1..4x", " # step bts.pmi.threshold", "xx# waymark end run=1"):
            self.expect("broken-line", lambda l, t=text: l.insert(18, t))

    def test_what_a_capture_adds(self):
        good = sample.lines()
        for before in ("", "[2026-11-30 09:05:07.123] ", "[    7.25] ",
                       "Nov 30 09:05:07 lab7| ", "2026-11-30T09:05:07 <4> "):
            for end in ("\n", "\r\n", "\r\r\n", " \r\n"):
                lines = [before.replace("7", str(i % 10)) + line for i, line in enumerate(good)]
                log = wire.parse(sample.NOISE + (end.join(lines) + end).encode())
                self.assertEqual((log.faults, len(log.results)), ([], 5), (before, end))

    def test_other_speakers(self):
        for text in ("free text", "x" * 201, "PciBus: resource map 0x80000000",
                     "\x1b[0mUSB device attached", "conserver: client connected"):
            lines = sample.lines()
            lines.insert(18, text)
            log = wire.parse(("\n".join(lines) + "\n").encode())
            self.assertEqual((log.faults, len(log.foreign)), ([], 1), text)
        # With a prefix a damaged line of ours is as damaged as without.
        lines = ["[%d.5] %s" % (i, line) for i, line in enumerate(sample.lines())]
        lines[18] = lines[18][:5] + lines[18][9:]
        self.assertTrue(wire.parse(("\n".join(lines) + "\n").encode()).faults)

    def test_long_comment(self):
        self.expect("broken-line", lambda l: l.insert(18, "# " + "x" * 199))
        self.assertEqual(spoiled(lambda l: l.insert(18, "# " + "x" * 198)), set())

    def test_run_id(self):
        self.expect("run-id", lambda l: l.append(l.pop().replace(sample.RUN, "00000000")))

    def test_plan(self):
        self.expect("plan", lambda l: l.insert(index(l, "1.."), "1..6"))
        self.expect("plan", lambda l: l.remove("1..5"))

    def test_arithmetic(self):
        self.expect("arithmetic", lambda l: l.append(l.pop().replace("pass=4", "pass=5")))
        self.expect("arithmetic", lambda l: l.append(l.pop().replace("skip=1", "skip=0")))

    def test_verdict(self):
        self.expect("verdict", lambda l: l.append(l.pop().replace("=pass", "=skip")))

    def test_number(self):
        def swap(lines):
            a, b = index(lines, "ok 1 "), index(lines, "ok 2 ")
            lines[a], lines[b] = (lines[a].replace("ok 1", "ok 2"),
                                  lines[b].replace("ok 2", "ok 1"))
        self.expect("number", swap)

    def test_duplicate(self):
        def twice(lines):
            at = index(lines, "ok 2 ")
            lines[at] = "ok 2 - bts.enum.ds"
        self.expect("duplicate", twice)

    def test_name(self):
        def rename(lines):
            at = index(lines, "ok 2 ")
            lines[at] = "ok 2 - bts.Record"
        self.expect("name", rename)

    def test_result_without_its_step(self):
        self.expect("step", lambda l: l.remove("# step bts.record.size"))

    def test_step_without_its_result(self):
        self.expect("step", lambda l: l.insert(index(l, "# coverage"), "# step bts.more"))

    def test_skip_needs_a_reason(self):
        def bare(lines):
            at = index(lines, "ok 4 ")
            lines[at] = "ok 4 - bts.cpl.usr # SKIP"
        self.expect("reason", bare)

    def test_directive_on_the_wrong_word(self):
        def wrong(lines):
            at = index(lines, "ok 4 ")
            lines[at] = "not ok 4 - bts.cpl.usr # SKIP no DS-CPL"
        self.expect("directive", wrong)

    def test_identity(self):
        self.expect("identity", lambda l: l.pop(index(l, "# microcode")))

    def test_bail_out_is_no_pass(self):
        self.expect("verdict", lambda l: l.insert(index(l, "# coverage"), "Bail out! vector=8"))


if __name__ == "__main__":
    unittest.main()
