# SPDX-License-Identifier: BSD-2-Clause
"""Mechanical mutants: would the suite notice a mistake that nobody thought of?

A seed chooses places in the model, or in ds/ and the scheduler; at each one constant is
changed, one condition negated, one comparison shifted or one statement dropped. Every mutant is
built in a tree of its own and the checks that judge its subject are run on it. Killed is a
mutant under which a check fails, or a unit test of the subject on the host; an error, a hang or
a reset is an accident and counted apart; what passes as ever is a survivor, and is listed.
EXPLAINED says of those that were met why no check can tell, or why it need not.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from harness.dev.mutants_host import HostBench, limited  # noqa: E402

@dataclass
class Subject:
    """What is mutated, and who judges: options of a run, and unit tests on the host."""
    patterns: list
    left_out: set       # tables and names
    options: list
    tests: str          # the slow ones, under the sanitizers; "" where a HostBench knows them
    boring: str         # not worth a mutant

    def paths(self, root=ROOT):
        return [path for pattern in self.patterns for path in sorted(root.glob(pattern))
                if path.name not in self.left_out]


# Boring in the model: what only runs under a defect or a policy other than the first, the last
# words of a host that gives up, counters for reports, and limits of caches and waiting. The
# layers above it take long and need not judge it.
SUBJECTS = {
    "model": Subject(
        ["hw/model/*/*.c"], {"defect.c", "policy.c", "config.c"}, ["skip=ds.*,task.*,boot.*"],
        "test_model_*.c",
        r"defect\(|policy\(|DEFECT_|POLICY_|panic|put_|stats\.|_LIMIT|_SLOTS|static_assert"
        r"|_Static_assert|known|translations\[|run->|slot->|volatile"),
    "ds": Subject(
        ["ds/*.c", "guest/task.c", "guest/schedule.c", "hw/cross_call.c"],
        {"error.c", "refusal.c"}, ["run=ds.*,task.*,smp.*,bts.pmi.*,bts.rules.*", "cpus=2"],
        "", r"_TRIES|_TICKS|why|_Static_assert|pause"),
}

# (file, original line, mutated line): why it survives.
EXPLAINED = {
    ("syscall.c",
     "uint16_t selector = (uint16_t)((save->sysenter_cs & 0xFFFC) + (to_long ? 32 : 16));",
     "uint16_t selector = (uint16_t)((save->sysenter_cs & 0xFFFC) + (to_long ? 32 : 17));"):
    "the same selector: bits 1:0 are set to the ring afterwards",
    ("record_filter.c", "return old_off || new_off;", "return old_off && new_off;"):
    "runs under a policy that is not the first: make policies tells",
    ("opcodes.c",
     "return memory ? reg == 2 || reg == 3 || reg >= 6 : reg == 3 || reg == 6 || reg == 0;",
     "return memory ? reg == 2 || reg == 3 || reg > 6 : reg == 3 || reg == 6 || reg == 0;"):
    "LMSW from memory: no traced code executes it",
    ("simple.c",
     "if (kind < 4 || kind == 6 || count > width || !find(cpu, insn, bytes, ACCESS_WRITE, "
     "&place))",
     "if (kind <= 4 || kind == 6 || count > width || !find(cpu, insn, bytes, ACCESS_WRITE, "
     "&place))"):
    "the processor carries SHL out instead: slower, and the same",
    ("syscall.c", "uint16_t user = 3 << SEGMENT_DPL_SHIFT;",
     "uint16_t user = 4 << SEGMENT_DPL_SHIFT;"):
    "the present bit, which is set anyway; cpl_set sets the DPL that counts",
    ("msr.c", "return fault_raise(cpu, VECTOR_GP, 0);",
     "return fault_raise(cpu, VECTOR_GP, 1);"):
    "the exit for RDMSR and WRMSR gives its own error code",
    ("dropped_records.c",
     "cpu->drop_next = t->kind == TRANSFER_JUMP && t->class == INSN_SYSRET;",
     "cpu->drop_next = t->kind == TRANSFER_JUMP || t->class == INSN_SYSRET;"):
    "read under a defect only",
    ("step.c", "for (unsigned i = 0; i < 4; i++) {", "for (unsigned i = 0; i < 5; i++) {"):
    "the fifth is DR6, which is no address of code",
    ("exit.c", "raise_at_exit(cpu, VECTOR_UD, 0);", ";"):
    "VMMCALL that is not the suite's: no traced code executes it",
    ("enter.c",
     "segment->limit = (uint32_t)((raw & 0xFFFF) | (raw >> 32 & 0xF0000));",
     "segment->limit = (uint32_t)((raw & 0xFFFF) | (raw >> 32 & 0xf0001));"):
    "bit 16 of a base of 0",
    ("segment.c", "if (offset + 7 > table->limit || (selector & SELECTOR_LDT && "
     "!(table->selector & ~3)))",
     "if (offset + 7 > table->limit || (selector & SELECTOR_LDT && !(table->selector & ~4)))"):
    "no code here has a local descriptor table",
    ("far.c", "ACCESS_STACK | (cpl == 3 ? ACCESS_USER : 0)))",
     "ACCESS_STACK | (cpl == 4 ? ACCESS_USER : 0)))"):
    "ring 3 pushes on a user page, which the supervisor may write, too",
    ("walk.c", "return leaf ? entry_value(entries[leaf], &format) : ~0ull;",
     "return leaf ? entry_value(entries[leaf], &format) : ~1ull;"):
    "asked of pages that are mapped",
    ("opcodes.c", "return reg == 2 || reg == 3;", "return reg == 2 || reg == 4;"):
    "LTR: what stands behind it in the run does not change its meaning",
    ("cpuid.c", "r->ecx &= ~ECX_OSXSAVE;", ";"):
    "CR4.OSXSAVE is clear in the suite and in the host",
    ("cpuid.c", "if (cpu->vmcb->save.cr4 & CR4_OSXSAVE)",
     "if (!(cpu->vmcb->save.cr4 & CR4_OSXSAVE))"):
    "the suite never uses XSAVE and does not ask for it",
    ("cpuid.c", "r = (struct cpuid_result){0, 0, 0, 0};",
     "r = (struct cpuid_result){0, 0, 0, 1};"):
    "a leaf of SVM, which is not enumerated",
    ("system.c", "cpu->vmcb->save.ss.base = (uint64_t)selector << 4;",
     "cpu->vmcb->save.ss.base = (uint64_t)selector << 5;"):
    "no traced code in real mode loads SS",
    ("block.c", "else if (index >= 0xC0000000u)", "else if (index >= 0xc0000001u)"):
    "C0000000H is no register",
    ("record.c", "return records != 0 && has_room(area, *place);",
     "return records != 0 || has_room(area, *place);"):
    "runs under a policy that is not the first: make policies tells",
    ("record.c", "uint8_t bytes[WORD_COUNT * 8 + 1] = {0};",
     "uint8_t bytes[WORD_COUNT * 8 + 1] = {1};"):
    "the first byte is written before it is read",
    ("records.c", ".flags = record->kind == RECORD_EXCEPTION ? record->exception.error : 0,",
     ".flags = record->kind == RECORD_EXCEPTION ? record->exception.error : 1,"):
    "no reader looks at the third word of a mark that is no exception",
    ("pebs_format.c",
     "size_t left = *at < bytes ? bytes - *at : 0, size = format->record_bytes;",
     "size_t left = *at <= bytes ? bytes - *at : 0, size = format->record_bytes;"):
    "0 either way",
    ("task.c", "for (unsigned i = 0; i < TASKS_MOST; i++)",
     "for (unsigned i = 0; i <= TASKS_MOST; i++)"):
    "behind the table lies no task of that number",
    ("broker_raw.c", "*cpu = (struct broker_cpu){.rearm = (1u << BROKER_CLIENTS) - 1};",
     "*cpu = (struct broker_cpu){.rearm = (2u << BROKER_CLIENTS) - 1};"):
    "the further bit is no client's",
    ("pebs.c", "if (!pmc_exists(pmc, c->counter) || c->counter >= PMC_FIXED + 4)",
     "if (!pmc_exists(pmc, c->counter) || c->counter > PMC_FIXED + 4)"):
    "no processor that the tests know has a fifth fixed counter",
    ("run.c", "cpu->shadow = vmcb->control.interrupt_state & 1;", ";"):
    "a shadow lasts until the next branch: no clause says how soon an interrupt comes",
}

COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
               "&&": "||", "||": "&&"}


def negated(line):
    """`if (X)` on one line becomes `if (!(X))`."""
    match = re.match(r"^(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$", line)
    if match and match[2].count("(") == match[2].count(")"):
        yield match[1] + "!(" + match[2] + ")" + match[3]


def compared(line):
    for match in re.finditer(r" (==|!=|<=|>=|<|>|&&|\|\|) ", line):
        yield line[:match.start(1)] + COMPARISONS[match[1]] + line[match.end(1):]


def other_constant(line):
    """A number that is not part of a name: one more, and for masks one bit less."""
    if line.lstrip().startswith("case "):
        return
    for match in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?=(?:ull|u|ll)?\b)", line):
        value = int(match[1], 0)
        word = "0x%x" % (value + 1) if match[1].startswith("0x") else str(value + 1)
        yield line[:match.start(1)] + word + line[match.end(1):]


def dropped(line):
    """A call, or an assignment to something that exists already."""
    statement = line.strip()
    if not statement.endswith(";") or statement.count("(") != statement.count(")"):
        return
    call = re.match(r"^[a-z_]+\(.*\);$", statement)
    assignment = re.match(r"^\*?[a-z_]+(?:(?:->|\.)\w+|\[[^\]]*\])*"
                          r"(?:\+\+|--|\s[|&^+-]?=\s.*);$", statement)
    if (call and not statement.startswith(("return", "va_"))) or assignment:
        yield re.match(r"\s*", line)[0] + ";"


def bodies(lines):
    """Numbers of the lines inside functions, comments and strings left out."""
    inside = comment = False
    for number, line in enumerate(lines):
        if line == "{":
            inside = True
        elif line == "}":
            inside = False
        elif inside:
            starts = "/*" in line
            if not comment and not starts and '"' not in line and not line.startswith("#"):
                # A line that continues another is left out, or halves would be dropped.
                before = lines[number - 1].rstrip()
                if before.endswith((";", "{", "}", ":", "*/")) or before == "" or \
                        re.match(r"\s*(if|for|while|else)\b", before):
                    yield number
            comment = (comment or starts) and "*/" not in line


def candidates(subject):
    """Every (file, line number, original, mutated), in a fixed order."""
    found = []
    boring = re.compile(subject.boring)
    for path in subject.paths():
        name = str(path.relative_to(ROOT))
        lines = path.read_text().split("\n")
        for number in bodies(lines):
            line = lines[number]
            if boring.search(line):
                continue
            for change in (negated, compared, other_constant, dropped):
                found += [(name, number, line, other) for other in change(line)]
    return found


def stale():
    """The keys of EXPLAINED that are no mutant of any subject: the source has changed, and
    the explanation says nothing about what stands there now."""
    known = {(Path(name).name, line.strip(), other.strip()) for subject in SUBJECTS.values()
             for name, _, line, other in candidates(subject)}
    return [key for key in EXPLAINED if key not in known]


class Workshop:
    """A copy of the sources in which one file at a time is wrong."""

    def __init__(self, out, subject):
        self.subject = subject
        self.tree = out / "tree"
        self.out = out / "build"
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                               capture_output=True, text=True, check=True).stdout.split("\n")
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        self.bench = None if subject.tests else HostBench(self.tree, out / "host")
        self.texts = {str(path.relative_to(self.tree)): path.read_text()
                      for path in subject.paths(self.tree)}

    def build(self, *targets):
        """True when the targets came out; the reason is in build.log."""
        with open(self.out.parent / "build.log", "a", encoding="utf-8") as log:
            done = subprocess.run(
                ["make", "-j2", "-C", str(self.tree), "OUT=%s" % self.out, "VERSION=mutant",
                 *(str(self.out / target) for target in targets or ("BOOTX64.EFI",))],
                stdout=log, stderr=subprocess.STDOUT, timeout=6000, check=False)
        return done.returncode == 0

    def change(self, mutant):
        """From now on one line of the tree is another."""
        name, number, _, other = mutant
        lines = self.texts[name].split("\n")
        lines[number] = other
        self.write(name, "\n".join(lines))

    def write(self, name, text):
        (self.tree / name).write_text(text)
        (self.out / "obj" / name).with_suffix(".o").unlink(missing_ok=True)

    def failing_unit_test(self):
        """The first of the subject's unit tests on the host that fails, or None."""
        if not self.subject.tests:
            return None
        for path in sorted((self.tree / "harness/tests/unit").glob(self.subject.tests)):
            if not self.build("host/" + path.stem):
                return path.stem
            try:
                done = subprocess.run([str(self.out / "host" / path.stem)], timeout=600,
                                      preexec_fn=limited, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, check=False)
            except subprocess.TimeoutExpired:
                return path.stem
            if done.returncode:
                return path.stem
        return None

    def run(self, place, options):
        """The runner's status and its last line."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "harness/run.py"), "--image",
             str(self.out / "BOOTX64.EFI"), "--out", str(place), "--check-timeout", "40",
             "--timeout", "200", "--", *self.subject.options, *options], capture_output=True,
            text=True, timeout=3000, check=False)
        return done.returncode, done.stdout


def first_failure(text):
    match = re.search(r"^FAIL +(\S+):", text, re.M)
    return match[1] if match else "?"


def verdict(shop, mutant, place, args):
    """killed, accident or survived, with what there is to say about it; None: it does not
    compile, or is the image itself."""
    if shop.bench and shop.bench.knows(mutant[0]):
        unit = shop.bench.failing(mutant[0])
        if unit:
            return None if unit == "the compiler" else ("killed", "by " + unit)
    if args.host:
        return "survived", "the unit tests"
    if not shop.build():  # the compiler knows it already
        return None
    status, text = shop.run(place, args.options)
    if status == 0:
        unit = shop.failing_unit_test()
        return ("killed", "by " + unit) if unit else ("survived", "")
    if status == 1:
        return "killed", "by " + first_failure(text)
    words = [line for line in text.split("\n") if line.startswith("status: ")]
    return "accident", words[-1] if words else "status %d" % status


def at_least_one(text):
    """None killed of none would be no result."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("not a number of mutants from 1 on: %r" % text)
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=at_least_one, default=20)
    parser.add_argument("--files", choices=SUBJECTS, default="model")
    parser.add_argument("--host", action="store_true", help="the unit tests of ds/ alone")
    parser.add_argument("--list", action="store_true", help="show the choice, build nothing")
    parser.add_argument("options", nargs="*", help="options for the image")
    args = parser.parse_args()
    for name, line, _ in stale():
        print("mutants: EXPLAINED of %s is stale: no mutant of '%s'" % (name, line))
        return 2
    subject = SUBJECTS[args.files]
    everything = candidates(subject)
    if args.host:
        everything = [mutant for mutant in everything if mutant[0].startswith("ds/")]
    random.Random(args.seed).shuffle(everything)
    print("%d possible mutants, seed %d" % (len(everything), args.seed), flush=True)
    if args.list:
        for name, number, line, other in everything[:args.count]:
            print("%s:%d: %s -> %s" % (name, number + 1, line.strip(), other.strip()))
        return 0
    out = Path(args.out).resolve() / "mutants"
    out.mkdir(parents=True, exist_ok=True)
    shop = Workshop(out, subject)
    failing = shop.bench.prepare() if shop.bench else []
    if failing or not args.host and (not shop.build() or
                                     shop.run(out / "sound", args.options)[0] != 0):
        print("mutants: the suite does not pass undamaged, see %s" % out)
        return 2
    return trial(args, shop, everything, out)


def trial(args, shop, everything, out):
    counts = {"killed": 0, "accident": 0, "survived": 0, "explained": 0}
    start = time.monotonic()
    total = 0
    for mutant in everything:
        if total == args.count:
            break
        name, number, line, other = mutant
        shop.change(mutant)
        found = verdict(shop, mutant, out / ("%03d" % (total + 1)), args)
        shop.write(name, shop.texts[name])
        if shop.bench and shop.bench.knows(name):
            shop.bench.compile(shop.tree / name)
        if not found:
            continue
        total += 1
        word, why = found
        reason = EXPLAINED.get((Path(name).name, line.strip(), other.strip()))
        if word == "survived" and reason:
            word, why = "explained", reason
        counts[word] += 1
        print("%-9s %s:%d: %s -> %s  %s" % (word, name, number + 1, line.strip(),
                                            other.strip(), why), flush=True)
    print("%d by accident, %d survived, %d explained; %.0f s" % (
        counts["accident"], counts["survived"], counts["explained"],
        time.monotonic() - start))
    print("mutants: %d of %d killed" % (counts["killed"], total), flush=True)
    return 0 if counts["killed"] * 2 > total else 1


if __name__ == "__main__":
    sys.exit(main())
