"""The text of a pull request."""

from fleet.forge.pull_request_body import pull_request_body
from fleet.schemas import Receipt
from fleet.schemas.receipt import Changes, Check, FileChange, Verdict


def a_receipt(**changes):
    made = {"task_id": "fleet-1", "run": 2, "coder": "claude", "model": "sonnet", "turns": 9}
    return Receipt(**made, **changes)


def test_the_body_is_what_fleet_saw():
    """Verdict, checks and files: a reviewer begins with them."""
    text = pull_request_body(
        "fleet-1",
        "Add a part",
        a_receipt(
            verdict=Verdict(checked=True),
            checks=(Check(command="make test", code=0, seconds=12.2),),
            changes=Changes(
                base="x", files=(FileChange(path="a.py", kind="changed", added=3, removed=1),)
            ),
        ),
    )
    assert "Task `fleet-1`: Add a part" in text
    assert "**checked** · claude sonnet · run 2" in text
    assert "`make test` passed in 12 s" in text
    assert "`a.py` changed, +3 -1" in text


def test_an_agents_words_call_nobody_and_close_nothing():
    """On a forge a name with @ tells a person, and `fixes #1` closes an issue."""
    text = pull_request_body("fleet-1", "t", a_receipt(claim="fixes #1 @ann\n```\nout"))
    assert "```text\nfixes #1 @ann\n` ` `\nout\n```" in text


def test_work_that_was_not_checked_says_so():
    """No reviewer takes it for more."""
    assert "nothing was checked" in pull_request_body("fleet-1", "t", a_receipt())
