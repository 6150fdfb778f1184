# SPDX-License-Identifier: BSD-2-Clause
"""The files for labs, judged by the labs' own code: LAVA's job schema, labgrid under pytest.

labs_session.py CASE BUILD-FOLDER OWN-FOLDER; prints what is wrong, or `CASE: as expected`.
Runs under the distribution's Python, which has their packages.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml
from lava_common.schemas import validate
from voluptuous import Invalid

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from harness.host import disk, schema  # noqa: E402
from harness.labs import kcidb  # noqa: E402
from harness.tests.system import boot_session  # noqa: E402

LABS = ROOT / "harness/labs"
SELECTION = "run=hw.cpu.*,bts.enum.*"


class Session:
    """A folder, an image, and what is wrong."""

    def __init__(self, build, own):
        self.image = Path(build).resolve() / "BOOTX64.EFI"
        self.own = Path(own).resolve()
        self.complaints = []

    def expect(self, good, text):
        if not good:
            self.complaints.append(text)

    def runner(self, *options, status=0):
        """A run of the suite; its report."""
        done = subprocess.run(
            [sys.executable, "harness/run.py", "--image", str(self.image), "--out",
             str(self.own / "run"), "--", SELECTION, *options], cwd=ROOT, text=True,
            capture_output=True, check=False)
        self.expect(done.returncode == status, "status %d: %s" % (done.returncode, done.stdout))
        return json.loads((self.own / "run/report.json").read_text())


def lava(session):
    """Both jobs fit LAVA's schema, and their monitor reads a real log as LAVA would."""
    report = session.runner("lava=1", "selftest=fail", status=1)
    text = (session.own / "run/serial.log").read_bytes().decode("latin-1")
    for name in ("lava-qemu.yml", "lava-board.yml"):
        job = yaml.safe_load((LABS / name).read_text())
        try:
            validate(job)
        except Invalid as error:
            session.expect(False, "%s: %s" % (name, error))
        monitor, = (action["test"]["monitors"] for action in job["actions"]
                    if "test" in action)
        monitor, = monitor
        session.expect(len(re.findall(monitor["start"], text)) == 1, "start is not unique")
        session.expect(len(re.findall(monitor["end"], text)) == 1, "end is not unique")
        seen = [(found["test_case_id"], found["result"])
                for found in re.finditer(monitor["pattern"], text)]
        words = {"pass": "pass", "fail": "fail", "skip": "skip", "error": "unknown"}
        session.expect(seen == [(c["name"], words[c["verdict"]]) for c in report["checks"]],
                       "%s reads %s" % (name, seen))
        session.expect("fail" in dict(seen).values(), "the failure is not seen")
    job["actions"][1]["test"]["monitors"][0]["pattern"] = 7
    try:
        validate(job)
        session.expect(False, "the schema takes anything")
    except Invalid:
        pass


def pytest_run(session, name, *options):
    """(pytest's status, its JUnit file) for labgrid's own run of a disk with these options."""
    image, target = session.own / (name + ".img"), session.own / (name + ".xml")
    disk.create(image, session.image, "".join(
        line + "\n" for line in ("profile=qemu", SELECTION, *options)))
    firmware = session.own / "firmware.fd"
    shutil.copyfile("/usr/share/ovmf/OVMF.fd", firmware)
    with open(session.own / (name + ".log"), "w", encoding="utf-8") as log:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--lg-env",
             str(LABS / "labgrid-qemu.yml"), "--junit-xml", str(target),
             str(LABS / "test_waymark.py")], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT,
            env=dict(os.environ, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1",
                     LG_WAYMARK_DISK=str(image), LG_WAYMARK_FIRMWARE=str(firmware)),
            timeout=3000, check=False)
    return done.returncode, ET.parse(target).getroot()


def labgrid(session):
    """Under labgrid a good run passes and a failing one fails, for its own reason."""
    status, junit = pytest_run(session, "good")
    session.expect(status == 0, "pytest ended with %d" % status)
    found = {p.get("name"): p.get("value") for p in junit.iter("property")}
    session.expect(found.get("provider") == "model", "properties: %s" % found)
    status, junit = pytest_run(session, "bad", "selftest=fail")
    session.expect(status == 1, "a failing check ends pytest with %d" % status)
    session.expect([case.get("name") for case in junit.iter("testcase")
                    if case.find("failure") is not None] == ["test_as_expected"],
                   "other tests failed")


def kernelci(session):
    """The submission keeps the rules of KCIDB's schema 4.0 that concern us."""
    report = session.runner("selftest=error", status=2)
    made = kcidb.export(report, "some_lab")
    ident = {"type": "string", "pattern": "^some_lab:[^ ]+$"}
    common = {"id": ident, "origin": {"const": "some_lab"}}
    rules = {
        "type": "object", "additionalProperties": False,
        "required": ["version", "checkouts", "builds", "tests"],
        "properties": {
            "version": {"const": {"major": 4, "minor": 0}},
            "checkouts": {"type": "array", "items": {
                "type": "object", "required": ["id", "origin"], "additionalProperties": False,
                "properties": {**common, "tree_name": {"type": "string"},
                               "git_commit_name": {"type": "string"},
                               "valid": {"type": "boolean"}}}},
            "builds": {"type": "array", "items": {
                "type": "object", "required": ["id", "origin", "checkout_id"],
                "additionalProperties": False,
                "properties": {**common, "checkout_id": ident,
                               "architecture": {"type": "string"},
                               "valid": {"type": "boolean"}}}},
            "tests": {"type": "array", "items": {
                "type": "object", "required": ["id", "origin", "build_id"],
                "additionalProperties": False,
                "properties": {
                    **common, "build_id": ident, "environment": {
                        "type": "object", "additionalProperties": False,
                        "properties": {"comment": {"type": "string"},
                                       "misc": {"type": "object"}}},
                    "path": {"type": "string", "pattern": "^[.a-zA-Z0-9_-]*$"},
                    "status": {"enum": ["FAIL", "ERROR", "PASS", "DONE", "SKIP"]},
                    "duration": {"type": "number"}, "log_excerpt": {"type": "string"},
                    "misc": {"type": "object"}}}}}}
    session.complaints += schema.errors(made, rules)
    session.expect(len({test["id"] for test in made["tests"]}) == len(report["checks"]) + 1,
                   "ids are not unique")
    session.expect(made["builds"][0]["checkout_id"] == made["checkouts"][0]["id"] and
                   all(test["build_id"] == made["builds"][0]["id"] for test in made["tests"]),
                   "the objects do not hang together")
    session.expect(made["tests"][0]["status"] == "ERROR", "the error is lost")
    session.expect(sum(test["status"] == "ERROR" for test in made["tests"]) == 2, "errors")


def ci_examples(session):
    """The CI files are YAML, gate on the runner's status, and keep files that exist."""
    github = yaml.safe_load((LABS / "github.yml").read_text())
    gitlab = yaml.safe_load((LABS / "gitlab.yml").read_text())
    steps = github["jobs"]["bts"]["steps"]
    kept = set(next(s for s in steps if "upload" in s.get("uses", ""))["with"]["path"].split())
    kept |= set(gitlab["bts"]["artifacts"]["paths"])
    kept.add(gitlab["bts"]["artifacts"]["reports"]["junit"])
    session.runner()
    made = {"out/" + path.name for path in (session.own / "run").iterdir()}
    session.expect(kept <= made, "kept, and not made: %s" % (kept - made))
    commands = [s["run"] for s in steps if "run" in s] + gitlab["bts"]["script"]
    for command in commands:
        session.expect("|" not in command, "a pipe would swallow the status: " + command)
    gates = [command for command in commands if "harness/run.py" in command]
    session.expect(len(gates) == 2, "gates: %s" % gates)
    session.expect(True in github or "on" in github, "no trigger")


CASES = {case.__name__: case for case in (lava, labgrid, kernelci, ci_examples)}


def main(name, build, own):
    return boot_session.run_case(CASES[name], Session(build, own), own)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
