# SPDX-License-Identifier: BSD-2-Clause
"""The pytest that labgrid runs: one boot of the machine, one test a verdict rule.

pytest --lg-env harness/labs/labgrid-qemu.yml --junit-xml out.xml harness/labs/test_waymark.py
"""

import pytest

from harness.host import expected


@pytest.fixture(scope="module")
def log(strategy, record_testsuite_property):
    """The log of one run, with its identity in the JUnit file."""
    strategy.transition("done")
    for key, value in strategy.log.identity.items():
        record_testsuite_property(key, value)
    yield strategy.log
    strategy.transition("off")


def test_log_is_whole(log):
    """Banner, plan, every result, sums, end line."""
    assert [fault.text for fault in log.faults] == []


def test_as_expected(log):
    """Every check gives what the profile of the banner expects."""
    profile = expected.load(log.profile)
    checks = [{"name": r.name, "verdict": r.verdict, "reason": r.reason} for r in log.results]
    assert checks
    assert [text for _, _, text in expected.deviations(profile, checks, False)] == []
