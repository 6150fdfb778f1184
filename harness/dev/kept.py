# SPDX-License-Identifier: BSD-2-Clause
"""What stays under an operating system must reach nothing of the image that does not stay.

The parts are those of linker.ld; every address that the disassembler names in the code that
stays must lie in one of them.  Pointers in its variables are looked at when the copy is made.
"""

import re
import subprocess

BOUNDS = (("__kept_text_start", "__text_end"), ("__kept_rodata_start", "__kept_rodata_end"),
          ("__kept_data_start", "__data_end"), ("__bss_start", "__kept_bss_end"))
NAMED = re.compile(r"\b([0-9a-f]+) <[^>]+>")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def parts(symbols):
    """The four ranges of addresses, from the output of nm."""
    at = {fields[2]: int(fields[0], 16) for fields in map(str.split, symbols.splitlines())
          if len(fields) == 3}
    return [(at[start], at[end]) for start, end in BOUNDS]


def strays(code, ranges):
    """Lines of a disassembly that name an address outside the ranges."""
    for line in code.splitlines():
        _, tab, instruction = line.partition("\t")
        if tab and any(not any(start <= int(address, 16) < end for start, end in ranges)
                       for address in NAMED.findall(instruction)):
            yield " ".join(instruction.split())


def findings(elf):
    """One pair of place and text for each instruction that reaches too far."""
    ranges = parts(output("nm", elf))
    code = output("objdump", "-d", "--no-show-raw-insn",
                  "--start-address=%d" % ranges[0][0], "--stop-address=%d" % ranges[0][1], elf)
    if "<model_enter>:" not in code:
        yield "linker.ld", "the model is not in the code that stays"
    for line in strays(code, ranges):
        yield "linker.ld", "what stays reaches what does not: " + line
