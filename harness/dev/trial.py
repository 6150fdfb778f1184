# SPDX-License-Identifier: BSD-2-Clause
"""The suite on trial in one boot: every defect of the model killed, every policy identified.

Ends with `defects: K of T killed` or `policies: K of T identified`; the status is the runner's.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

WORD = {"defects": "killed", "policies": "identified"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--what", choices=sorted(WORD), required=True)
    parser.add_argument("--image", default="out/BOOTX64.EFI")
    parser.add_argument("--out", default="out")
    parser.add_argument("--accel", default="tcg")
    parser.add_argument("words", nargs="*", help="options for the image")
    args = parser.parse_args()
    out = Path(args.out) / args.what
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "run.py"), "--image", args.image,
         "--out", str(out), "--accel", args.accel, "--profile", "trial", "--",
         "prove=" + args.what, "cpus=2", *args.words])
    path = out / "report.json"
    checks = json.loads(path.read_text())["checks"] if path.is_file() else []
    for check in checks:
        print("%-4s %-40s %s" % (check["verdict"], check["name"], check["reason"]))
    good = sum(check["verdict"] == "pass" for check in checks)
    print("%s: %d of %d %s" % (args.what, good, len(checks), WORD[args.what]), flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
