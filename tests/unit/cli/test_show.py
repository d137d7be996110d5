"""`fleet show`: what a person reads of one task."""

from datetime import timedelta

import pytest

from fleet import control
from fleet.bd.pflag import Parsed
from fleet.cli.tracker.ready import ready
from fleet.cli.tracker.show import show
from fleet.cli.tracker.verify_hint import tell_lacks
from fleet.config import default_text
from fleet.home import clone_record, task_json
from fleet.home.clone_record import CloneRecord
from fleet.home.status_file import PAUSED
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.queue.protocol import Draft
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Finished, Lost, Settings, Spend
from fleet.schemas.waits import OutOfAttempts, SetAside
from tests.builders import a_run, an_ending
from tests.repos import Repo
from tests.settled import settle


@pytest.fixture
def fleet(fleet, monkeypatch):
    """A home that commands find by themselves."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    return fleet


def test_a_clone_is_told_with_the_branch_that_its_work_comes_to(fleet, capsys):
    """The project's directory does not change, so a person has to know where to look."""
    task = fleet.queue.add(Draft(title="t"))
    record = CloneRecord(repository="/repo", commit="c", made=True)
    clone_record.write(fleet.home, task.id, record)
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "clone:       removed\n" in shown
    assert f"work:        comes to the branch fleet/{task.id} of /repo\n" in shown
    fleet.home.clone(task.id).mkdir(parents=True)
    show(Parsed({}, (task.id,)))
    assert f"clone:       {fleet.home.clone(task.id)}\n" in capsys.readouterr().out


def test_a_task_whose_runs_were_rejected_offers_to_begin_anew(fleet, capsys):
    """Its clone holds what they left; a task that a person blocked has no such offer."""
    task = fleet.queue.add(Draft(title="t"))
    clone_record.write(fleet.home, task.id, CloneRecord(repository="/repo", commit="c", made=True))
    anew = f"fleet retry --fresh {task.id}\n"
    fleet.queue.reopen_task(task, by="us", waits=OutOfAttempts(why="no", made=3, limit=3))
    show(Parsed({}, (task.id,)))
    assert anew in capsys.readouterr().out
    fleet.queue.reopen_task(fleet.get(task.id), by="us", waits=SetAside(note="later"))
    show(Parsed({}, (task.id,)))
    assert anew not in capsys.readouterr().out


def test_a_task_that_does_not_run_says_why(fleet, tmp_path, capsys):
    """In the words that the page and `fleet tasks` have for the same task, with the way on."""

    def waits(**draft):
        here = {"fleet": {"cwd": str(tmp_path)}}
        task = fleet.queue.add(Draft(title="t", metadata=here, **draft))
        show(Parsed({}, (task.id,)))
        shown = capsys.readouterr().out.splitlines()
        named = ("waits:", "not yet:")
        words = [line.partition(":")[2] for line in shown if line.startswith(named)]
        state = next(line.partition("state:")[2] for line in shown if line.startswith("state:"))
        return (words or [state])[0].strip().replace(task.id, "ID")

    assert waits() == "no supervisor runs: fleet run"
    assert waits(assignee="ann") == "it is assigned to ann: fleet bd unclaim ID"
    assert waits(issue_type="epic") == "an epic is not run: its tasks are"
    with sole_supervisor(fleet.home):
        assert waits() == "ready"
        (fleet.home.path / PAUSED).touch()
        assert waits() == "fleet is paused: fleet resume"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "lands:       on main, once it is accepted\n"),
        ({"land": "ask"}, "lands:       on main, once it is accepted and you approve it\n"),
        ({"land_to": "push"}, "lands:       on main and its remote, once it is accepted\n"),
        ({"land_to": "pr"}, "lands:       on main, by a pull request\n"),
        ({"land_into": "next"}, "lands:       on next, once it is accepted\n"),
        ({"require": "approved"}, "lands:       on main, once you approve it (no verify command"),
        ({"land": "branch"}, "work:        on the branch fleet/fleet-"),
        ({"work_in": "directory"}, "work:        in /"),
    ],
)
def test_a_task_that_has_not_run_says_where_it_will_land(fleet, tmp_path, capsys, settings, says):
    """Before an agent is paid for it, and not only once its work waits."""
    project = Repo(tmp_path / "project")
    project.commit(a="1\n")
    given = {"land": "auto", "require": "any"} | settings
    fleet.home.config.write_text(default_text(queue="embedded", **given))
    task = fleet.queue.add(Draft(title="t"))
    task_json.write(fleet.home, task.id, Settings(cwd=str(project.root), branch="main"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert says in shown
    assert ("lands:" in shown) == says.startswith("lands:")
    mode = given["land"] if "work_in" not in given else None
    assert (f"land:        {mode}" in shown) == (mode is not None)


def test_a_repository_without_a_commit_is_told_before_a_run_is_refused(fleet, tmp_path, capsys):
    """When the task is made, and when it is looked at; not once there is a commit to begin from."""
    project = Repo(tmp_path / "project")
    fleet.home.config.write_text(default_text(queue="embedded", land="auto"))
    settings = Settings(cwd=str(project.root), branch="main")
    task = fleet.queue.add(Draft(title="t"))
    task_json.write(fleet.home, task.id, settings)
    fleet = control.opened()
    show(Parsed({}, (task.id,)))
    tell_lacks(fleet, settings)
    told = capsys.readouterr()
    assert "lands:       nowhere yet: its repository has no commit" in told.out
    assert "git commit --allow-empty -m start" in " ".join(told.err.split())
    project.commit(a="1\n")
    for _ in ("as files", "packed"):
        show(Parsed({}, (task.id,)))
        tell_lacks(fleet, settings)
        told = capsys.readouterr()
        assert "lands:       on main" in told.out
        assert "no commit" not in told.err
        project.git("pack-refs", "--all")


@pytest.mark.parametrize(
    ("branch", "given", "told"),
    [
        ("", {"land": "auto"}, True),
        ("", {"land": "auto", "land_into": "main"}, False),
        ("", {"land": "branch"}, False),
        ("main", {"land": "auto"}, False),
        (None, {"land": "auto"}, False),
    ],
)
def test_work_that_would_wait_for_a_branch_is_told_when_its_task_is_made(
    fleet, tmp_path, capsys, branch, given, told
):
    """A detached HEAD names no branch; nor does a directory without git, which lands nowhere."""
    fleet.home.config.write_text(default_text(queue="embedded", **given))
    tell_lacks(control.opened(), Settings(cwd=str(tmp_path), branch=branch))
    assert ("land_into=BRANCH" in capsys.readouterr().err) == told


def test_the_coder_and_the_model_are_those_of_the_next_run(fleet, capsys):
    """A configured model of another coder gives way to the coder's own."""
    fleet.home.config.write_text(default_text(queue="embedded", coder="codex"))
    task = fleet.queue.add(Draft(title="t"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "coder:       codex (default)\nmodel:       o4-mini (codex's own)\n" in shown


def test_the_coder_of_the_running_supervisor_is_shown(fleet, capsys):
    """`fleet run --coder` holds for show and ready alike; without a supervisor, runtime.toml."""
    task = fleet.queue.add(Draft(title="t"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "coder:       claude (default)\nmodel:       sonnet (default)\n" in shown
    with sole_supervisor(fleet.home, "codex"):
        show(Parsed({}, (task.id,)))
        ready(Parsed({"json": True}, ()))
    shown = capsys.readouterr().out
    assert "coder:       codex (fleet run --coder)\nmodel:       o4-mini (codex's own)\n" in shown
    assert '"coder": "codex",\n    "model": "o4-mini",' in shown


def test_past_runs_are_told_in_words(fleet, capsys):
    """A blocked task keeps its failed attempts, and a cost that is not known is not a number."""
    task = fleet.queue.add(Draft(title="t"))
    (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
    settle(fleet.queue, lease, Blocked(waits=SetAside(note="look")))
    run = a_run(fleet.home.task(task.id))
    spent = Spend(runs=2, tokens=37452, usd=0.015, estimated_usd=0.015, unpriced=1)
    ending = an_ending(Finished(), Blocked(waits=SetAside(note="look")), attempts=2, spent=spent)
    write_ending(run, ending)
    show(Parsed({}, (task.id,)))
    words = "1, 2 of 3 attempts failed, spent 37.5k tokens, ~$0.01 and an unknown cost (1 run)"
    assert f"runs:        {words}\n" in capsys.readouterr().out


def test_tokens_that_no_run_told_are_not_nought(fleet, capsys):
    """A lost run spent something."""
    task = fleet.queue.add(Draft(title="t"))
    run = a_run(fleet.home.task(task.id))
    write_ending(run, an_ending(Lost(why="killed"), spent=Spend(runs=1, unpriced=1)))
    show(Parsed({}, (task.id,)))
    assert "spent an unknown cost (1 run)\n" in capsys.readouterr().out


def test_earlier_attempts_stand_below_the_last_one(fleet, capsys):
    """The last attempt often failed for something small."""
    task = fleet.queue.add(Draft(title="t"))
    for why in ("it was denied Bash", "finished without closing the task"):
        write_ending(a_run(fleet.home.task(task.id)), an_ending(Finished(), why=why))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "last run:    2: Finished: without closing the task\n" in shown
    assert "earlier:     1: Finished: it was denied Bash\n" in shown


def test_each_value_says_where_it_comes_from(fleet, capsys, tmp_path):
    """A project's verify command is no default, and outside of git there is no clone."""
    text = default_text(queue="embedded", sandbox="workspace")
    project = f'\n[projects."{tmp_path}"]\nverify = ["make test"]\nturn_limit = 7\n'
    fleet.home.config.write_text(text + project)
    task = fleet.queue.add(Draft(title="t"))
    task_json.write(fleet.home, task.id, Settings(cwd=str(tmp_path), expect="change"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "expect:      change\n" in shown
    assert "verify:      make test (project)\n" in shown
    assert "work_in:     directory (outside of git)\n" in shown
    assert f"work:        in {tmp_path} itself\n" in shown
    assert "sandbox:     workspace (default)\n" in shown
    assert "max turns:   7 (project)\n" in shown
