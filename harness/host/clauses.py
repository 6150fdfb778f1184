# SPDX-License-Identifier: BSD-2-Clause
"""The clauses of clauses.def for the host: their texts, and how a report decides them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).parents[1] / "suite/clauses.def"
CLASSES = ("must", "software", "characterise")
# Of several checks on one clause the worst verdict speaks; a skip says less than a pass.
ORDER = ("fail", "error", "pass", "skip")

ENTRY = re.compile(
    r'(CLAUSE|BESIDE)\(\s*"([A-Z]+-\d+)",\s*([A-Z]+),\s*((?:"[^"]*"\s*)+),\s*((?:"[^"]*"\s*)+),'
    r'\s*(NULL|(?:"[^"]*"\s*)+)\)')


@dataclass
class Clause:
    """One clause; why is the reason that no check covers it, or empty.

    `counted` in the coverage of a run: not so for what lies beside the Debug Store.
    """
    ident: str
    kind: str
    section: str
    title: str
    why: str = ""
    counted: bool = True
    checks: list = field(default_factory=list)      # records of the report that name it

    @property
    def state(self):
        """pass, fail, error, skip, or none when no check of this report names it."""
        verdicts = {check["verdict"] for check in self.checks}
        return next((word for word in ORDER if word in verdicts), "none")


def text(literals):
    """Adjacent string literals as one text."""
    return "".join(re.findall(r'"([^"]*)"', literals))


def load(path=FILE):
    """All clauses, in the order of the file."""
    return [Clause(ident, kind.lower(), text(section), text(title),
                   "" if why == "NULL" else text(why), row == "CLAUSE")
            for row, ident, kind, section, title, why in ENTRY.findall(path.read_text())]


def decided(report, path=FILE):
    """The clauses with the checks of this report; an unknown id gets a clause of its own."""
    found = {clause.ident: clause for clause in load(path)}
    for check in report["checks"]:
        for ident in check["clauses"]:
            if ident not in found:
                kind = check["kind"] if check["kind"] in CLASSES else "must"
                found[ident] = Clause(ident, kind, "", "a clause this version does not know")
            found[ident].checks.append(check)
    return list(found.values())
