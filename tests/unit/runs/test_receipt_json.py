"""`receipt.json`: what an earlier fleet wrote is read in today's words."""

import pytest

from fleet.runs import receipt_json
from fleet.schemas import Check, Receipt, Verdict
from tests.builders import a_run

PASSED = Check(command="make test", code=0)
FAILED = Check(command="make test", code=2)


def test_the_verdict_is_kept(tmp_path):
    """As it was written."""
    run = a_run(tmp_path)
    for verdict in (Verdict(), Verdict(checked=True), None):
        receipt = Receipt(task_id="fleet-a", run=1, coder="claude", verdict=verdict)
        receipt_json.write(run, receipt)
        assert receipt_json.read(run) == receipt


@pytest.mark.parametrize(
    ("checks", "word"),
    [((PASSED, PASSED), "checked"), ((), "plausible"), ((PASSED, FAILED), "plausible")],
)
def test_an_old_receipt_is_checked_only_if_a_check_passed(tmp_path, checks, word):
    """It had one word for both, and no field that tells them apart."""
    run = a_run(tmp_path)
    receipt = Receipt(task_id="fleet-a", run=1, coder="claude", checks=checks, verdict=Verdict())
    receipt_json.write(run, receipt)
    path = run.path / receipt_json.FILE
    path.write_bytes(path.read_bytes().replace(b',"checked":false', b""))
    assert b'"checked"' not in path.read_bytes()
    assert receipt_json.read(run).verdict.state == word
