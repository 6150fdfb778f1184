# SPDX-License-Identifier: BSD-2-Clause
"""How a session of tests ends: its complaints, one line for the check, and the status."""

import json


def conclude(what, session):
    """Print what session.complaints holds, keep it beside the results; the exit status."""
    for line in session.complaints:
        print(line)
    (session.place / "complaints.json").write_text(json.dumps(session.complaints))
    print("%s: %s" % (what, "%d wrong" % len(session.complaints) if session.complaints
                      else "as expected"))
    return 1 if session.complaints else 0
