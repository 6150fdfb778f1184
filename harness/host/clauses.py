# SPDX-License-Identifier: BSD-2-Clause
"""The clauses for the host: their texts, and how a report decides them.

clauses.json is made from harness/suite/clauses.def by `make docs`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("clauses.json")
CLASSES = ("must", "software", "characterise")
# Of several checks on one clause the worst verdict speaks; a skip says less than a pass.
ORDER = ("fail", "error", "pass", "skip")

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


def load(path=FILE):
    """All clauses, in the order of the table."""
    return [Clause(row["id"], row["kind"], row["section"], row["title"], row["why"] or "",
                   row["counted"]) for row in json.loads(path.read_text())]


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
