"""`receipt.json`: what is written is read again."""

from fleet.runs import receipt_json
from fleet.schemas import Receipt, Verdict
from tests.builders import a_run


def test_the_verdict_is_kept(tmp_path):
    """As it was written."""
    run = a_run(tmp_path)
    for verdict in (Verdict(), Verdict(checked=True), None):
        receipt = Receipt(task_id="fleet-a", run=1, coder="claude", verdict=verdict)
        receipt_json.write(run, receipt)
        assert receipt_json.read(run) == receipt
