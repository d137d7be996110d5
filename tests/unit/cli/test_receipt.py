"""A receipt on a terminal."""

from fleet.cli.inspect.receipt import show_receipt
from fleet.schemas import Finding, Receipt, Verdict


def test_the_output_of_a_failed_check_stands_below_its_rule(capsys):
    """In the column of values, line by line, with no gap in between."""
    what = "`make test` ended with 2:\n1 failed\nsee the log"
    receipt = Receipt(
        task_id="fleet-a1",
        run=1,
        coder="claude",
        outcome="Finished",
        why=f"unverified: verify_failed: {what}",
        claim="done",
        verdict=Verdict(findings=(Finding(rule="verify_failed", what=what),)),
    )
    show_receipt(receipt, as_json=False)
    shown = capsys.readouterr().out.splitlines()
    assert "ended:      Finished: unverified: verify_failed: `make test` ended with 2" in shown
    at = shown.index("broke:      verify_failed: `make test` ended with 2:")
    assert shown[at + 1 : at + 3] == ["            1 failed", "            see the log"]
