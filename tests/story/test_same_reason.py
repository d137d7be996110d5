"""Why a task waits: every surface and the log give the same reason, through the real supervisor."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from fleet import config
from fleet.control import Control
from fleet.control.view.read_now import NowReader
from tests.repos import Repo
from tests.story.scene import ACTOR, WORK, Scene
from tests.story.test_budgets import SPENDER, spends
from tests.story.test_budgets import WORK as SAYS_SO
from tests.story.test_trust import exported


def pause(scene):
    scene.supervise()
    assert scene.fleet("pause").returncode == 0
    return scene.add(WORK)


def strange_command(scene):
    file = scene.home.path / "tasks.jsonl"
    task = exported(scene, file, scene.home.path / "ran")
    assert scene.fleet("bd", "import", str(file)).returncode == 0
    scene.supervise()
    return task


def strange_coder(scene):
    scene.coder("later", ACTOR)
    task = scene.add(WORK, coder="later")
    scene.home.path.joinpath("coders/later.toml").write_text(f"{ACTOR}\n# changed\n")
    scene.supervise()
    return task


def red_base(scene):
    scene.configure(work_in="clone")
    Repo(scene.project).commit(a="1\n")
    line = ("config", "set", "--project", str(scene.project), "verify=test -e gone")
    assert scene.fleet(*line).returncode == 0
    scene.supervise()
    return scene.add(WORK)


def no_check(scene):
    scene.configure(require="checked")
    scene.supervise()
    return scene.add(WORK)


def after_six_dollars(scene):
    scene.coder("actor", SPENDER)
    scene.supervise()
    scene.until_status(scene.add(f"{spends(6)} {SAYS_SO}"), "closed")


def spent_day(scene):
    after_six_dollars(scene)
    scene.configure(day_budget="$5")
    scene.until_logged("config")
    return scene.add(WORK)


def spent_project(scene):
    after_six_dollars(scene)
    line = ("config", "set", "--project", str(scene.project), "day_budget=$5")
    assert scene.fleet(*line).returncode == 0
    scene.until_logged("config")
    return scene.add(WORK)


def paused_account(scene):
    account = '[accounts.first]\ncoder = "actor"\nsecret = "env:HOME"\nvariable = "ACTOR_KEY"\n'
    text = f"{config.default_text(**scene.settings)}\n{account}enabled = false\n"
    scene.home.config.write_text(text)
    scene.supervise()
    return scene.add(WORK)


def held_login(scene):
    scene.coder("absent", 'argv = ["no-such-agent", "{prompt}"]\n')
    first = scene.add(WORK, coder="absent")
    scene.supervise()
    scene.until_logged("held")
    scene.until(lambda: scene.task(first).not_before)
    return scene.add(WORK, coder="absent")


def used_up_limit(scene):
    first = scene.add("tool limit")
    scene.supervise()
    scene.until(lambda: scene.task(first).not_before)
    return scene.add("tool limit")


#: How a task comes to wait, and the words that its reason has.
CASES = {
    pause: "fleet is paused",
    strange_command: "its verify command came with an import or a shared queue",
    strange_coder: "no person has trusted",
    red_base: "the project's verify command fails on main as it stands",
    no_check: "it has no verify command, and require = checked",
    spent_day: "the day's budget",
    spent_project: "the day's budget of",
    paused_account: "first",
    held_login: "absent gets no work: its program cannot be run",
    used_up_limit: "actor",
}


@pytest.mark.parametrize("begin", CASES, ids=lambda begin: begin.__name__)
def test_every_surface_and_the_log_give_the_same_reason(tmp_path, begin):
    """With the command that helps: `show`, `ready`, `tasks`, the page's values, and the log."""
    scene = Scene(tmp_path)
    try:
        task = begin(scene)

        def listed():
            rows = json.loads(scene.fleet("tasks", "--all", "--json").stdout)
            # None while the task is claimed: each status is a read of its own.
            row = next((each for each in rows if each["id"] == task), None)
            return row if row and CASES[begin] in row["reason"] else None

        row = scene.until(listed)
        way = (row["way_on"] or {"line": ""})["line"]  # a budget's words have it
        scene.until(lambda: row["reason"] in scene.screen())
        assert row["state"] == "waiting"
        fleet = Control(scene.home, config.load(scene.home.config))
        page = msgspec.to_builtins(NowReader(fleet).read(datetime.now(UTC)))
        (on_page,) = [each for each in page["rows"] if each["id"] == task]
        assert (on_page["reason"], on_page["way_on"]) == (row["reason"], row["way_on"])
        for words in (("show", task), ("ready",)):
            done = scene.fleet(*words)
            said = " ".join((done.stdout + done.stderr).split())
            assert row["reason"] in said, words
            assert way in said, words
        assert scene.runs(task) == []
    finally:
        scene.close()
