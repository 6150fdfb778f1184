# SPDX-License-Identifier: BSD-2-Clause
"""The proof of rooms and arrows refuses what it is for."""

import unittest

from harness.dev import rooms


def tree(texts, objects=None):
    """A tree of these files, with the symbols of these objects."""
    made = rooms.Tree(texts)
    made.includes()
    made.symbols(objects or {})
    return made


class Rooms(unittest.TestCase):
    def refuse(self, made, words):
        found = list(made.findings())
        self.assertTrue(any(words in line for line in found), found)

    def test_room_of(self):
        for path, room in (("hw/cpu.c", "hw"), ("hw/model/bts/x.c", "hw/model/bts"),
                           ("hw/model/model.h", "hw/model"), ("boot/loader/x.c", "boot"),
                           ("harness/suite/x.h", "harness/suite"),
                           ("harness/wtr/core/x.c", "harness/wtr/core")):
            self.assertEqual(rooms.room_of(path), room)

    def test_downwards(self):
        made = tree({"ds/a.c": '#include "hw/b.h"\n', "hw/b.h": ""})
        self.assertEqual(list(made.findings()), [])

    def test_include_upwards(self):
        self.refuse(tree({"hw/a.c": '#include "ds/b.h"\n', "ds/b.h": ""}),
                    "hw may not call ds: hw/a.c -> ds/b.h, which includes it")

    def test_call_upwards(self):
        """Declared by hand, so that no include tells."""
        self.refuse(tree({"hw/a.c": "void f(void);\n", "ds/b.c": ""},
                         {"hw/a.c": ({"g"}, {"f"}), "ds/b.c": ({"f"}, set())}),
                    "which calls f")

    def test_ring_of_rooms(self):
        self.refuse(tree({"ds/a.c": '#include "hw/b.h"\n', "hw/b.h": "", "ds/c.h": "",
                          "hw/d.c": '#include "ds/c.h"\n'}), "a ring of rooms: ds hw")

    def test_ring_of_files(self):
        def ring(count):
            names = ["ds/f%d.c" % i for i in range(count)]
            return tree({name: "" for name in names},
                        {name: ({"s%d" % i}, {"s%d" % ((i + 1) % count)})
                         for i, name in enumerate(names)})

        self.assertEqual(list(ring(rooms.CYCLE_FILES).findings()), [])
        self.refuse(ring(rooms.CYCLE_FILES + 1), "a ring of 4 files")

    def test_model_is_public(self):
        objects = {"boot/a.c": (set(), {"model_enter"}),
                   "hw/model/host/b.c": ({"model_enter", "step"}, set())}
        texts = {"boot/a.c": "", "hw/model/host/b.c": ""}
        self.assertEqual(list(tree(texts, objects).findings()), [])
        objects["boot/a.c"][1].add("step")
        objects["boot/a.c"][1].remove("model_enter")
        self.refuse(tree(texts, objects), "boot may not call hw/model/host")

    def test_unseen_include(self):
        made = tree({"ds/a.c": '#include "hw/b.h"\n', "hw/b.h": '#include "hw/c.h"\n',
                     "hw/c.h": "", "hw/d.h": ""})
        self.assertEqual(list(made.unseen({"ds/a.c": ["ds/a.c", "hw/b.h", "hw/c.h"]})), [])
        self.assertEqual(len(list(made.unseen({"ds/a.c": ["hw/d.h"]}))), 1)

    def test_table(self):
        self.assertEqual(rooms.rings(rooms.ARROWS), [])
        self.assertEqual(rooms.rings({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}),
                         [["a", "b", "c"]])

    def test_readme(self):
        text = "# x\n\nWhat.\n\nMay call: `a/b`,\n`c`.\n\n**More.** `d`\n"
        self.assertEqual(rooms.callees(text), {"a/b", "c"})
        self.assertIsNone(rooms.callees("# x\n"))


if __name__ == "__main__":
    unittest.main()
