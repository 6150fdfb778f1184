# SPDX-License-Identifier: BSD-2-Clause
"""Each house rule refuses what it is for, and lets good files through."""

import tempfile
import unittest
from pathlib import Path

from harness.dev import style

SPDX = "/* SPDX-License-Identifier: BSD-2-Clause */\n"
ABOUT = "/* What this file is about, in words. */\n"
ASM = "; SPDX-License-Identifier: BSD-2-Clause\n; What this file is about, in words.\n"


def found(path, text):
    """The rules' findings on one file, without its name."""
    return [line.split(": ", 1)[1] for line in style.findings([style.File(path, text)])]


class Rules(unittest.TestCase):
    def refuse(self, path, text, words):
        self.assertTrue(any(words in line for line in found(path, text)),
                        "%s: %s" % (words, found(path, text)))

    def accept(self, path, text):
        self.assertEqual(found(path, text), [])

    def test_good_files(self):
        self.accept("hw/x.c", SPDX + ABOUT + "int x;\n")
        self.accept("hw/x.asm", ASM + "bits 64\n")
        self.accept("x/run.sh", "#!/bin/sh\n# SPDX-License-Identifier: BSD-2-Clause\n"
                    "# Does this and that for them.\n")

    def test_header(self):
        self.refuse("hw/x.c", ABOUT, "no SPDX line")
        self.refuse("hw/x.c", SPDX + "int x;\n", "no comment")
        self.refuse("hw/x.c", SPDX + "/* x */\n", "says too little")

    def test_characters(self):
        for text, words in (("int \u00e4;\n", "not ASCII"), ("\tint x;\n", "a tab"),
                            ("int x; \n", "blanks"), ("/* %s */\n" % ("x" * 96), "columns"),
                            ("int x;", "line end"), ("int x;\n\n", "line end")):
            self.refuse("hw/x.c", SPDX + ABOUT + text, words)

    def test_size(self):
        self.refuse("hw/x.asm", ASM + "nop\n" * 150, "assembly file")
        self.refuse("hw/x.c", SPDX + ABOUT + "int x;\n" * 400, "402 lines")
        body = "void f(void)\n{\n" + "    x();\n" * 100 + "}\n"
        self.refuse("hw/x.c", SPDX + ABOUT + body, "f has 102 lines")

    def test_words(self):
        for text in ("TODO: more", "see issue 7", "in /mnt/build"):
            self.refuse("hw/x.c", SPDX + ABOUT + "/* %s */\n" % text, "'")

    def test_dependencies(self):
        for path, name in (("hw/x.c", "ds/bts.h"), ("ds/x.c", "guest/edge.h"),
                           ("guest/x.c", "harness/check/run.h"),
                           ("harness/x.c", "boot/serial.h"),
                           ("hw/model/x.c", "hw/msr.h"), ("hw/model/x.c", "ds/layout.h"),
                           ("harness/x.c", "hw/model/processor/decode.h")):
            self.refuse(path, SPDX + ABOUT + '#include "%s"\n' % name, "must not include")
        for path, name in (("ds/x.c", "hw/msr.h"), ("boot/x.c", "harness/suite/harness.h"),
                           ("hw/model/x.c", "hw/model/processor/decode.h"),
                           ("boot/x.c", "hw/model/model.h")):
            self.accept(path, SPDX + ABOUT + '#include "%s"\n' % name)
        self.refuse("hw/model/x.c", SPDX + ABOUT + "#include <efi.h>\n", "includes <efi.h>")

    def test_numbers(self):
        self.refuse("ds/x.c", SPDX + ABOUT + "int a = 0x1D9;\n", "number of a register")
        self.refuse("guest/x.asm", ASM + "mov ecx, 1d9h\n", "number of a register")
        self.refuse("ds/x.c", SPDX + ABOUT + "cpuid(1, 0);\n", "CPUID leaf")
        self.accept("hw/x.c", SPDX + ABOUT + "int a = 0x1D9;\n")
        self.accept("ds/x.c", SPDX + ABOUT + '/* 0x1d9 */ char *a = "0x1d9";\n')

    def test_casts(self):
        self.refuse("ds/x.c", SPDX + ABOUT + "a = (unsigned long long)b;\n", "long long")
        self.accept("ds/x.c", SPDX + ABOUT + "static const long long a = 1;\n")

    def test_check_files(self):
        text = SPDX + "/*\n * Claim: a\n * How: b\n%s */\nCHECK(x)\n{\n}\n"
        self.refuse("harness/checks/x.c", text % "", "Wrong if:")
        self.accept("harness/checks/x.c", text % " * Wrong if: c\n")

    def test_guard(self):
        text = "#ifndef %s\n#define %s\n#endif\n"
        self.accept("hw/x/y.h", SPDX + ABOUT + text % (("HW_X_Y_H",) * 2))
        self.refuse("hw/x/y.h", SPDX + ABOUT + text % (("HW_Y_H",) * 2), "guard HW_X_Y_H")
        self.refuse("hw/x/y.h", SPDX + ABOUT + "int x;\n", "guard HW_X_Y_H")

    def test_manner(self):
        for text, words in (("/* One line\n * and one more. */", "opens with a line"),
                            ("int x = 0xff;", "0xff: digits"),
                            ("int y = x == NULL;", "its own test")):
            self.refuse("hw/x.c", SPDX + ABOUT + text + "\n", words)
        self.accept("hw/x.c", SPDX + ABOUT + "int x; /* trails\n          on */\n"
                    "/*\n * 0xff == NULL\n */\nint y = 0xFFull;\n")

    def test_declarations(self):
        text = "void f(void)\n{\n    int x = 0;\n%s    if (x)\n        g();\n}\n"
        self.refuse("hw/x.c", SPDX + ABOUT + text % "", "behind the declarations")
        self.accept("hw/x.c", SPDX + ABOUT + text % "\n")

    def test_routines(self):
        text = ASM + "\n%s\nglobal f:function\nf:\n    ret\n"
        self.refuse("hw/x.asm", text % "", "f has no contract")
        self.accept("hw/x.asm", text % "; void f(void)")


class Proof(unittest.TestCase):
    """The compiler's dependency files, real or made up."""

    def test_first_rule(self):
        self.assertEqual(style.prerequisites("a.o: a.c \\\n b.h\nb.h:\n"),
                         ("a.o", ["a.c", "b.h"]))

    def test_model_must_stand_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "obj/hw/model"
            place.mkdir(parents=True)
            (place / "x.d").write_text("x.o: hw/model/model.h hw/msr.h\n")
            lines = ["%s %s" % pair for pair in style.dependency_proof(Path(folder))]
        self.assertIn("hw/model/model.h depends on hw/msr.h", lines)

    def test_no_proof_without_a_build(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = ["%s %s" % pair for pair in style.dependency_proof(Path(folder))]
        self.assertTrue(any("build first" in line for line in lines))


if __name__ == "__main__":
    unittest.main()
