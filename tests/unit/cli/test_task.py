"""`fleet task`: a receipt on a terminal, and what its help may wait for."""

import json
from threading import Event
from types import SimpleNamespace

import pytest
from msgspec import structs

from fleet.cli import task_ids
from fleet.cli.inspect.task import show_receipt
from fleet.config import Config
from fleet.schemas import Changes, Command, FileChange, Finding, Policy, Receipt, Usage, Verdict
from fleet.schemas.receipt import RejectedWork
from fleet.schemas.shown_text import ending_words


def test_the_output_of_a_failed_check_stands_below_its_rule(capsys):
    """In the column of values, line by line, with no gap in between."""
    what = "`make test` ended with 2:\n1 failed\nsee the log"
    receipt = Receipt(
        task_id="fleet-a1",
        run=1,
        coder="claude",
        outcome="Finished",
        why=f"rejected: verify_failed: {what}",
        claim="done",
        verdict=Verdict(findings=(Finding(rule="verify_failed", what=what),)),
    )
    show_receipt(receipt, as_json=False)
    shown = capsys.readouterr().out.splitlines()
    assert "ended:      Finished: rejected: verify_failed: `make test` ended with 2" in shown
    at = shown.index("broke:      verify_failed: `make test` ended with 2:")
    assert shown[at + 1 : at + 3] == ["            1 failed", "            see the log"]


def test_what_is_not_known_is_not_nought(capsys):
    """A lost run has no time, no memory; a killed CLI counted only the beginning of its answers."""
    lost = Receipt(task_id="fleet-a", run=1, coder="claude", outcome="Lost", why="lost: killed")
    show_receipt(lost, as_json=False)
    shown = capsys.readouterr().out
    assert "took:       an unknown time, 0 turns, unknown tokens, cost unknown\n" in shown
    show_receipt(lost, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["seconds"], told["cpu_seconds"], told["memory_bytes"]) == (None, None, None)
    killed = structs.replace(lost, usage=Usage(input=6500), partial=True, estimated_usd=0.02)
    show_receipt(killed, as_json=False)
    shown = capsys.readouterr().out
    assert "at least 6.5k tokens, cost unknown, at least ~$0.02" in shown
    assert killed.spend.unpriced == 1


@pytest.mark.parametrize(
    ("outcome", "why", "shown"),
    [
        (
            "Stalled (silent)",
            "stalled (silent): nothing moved for 7 s",
            "Stalled (silent): nothing",
        ),
        ("Stalled (silent)", "stalled (silent)", "Stalled (silent)"),
        ("Finished", "unchecked", "Finished: unchecked"),
        ("Finished", "verify_failed: `make` ended with 2:\nF", "Finished: verify_failed: `make`"),
        ("Failed (no_key)", "no_key: a key is missing", "Failed (no_key): a key is missing"),
        ("Lost", "lost: its keeper was killed", "Lost: its keeper was killed"),
    ],
)
def test_an_ending_says_each_thing_once(outcome, why, shown):
    """Not `Stalled (silent): stalled (silent)`."""
    assert ending_words(outcome, why).startswith(shown)
    assert ending_words(outcome, why).lower().count(outcome.lower()) == 1
    assert not ending_words(outcome, why).endswith(":")


def test_a_denied_command_stands_as_denied(capsys):
    """With the command, and not among those that ran."""
    receipt = Receipt(
        task_id="fleet-a", run=1, coder="claude", outcome="Finished", denied=("Bash",),
        denied_calls=("Bash: python3 -m pytest -q",),
        commands=(
            Command(text="python3 -m pytest -q", denied=True),
            Command(text="make", failed=True),
            Command(text="sleep 9", unended=True),
        ),
    )  # fmt: skip
    show_receipt(receipt, as_json=False)
    shown = capsys.readouterr().out
    assert "denied:     Bash: python3 -m pytest -q\n" in shown
    assert "ran:        make  (failed)\n" in shown
    assert "ran:        sleep 9  (never ended)\n" in shown
    assert shown.count("pytest") == 1


def test_a_claim_is_never_said_not_to_be(capsys):
    """A claim that could not be judged is one all the same."""
    receipt = Receipt(
        task_id="fleet-a", run=1, coder="claude", outcome="Stopped", claim="wrote made.txt"
    )
    show_receipt(receipt, as_json=False)
    shown = capsys.readouterr().out
    assert "run 1: stopped, its claim was not judged" in shown
    assert "nothing was claimed" not in shown


def test_help_does_not_wait_for_a_queue_that_hangs(monkeypatch):
    """The list of running tasks below the help is a convenience."""
    monkeypatch.setattr(task_ids, "PATIENCE", 0.05)
    fleet = SimpleNamespace(config=Config())
    monkeypatch.setattr(task_ids.control, "opened", lambda env: fleet)
    never = Event()
    assert task_ids.best_effort(lambda _: ["fleet-a"]) == ["fleet-a"]
    assert task_ids.best_effort(lambda _: [str(never.wait(60))]) == ()


def test_what_rejected_runs_left_is_named_with_the_way_to_begin_anew(capsys):
    """The checks of this run passed, and an earlier one's files land with it."""
    left = RejectedWork(run=1, rules=("fewer_tests",), files=("tests/a.py",))
    receipt = Receipt(
        task_id="fleet-a", run=2, coder="claude", claim="done", verdict=Verdict(checked=True),
        rejected_work=(left,), policy=Policy(work_in="clone"),
    )  # fmt: skip
    show_receipt(receipt, as_json=False)
    shown = capsys.readouterr().out
    assert "left over:  tests/a.py: from run 1, rejected (fewer_tests)" in shown
    assert "fleet retry --fresh fleet-a" in shown


def test_a_rejected_run_that_changed_files_offers_to_begin_anew(capsys):
    """Its files stay in the clone, and the next run begins with them."""
    changed = Changes(base="b", files=(FileChange(path="a", kind="added", added=1),))
    receipt = Receipt(
        task_id="fleet-a", run=1, coder="claude", claim="done", changes=changed,
        verdict=Verdict(findings=(Finding(rule="verify_failed", what="no"),)),
        policy=Policy(work_in="clone"),
    )  # fmt: skip
    show_receipt(receipt, as_json=False)
    assert "fleet retry --fresh fleet-a" in capsys.readouterr().out
    show_receipt(structs.replace(receipt, policy=Policy(work_in="directory")), as_json=False)
    assert "--fresh" not in capsys.readouterr().out
