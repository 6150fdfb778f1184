# SPDX-License-Identifier: BSD-2-Clause
"""A made-up run for the unit tests: its serial log and its report, whole or broken."""

import copy

IDENTITY = [("version", "v1.0-3-gabcdef0"), ("provider", "model"),
            ("cpu", "Intel Core Processor (Haswell)"), ("family", "6"), ("model", "60"),
            ("stepping", "4"), ("microcode", "0x1"), ("hypervisor", "WaymarkModel"),
            ("apic", "xapic"), ("firmware", "EDK II 0x10000"), ("cpus", "1"),
            ("guard", "lvt-timer")]

# (name, verdict, reason)
CHECKS = [("bts.enum.ds", "pass", ""), ("bts.record.size", "pass", ""),
          ("bts.pmi.threshold", "pass", ""), ("bts.cpl.usr", "skip", "no DS-CPL"),
          ("bts.wrap.moment", "pass", "")]

RUN = "4F2A9C01"
NOISE = b"\x1b[2J\x1b[01;01HBdsDxe: starting Boot0001 \"UEFI Misc Device\"\r\n"


def counts(checks):
    made = {"planned": len(checks)}
    for verdict in ("pass", "fail", "skip", "error"):
        made[verdict] = sum(1 for check in checks if check[1] == verdict)
    return made


def verdict_of(made):
    for verdict in ("fail", "error", "pass"):
        if made[verdict]:
            return verdict
    return "skip"


def result(number, name, verdict, reason):
    tail = {"pass": "", "fail": "", "skip": " # SKIP " + reason,
            "error": " # ERROR " + reason}[verdict]
    word = "ok" if verdict in ("pass", "skip") else "not ok"
    return "%s %d - %s%s" % (word, number, name, tail)


def lines(checks=CHECKS, profile="qemu"):
    """The log's lines without line ends."""
    made = counts(checks)
    out = ["waymark format=1 run=%s profile=%s" % (RUN, profile)]
    out += ["# %s=%s" % pair for pair in IDENTITY]
    out += ["KTAP version 1", "1..%d" % len(checks)]
    for number, (name, verdict, reason) in enumerate(checks, 1):
        out += ["# group " + name.rpartition(".")[0], "# step " + name]
        if verdict in ("fail", "error"):
            out.append("# %s: %s" % (name, reason))
        out.append(result(number, name, verdict, reason))
    out += ["# observe bts.wrap.moment=after", "# coverage must=12/70 software=3/20"
            " characterise=5/50"]
    out.append("# waymark end run=%s planned=%d pass=%d fail=%d skip=%d error=%d verdict=%s" % (
        RUN, made["planned"], made["pass"], made["fail"], made["skip"], made["error"],
        verdict_of(made)))
    return out


def wire_bytes(text_lines, noise=NOISE):
    return noise + "".join(line + "\r\n" for line in text_lines).encode("latin-1")


def log(checks=CHECKS, profile="qemu"):
    return wire_bytes(lines(checks, profile))


def report(checks=CHECKS, profile="qemu"):
    """What the image would write about the same run."""
    made = counts(checks)
    return copy.deepcopy({
        "format": 1, "run_id": RUN, "provider": "model", "profile": profile,
        "identity": dict(IDENTITY),
        "checks": [{"name": name, "clauses": ["BTS-01"], "kind": "must", "verdict": verdict,
                    "reason": reason, "ms": 3,
                    **({"evidence": {"expected": ["a -> b"], "trace": ["a -> c"],
                                     "first_difference": 0}} if verdict == "fail" else {})}
                   for name, verdict, reason in checks],
        "observations": {"bts.wrap.moment": "after"}, "counts": made,
        "coverage": {"must": {"covered": 12, "total": 70},
                     "software": {"covered": 3, "total": 20},
                     "characterise": {"covered": 5, "total": 50}},
        "verdict": verdict_of(made)})


def changed(number, verdict, reason):
    """CHECKS with one verdict changed; number counts from 1."""
    checks = list(CHECKS)
    checks[number - 1] = (checks[number - 1][0], verdict, reason)
    return checks
