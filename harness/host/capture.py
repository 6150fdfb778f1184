# SPDX-License-Identifier: BSD-2-Clause
"""What a lab's capture does to a log: line ends, a prefix before each line, other speakers.

conserver, ser2net, minicom, LAVA and journald each store a serial line in a way of their own:
`\\r\\r\\n`, a time or a name before the text, blanks behind it, and what firmware or the lab
says in between.  None of that is a fault of the log.  A line of ours that was damaged is.
"""

import re

# What stands before the banner is a prefix only when it has the looks of one.
PREFIX = re.compile(r"[\x20-\x7e\t]*[\]>|:)\s]$")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# A piece of our own grammar: where it shows, the line is ours and not whole.
OURS = re.compile(r"^\s*#|\bok\s*\d|\bnot ok\b|^\d+\.\.|KTAP|[Ww]aymark|Bail out|LAVA_SIGNAL|"
                  r"# ?(step|group|observe|coverage|again|note)\b|"
                  r"\b(bts|ds|hw|smp|pmc|pebs|task|model|cfg|lbr)\.[a-z0-9_]+(\.[a-z0-9_]+)?\b",
                  re.IGNORECASE)


def bare(raw):
    """A line without the line ends that were added on its way, and without trailing blanks."""
    return raw.strip(b"\r").rstrip(b" \t\r")


def shape(prefix):
    """A pattern for the prefixes of other lines: the same, with other numbers and names."""
    parts = re.findall(r"\s*\d+|[A-Za-z]+|.", prefix, re.S)
    return re.compile("".join(
        r"\s*\d+" if part.strip().isdigit() else "[A-Za-z]+" if part.isalpha() else
        re.escape(part) for part in parts))


def prefix_before(text, start):
    """The pattern of what stands before the banner, None when that is no prefix."""
    before = CONTROL.sub("", text[:start])
    if not re.search(r"\d", before) or not PREFIX.match(before) or before != text[:start]:
        return None
    return shape(before)


def without(prefix, text):
    """The text behind its prefix; as it is where there is none."""
    found = prefix.match(text) if prefix else None
    return text[found.end():] if found else text


def is_foreign(text):
    """A line that somebody else wrote: text, and nothing in it looks like a line of ours."""
    text = CONTROL.sub("", text)
    return all(32 <= ord(c) < 127 or c == "\t" for c in text) and not OURS.search(text)
