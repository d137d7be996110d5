"""Attempts are spent by the agent's failures only, through the real supervisor."""

import pytest

from fleet.runs.outcome_history import read_ending
from fleet.schemas.waits import OutOfAttempts, ToMend
from tests.story.scene import ACTOR, WORK

#: A CLI that its vendor refuses.
EVENT = """
[[event]]
when = {{ type = "refused" }}
terminal = "error"
reason = "{reason}"
"""


def attempts(scene, task):
    ending = read_ending(scene.runs(task)[-1])
    return ending.attempts


@pytest.mark.parametrize("reason", ["auth", "no_key", "billing", "model_not_found"])
def test_three_tasks_that_are_refused_at_once_wait_and_pay_nothing(scene, reason):
    """None is blocked, the login or the model is held once, and one command frees all of them."""
    scene.coder("picky", ACTOR + EVENT.format(reason=reason))
    scene.configure(max_concurrent=3)
    script = 'await:go say:{"type":"refused"} | tool done end'
    tasks = [scene.add(script, coder="picky") for _ in range(3)]
    scene.supervise()
    scene.until(lambda: all(scene.runs(task) for task in tasks))
    for task in tasks:
        (scene.folder(task) / "go").touch()
    scene.until(lambda: all(scene.task(task).not_before for task in tasks))
    assert [scene.status(task) for task in tasks] == ["open"] * 3
    assert not any(attempts(scene, task) for task in tasks if scene.runs(task))
    assert len(scene.log("held")) == 1
    assert "fleet account resume picky" in scene.fleet("status").stdout
    assert scene.fleet("account", "resume", "picky").returncode == 0
    for task in tasks:
        scene.until_status(task, "closed")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program --check", "no-such-program"),
        ("touch tests.sh && ./tests.sh", "tests.sh"),
        ("python3 -m no_such_runner", "No module named no_such_runner"),
    ],
)
def test_a_check_that_cannot_start_spends_no_attempt(scene, command, words):
    """Outside of git it was tried on no base: the first run shows it, and there is no second."""
    task = scene.add(WORK, verify=(command,))
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert isinstance(blocked.waits, ToMend), blocked.waits
    assert words in blocked.notes
    assert len(scene.runs(task)) == 1
    assert attempts(scene, task) == 0


def test_a_check_that_fails_for_the_work_spends_an_attempt(scene):
    """What the agent can mend is tried again, as often as `retry_limit` says."""
    scene.configure(retry_limit=2)
    task = scene.add(WORK, verify=("false",))
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert isinstance(blocked.waits, OutOfAttempts)
    assert (len(scene.runs(task)), attempts(scene, task)) == (2, 2)


def test_an_outage_that_one_task_meets_alone_ends_with_a_person(scene):
    """The others go on meanwhile, and the task is not the only one to try the account."""
    scene.coder("picky", ACTOR + EVENT.format(reason="api_error"))
    scene.configure(max_concurrent=2)
    bad = scene.add('say:{"type":"refused"}', coder="picky")
    scene.supervise_with_pauses(0.02)
    scene.until(lambda: scene.runs(bad) and read_ending(scene.runs(bad)[-1]))
    others = []
    while scene.status(bad) != "blocked" and len(others) < 20:
        others.append(scene.add(WORK, coder="picky"))
        scene.until(lambda: scene.status(others[-1]) == "closed" or scene.status(bad) == "blocked")
        before = len(scene.runs(bad))
        scene.until(lambda n=before: len(scene.runs(bad)) > n or scene.status(bad) == "blocked")
    blocked = scene.until_status(bad, "blocked")
    assert "3 times, while other tasks went on" in blocked.notes
    assert f"fleet retry {bad}" in blocked.notes
    assert attempts(scene, bad) == 0
    for other in others:
        scene.until_status(other, "closed")
