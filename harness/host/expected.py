# SPDX-License-Identifier: BSD-2-Clause
"""Profiles: the verdict each check is expected to give on one kind of machine.

A profile is profiles/NAME.json: a default verdict (or a list of admissible ones), exceptions
by name or pattern with words that the reason must contain, the providers it is meant for and
the least number of checks of a whole run: "listed" is as many as were found in the image's
file while it was built.  The first exception that matches decides; those of
"with", by provider, come before the others.
"""

import json
from fnmatch import fnmatchcase
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "profiles"
KEYS = {"description", "provider", "default", "at_least", "checks", "errata", "with"}


class Unknown(Exception):
    """No such profile, or one that cannot be used."""


def listed(image):
    """How many checks the build found in an image: its list lies beside it, or nowhere."""
    path = Path(image).with_name("checks.txt") if image else None
    return len(path.read_text().splitlines()) if path and path.is_file() else 1


def names():
    """The names that load() knows."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name, image=None):
    """The profile as a dictionary with all its keys, for a run of that image."""
    path = FOLDER / (name + ".json")
    if name not in names():
        raise Unknown("unknown profile '%s'; there are %s" % (name, ", ".join(names())))
    try:
        profile = json.loads(path.read_text())
    except ValueError as error:
        raise Unknown("profile %s: %s" % (name, error)) from error
    if set(profile) - KEYS:
        raise Unknown("profile %s: unknown key %s" % (name, sorted(set(profile) - KEYS)))
    if profile.get("at_least") == "listed":
        profile["at_least"] = listed(image)
    return {"description": "", "provider": [], "default": "pass", "at_least": 1, "checks": [],
            "errata": False, "with": {},
            "name": name, **profile}


def by_provider(profile, provider):
    """The profile with the exceptions for that provider in force."""
    return dict(profile, checks=profile["with"].get(provider, []) + profile["checks"])


def rule_for(profile, name):
    """(admissible verdicts, words the reason must hold, the exception's pattern or None)."""
    for row in profile["checks"]:
        if fnmatchcase(name, row["name"]):
            verdicts = row["verdict"]
            verdicts = verdicts if isinstance(verdicts, list) else [verdicts]
            return verdicts, row.get("reason", ""), row["name"]
    default = profile["default"]
    return (default if isinstance(default, list) else [default]), "", None


def selected_out(check):
    """A check that skip= left out says so; no profile asks more of it."""
    return check["verdict"] == "skip" and check["reason"].startswith("by option")


def deviations(profile, checks, whole):
    """What differs from the profile: a list of (check or None, expected verdict, text).

    checks are the records of report.json; whole says that nothing was left out by run= or
    skip=, so that the size of the suite and unused exceptions can be judged as well.
    """
    found = []
    used = set()
    for check in checks:
        verdicts, words, pattern = rule_for(profile, check["name"])
        used.add(pattern)
        if profile["errata"] and check.get("erratum"):
            continue
        if selected_out(check) and not whole:
            continue
        if check["verdict"] not in verdicts:
            found.append((check, verdicts[0], "%s: %s, profile %s expects %s" % (
                check["name"], check["verdict"], profile["name"], "/".join(verdicts))))
        elif check["verdict"] != "pass" and words not in check["reason"]:
            found.append((check, verdicts[0], "%s: %s for the reason '%s', not '%s'" % (
                check["name"], check["verdict"], check["reason"], words)))
    if whole:
        found += [(None, "", text) for text in whole_run(profile, checks, used)]
    return found


def whole_run(profile, checks, used):
    """Rules about the suite as a whole."""
    if len(checks) < profile["at_least"]:
        yield "%d checks, profile %s expects at least %d" % (
            len(checks), profile["name"], profile["at_least"])
    for row in profile["checks"]:
        if row["name"] not in used and not row.get("optional"):
            yield "profile %s names %s, which is not in this run" % (
                profile["name"], row["name"])
