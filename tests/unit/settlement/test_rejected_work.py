"""What rejected runs left in the work that lands."""

import pytest

from fleet.evidence.inspect_run import Inspection
from fleet.schemas import Changes, FileChange, Finding, Receipt, Verdict
from fleet.schemas.receipt import RejectedWork
from fleet.settlement.build_receipt import rejected_work


def files(*paths):
    return tuple(FileChange(path=path, kind="changed", added=1) for path in paths)


def a_receipt(run, *paths, broke="verify_failed"):
    findings = (Finding(rule=broke, what="no"),) if broke else ()
    changes = Changes(base="b", files=files(*paths))
    return Receipt(
        task_id="t", run=run, coder="claude", changes=changes, verdict=Verdict(findings=findings)
    )


def whole(*paths, own=()):
    return Inspection(changes=Changes(base="b", files=files(*own)), whole=files(*paths))


@pytest.mark.parametrize(
    ("now", "before", "found"),
    [
        (whole("a", "b", own=("b",)), [a_receipt(1, "a")], (("a",),)),
        (whole("a", "b", own=("a", "b")), [a_receipt(1, "a")], ()),
        (whole("b", own=("b",)), [a_receipt(1, "a")], ()),
        (whole("a", "b", own=("b",)), [a_receipt(1, "a", broke="")], ()),
        (whole("a", "c"), [a_receipt(2, "a", broke=""), a_receipt(1, "a", "c")], (("c",),)),
    ],
    ids=["lands", "changed since", "undone since", "was not rejected", "accepted since"],
)
def test_files_of_rejected_runs_that_land_are_named(now, before, found):
    """Of each file the last run that changed it counts."""
    assert tuple(each.files for each in rejected_work(now, before)) == found


def test_the_run_and_its_rules_are_named():
    """A person can look at the receipt of that run."""
    found = rejected_work(whole("a"), [a_receipt(1, "a", broke="fewer_tests")])
    assert found == (RejectedWork(run=1, rules=("fewer_tests",), files=("a",)),)
