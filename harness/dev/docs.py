# SPDX-License-Identifier: BSD-2-Clause
"""The documents: are they short, linked, and as new as what they are made from?

docs.py --out OUT          says what is wrong, one line each; status 1 when something is
docs.py --out OUT --write  makes the pages that are made from the image's tables
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README_BYTES = 9 * 1024     # what a visitor reads before deciding

# A page, and the program under OUT that prints it.
GENERATED = {"docs/defects.md": ["host/trials_page"],
             "docs/options.md": ["host/facts", "options"],
             "harness/host/clauses.json": ["host/facts", "clauses"]}


def pages():
    """Every Markdown file that git knows or would take."""
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard",
                            "*.md"], capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def made(out, words):
    """What the program prints."""
    return subprocess.run([str(out / words[0]), *words[1:]], capture_output=True, text=True,
                          check=True).stdout


def dead_links(page):
    """Links from a page to files that are not there."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / target).exists():
            yield "%s links to %s, which is not there" % (page.relative_to(ROOT), target)


def missing_files(page):
    """Files of this tree that a page names in backquotes and that are not there."""
    pattern = r"`((?:boot|hw|ds|guest|harness|docs)/[\w./-]+\.\w+)`"
    for name in re.findall(pattern, page.read_text()):
        if page.name != "CHANGELOG.md" and not (ROOT / name).exists():
            yield "%s names %s, which is not there" % (page.relative_to(ROOT), name)


def unlisted(out):
    """Commands and options of wtr that its manual page leaves out."""
    text = subprocess.run([str(out / "wtr"), "--help"], capture_output=True, text=True,
                          check=True).stdout
    manual = (ROOT / "docs/wtr.1").read_text().replace("\\-", "-")
    for name in re.findall(r"^  (--?[\w-]+|[a-z]+) ", text, re.M):
        if not re.search(r"^\.(B|BI) .*%s\b" % re.escape(name), manual, re.M):
            yield "docs/wtr.1 leaves out %s" % name


def findings(out):
    """All that is wrong, as lines."""
    size = (ROOT / "README.md").stat().st_size
    if size > README_BYTES:
        yield "README.md has %d bytes, at most %d" % (size, README_BYTES)
    for page in pages():
        yield from dead_links(page)
        yield from missing_files(page)
    for name, words in GENERATED.items():
        if not (ROOT / name).is_file() or (ROOT / name).read_text() != made(out, words):
            yield "%s is old: make docs" % name
    yield from unlisted(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the build folder")
    parser.add_argument("--write", action="store_true", help="make the generated pages")
    args = parser.parse_args()
    if args.write:
        for name, words in GENERATED.items():
            (ROOT / name).write_text(made(args.out.resolve(), words))
    lines = list(findings(args.out.resolve()))
    print("\n".join(lines + ["%d pages, %d findings" % (len(pages()), len(lines))]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
