# SPDX-License-Identifier: BSD-2-Clause
"""The rooms of the tree, whom each may call, and the proof that nobody calls in a ring.

An arrow from one file to another is an include, or a symbol that the object of one leaves
undefined and the object of the other defines: a callback draws none, a declaration by hand
does not hide one.  The compiler's dependency files must not know an include that was not seen
here.  Between rooms there is no ring, within a room none of more than CYCLE_FILES files.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CYCLE_FILES = 3
SOURCES = (".c", ".h", ".asm", ".inc", ".def")

# Room -> whom it may call besides itself.  What stands further down may not call upwards: the
# table itself is checked for rings.  hw/model is its public header, hw/model/model.h.
MODEL = "hw/model/"
HARNESS = "harness/"
ARROWS = {
    "boot": ["harness/bench", "harness/check", "harness/gdb", "harness/options",
             "harness/program", "harness/suite", "ds", "hw", "hw/model"],
    "harness/checks": ["harness/fuzz", "harness/fixture", "harness/suite", "harness/oracle",
                       "harness/check", "harness/options", "guest", "ds", "hw"],
    "harness/gdb": ["harness/program", "harness/suite", "harness/check", "guest", "ds", "hw"],
    "harness/program": ["harness/suite", "harness/tracefile", "harness/options",
                        "harness/check", "guest", "ds", "hw"],
    "harness/bench": ["harness/suite", "harness/fixture", "harness/oracle", "harness/check",
                      "harness/options", "guest", "ds", "hw"],
    "harness/suite": ["harness/fixture", "harness/options", "harness/check", "guest", "ds",
                      "hw"],
    "harness/fuzz": ["harness/fixture", "harness/oracle", "harness/check", "harness/options",
                     "guest", "ds", "hw"],
    "harness/fixture": ["harness/oracle", "harness/check", "harness/options", "guest", "ds",
                        "hw"],
    "harness/oracle": ["harness/check", "guest", "hw"],
    "harness/options": ["harness/check", "hw"],
    "harness/check": ["ds", "hw"],
    "harness/wtr/commands": ["harness/wtr/core", "harness/wtr/perf", "harness/wtr/view"],
    "harness/wtr/perf": ["harness/wtr/core"],
    "harness/wtr/view": ["harness/wtr/core"],
    "harness/wtr/core": ["harness/oracle", "harness/tracefile"],
    "harness/tracefile": [],
    "harness/host": ["guest"],
    "harness/dev": ["harness/suite", "harness/options", "harness/check", "hw/model"],
    "guest": ["hw"],
    "ds": ["hw"],
    "hw": [],
    "hw/model/host": ["hw/model/emulate", "hw/model/bts", "hw/model/perfmon", "hw/model/trial",
                      "hw/model/processor", "hw/model"],
    "hw/model/emulate": ["hw/model/bts", "hw/model/perfmon", "hw/model/trial",
                         "hw/model/processor"],
    "hw/model/bts": ["hw/model/perfmon", "hw/model/trial", "hw/model/processor"],
    "hw/model/perfmon": ["hw/model/trial", "hw/model/processor"],
    "hw/model/trial": ["hw/model/processor", "hw/model"],
    "hw/model/processor": ["hw/model"],
    "hw/model": [],
}
# What only a host runs or a reader opens: a room without arrows, but with its README.
OTHERS = ["harness/tests"]
# Folders of objects below the build folder, one a program: the image, and wtr.
PROGRAMS = ("obj", "wtr.obj")
# Rooms whose C belongs to tools of the host.
HOST_ONLY = ("harness/dev", "harness/host")
# Linked into no image: what would be arrows there are those of other programs.
APART = ("harness/tests/", "boot/loader/", "guest/runtime/", "harness/vectors/")


def room_of(path):
    """The room that a file stands in: the longest folder that the table knows."""
    folder = str(Path(path).parent)
    while folder not in ARROWS and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return folder


def rings(arrows):
    """Sets of nodes of {node: nodes} that reach each other, each as a sorted list."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


class Tree:
    """The files, and the arrows between them with what draws each."""

    def __init__(self, texts):
        self.texts = texts              # path -> text
        self.arrows = {}                # path -> {path: reason}

    def add(self, source, target, reason):
        if source != target:
            self.arrows.setdefault(source, {}).setdefault(target, reason)

    def includes(self):
        """Arrows from the include lines."""
        for path, text in self.texts.items():
            for name in re.findall(r'^\s*[#%]\s*include\s+"([^"]+)"', text, re.M):
                beside = str(Path(path).parent / name)
                target = beside if beside in self.texts else name
                if target in self.texts:
                    self.add(path, target, "includes it")

    def symbols(self, objects):
        """Arrows from {path of the source: (symbols defined, symbols wanted)}."""
        owner = {name: path for path, (defined, _) in objects.items() for name in defined}
        for path, (_, wanted) in objects.items():
            for name in wanted:
                if name in owner:
                    self.add(path, owner[name], "calls " + name)

    def unseen(self, depends):
        """Of {source: files the compiler read}: those that no include line here leads to."""
        for source, files in depends.items():
            seen, new = set(), {source}
            while new:
                seen |= new
                new = {target for path in new for target, why in
                       self.arrows.get(path, {}).items() if why == "includes it"} - seen
            for path in files:
                if path in self.texts and path not in seen:
                    yield "%s: the compiler read %s, and no include leads there" % (source,
                                                                                   path)

    def rooms(self):
        """{room: {room: [(file, file, reason)]}}, without arrows inside."""
        between = {}
        for source, targets in self.arrows.items():
            for target, reason in targets.items():
                here, there = room_of(source), room_of(target)
                if here != there:
                    between.setdefault(here, {}).setdefault(there, []).append(
                        (source, target, reason))
        return between

    def findings(self):
        """What is not as the table says, as lines."""
        between = self.rooms()
        for here, targets in sorted(between.items()):
            for there, arrows in sorted(targets.items()):
                if there in ARROWS.get(here, ()) or public(here, there, arrows):
                    continue
                yield "%s may not call %s: %s -> %s, which %s" % ((here, there) +
                                                                  arrows[0][:2] +
                                                                  (arrows[0][2],))
        for ring in rings({here: set(targets) for here, targets in between.items()}):
            yield "a ring of rooms: " + " ".join(ring)
        for ring in rings({path: set(targets) for path, targets in self.arrows.items()}):
            if len(ring) > CYCLE_FILES:
                yield "a ring of %d files: %s" % (len(ring), " ".join(ring))


def public(here, there, arrows):
    """The model's functions, called by who includes its public header alone."""
    return not here.startswith(MODEL) and there.startswith(MODEL) and \
        "hw/model" in ARROWS.get(here, ()) and \
        all(reason.startswith("calls model_") for _, _, reason in arrows)


def names_of(path, flag):
    """The global symbols of an object, defined or wanted."""
    done = subprocess.run(["nm", "-P", "-g", flag, str(path)], capture_output=True, text=True,
                          check=True)
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def read_tree():
    """The sources that git knows or would take, without those APART."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=True).stdout.split("\n")
    return Tree({name: (ROOT / name).read_text(errors="replace") for name in names
                 if name.endswith(SOURCES) and not name.startswith(APART) and
                 (ROOT / name).is_file()})


def read_objects(tree, folder):
    """What a program's objects define and want, and what the compiler read for each."""
    objects, depends = {}, {}
    for path in sorted(folder.rglob("*.o")):
        name = str(path.relative_to(folder))
        source = name[:-2] if name.endswith(".asm.o") else name[:-2] + ".c"
        if source not in tree.texts:
            continue
        objects[source] = names_of(path, "--defined-only"), names_of(path, "-u")
        rule = path.with_suffix(".d").read_text().replace("\\\n", " ").split("\n")[0]
        depends[source] = rule.partition(":")[2].split()
    return objects, depends


def callees(text):
    """The rooms that a README.md says may be called."""
    found = re.search(r"^May call:(.*?)\n\n", text, re.M | re.S)
    return set(re.findall(r"`([^`]+)`", found[1])) if found else None


def missing(tree, built, rooms):
    """Rooms that the table, the image or the reader does not know."""
    for room in sorted(set(map(room_of, tree.texts)) - set(ARROWS)):
        yield "%s is no room of the table" % room
    for room in rooms:
        page = ROOT / room / "README.md"
        if not page.is_file():
            yield "%s has no README.md" % room
        elif room in ARROWS and callees(page.read_text()) != set(ARROWS[room]):
            yield "%s/README.md: 'May call:' is not what the table has" % room
    for path in sorted(tree.texts):
        if path.endswith(".c") and path not in built and room_of(path) not in HOST_ONLY:
            yield "%s has no object: build image and wtr first" % path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the build folder")
    parser.add_argument("--show", action="store_true", help="print the arrows between rooms")
    args = parser.parse_args()
    tree = read_tree()
    tree.includes()
    rooms, found, built = sorted(set(ARROWS) | set(OTHERS)), [], set()
    for program in PROGRAMS:
        objects, depends = read_objects(tree, args.out / program)
        found += tree.unseen(depends)
        tree.symbols(objects)
        built |= set(objects)
    found += list(missing(tree, built, rooms)) + list(tree.findings())
    found += ["the table has a ring: " + " ".join(ring) for ring in rings(ARROWS)]
    between = tree.rooms()
    if args.show:
        for here, targets in sorted(between.items()):
            print("%-22s %s" % (here, " ".join("%s(%d)" % (there, len(arrows)) for
                                               there, arrows in sorted(targets.items()))))
    print("\n".join(found + [""]), end="")
    cycles = len([line for line in found if "ring" in line])
    print("rooms %d, arrows %d, cycles %d" % (
        len(rooms), sum(map(len, between.values())), cycles))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
