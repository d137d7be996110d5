"""`land_to = pr` with the real supervisor and scripted forges: from the first push to the merge."""

import os
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from fleet.forge import pull_request_json
from fleet.landing.land_target import LanderSetup, land_target
from fleet.landing.waiting_work import target_key
from fleet.queue.sql.sqlite import open_embedded
from tests.forges.scripted_gitea import TOKEN, scripted_gitea
from tests.forges.state import ForgeState, People
from tests.forges.worlds import gh_env
from tests.story.test_landing_push import add, landing_of, scene_with_remote, trust

BUG = "bug"


def set_up(tmp_path, address, **settings):
    """A scene whose origin has the address of a forge, where the operator's git finds a path."""
    scene = scene_with_remote(tmp_path, land_to="pr", **settings)
    scene.forge = ForgeState(tmp_path)
    scene.bare.root.rename(scene.forge.bare)
    scene.bare.root = scene.forge.bare
    scene.people = People(scene.forge)
    with scene.forge.changing() as known:
        known["ci"] = BUG
    scene.repo.git("remote", "set-url", "origin", address)
    own = tmp_path / "gitconfig"
    own.write_text(f'[url "{scene.bare.root}"]\n\tinsteadOf = {address}\n')
    scene.env |= {"GIT_CONFIG_GLOBAL": str(own), "GITEA_TOKEN": TOKEN}
    trust(scene, address)
    return scene


@pytest.fixture
def gitea(tmp_path, monkeypatch):
    """Makes a scene on a scripted Gitea."""
    with ExitStack() as stack:
        face = stack.enter_context(scripted_gitea(ForgeState(tmp_path)))

        def made(**settings):
            token = {"forge_token": "env:GITEA_TOKEN"}
            scene = set_up(tmp_path, f"{face.site}/team/app.git", **token, **settings)
            scene.face = face
            stack.callback(scene.close)
            for name in ("GIT_CONFIG_GLOBAL", "GITEA_TOKEN"):
                monkeypatch.setenv(name, scene.env[name])
            return scene

        yield made


def run(scene):
    assert scene.until_ended(scene.supervise("--until-idle"), 60) == 0, scene.screen()


def look(scene, later=timedelta(hours=1)):
    """What the lander does at its next look, which is later."""
    lander = LanderSetup(
        home=scene.home,
        open_queue=lambda: open_embedded(scene.home.path),
        by="test",
        now=lambda: datetime.now(UTC) + later,
        abandon=threading.Event(),
    )
    report = land_target(lander, target_key(os.path.realpath(scene.project), "main"))
    assert not report.problem, report
    return report


def pr_of(scene, task_id):
    return pull_request_json.believed(scene.home, task_id)


def test_verified_work_is_opened_checked_merged_and_then_closed(gitea):
    """The body is the receipt; base and line hold the work; the branch of the task is gone."""
    scene = gitea()
    task_id = add(scene, "echo mine > mine", title="Add mine")
    run(scene)
    look(scene)
    landing, (pull,) = landing_of(scene, task_id), scene.forge.read()["pulls"].values()
    assert (landing.state, scene.status(task_id)) == ("landed", "closed"), scene.screen()
    assert (pull["title"], pull["branch"], pull["base"]) == ("Add mine", f"fleet/{task_id}", "main")
    assert "**checked**" in pull["body"]
    assert landing.landed.pr.endswith("/team/app/pulls/1")
    assert (landing.landed.proof, landing.landed.commit) == ("ancestry", pull["merge_commit"])
    assert scene.repo.git("show", "main:mine") == "mine"
    assert scene.bare.git("for-each-ref", "refs/heads/fleet") == ""


def test_a_failed_check_goes_back_to_the_agent_and_its_answer_to_the_same_pull_request(gitea):
    """The agent reads what the check said, in the same clone; the second head is merged."""
    scene = gitea()
    task_id = add(scene, f"if [ -e {BUG} ]; then rm {BUG}; else echo 1 > {BUG}; echo 1 > mine; fi")
    run(scene)
    run(scene)
    look(scene)
    (pull,) = scene.forge.read()["pulls"].values()
    assert scene.status(task_id) == "closed", (landing_of(scene, task_id), scene.screen())
    assert len(scene.runs(task_id)) == 2
    assert f"{BUG} is there" in scene.runs(task_id)[1].path.joinpath("prompt.md").read_text()
    assert len(pr_of(scene, task_id).heads) == 2
    assert pull["state"] == "merged"


def test_what_fails_again_and_again_is_left_to_a_person(gitea):
    """Two rounds, and no more."""
    scene = gitea()
    task_id = add(scene, f"date +%N > {BUG}")
    run(scene)
    landing = landing_of(scene, task_id)
    assert len(scene.runs(task_id)) == 3, (landing, scene.screen())
    assert landing.state == "asks", scene.screen()
    assert "its checks fail after 2 rounds" in landing.why
    assert scene.forge.read()["pulls"]["1"]["state"] == "open"


def test_a_person_may_merge_on_the_forge(gitea):
    """With `land = ask` fleet opens it and merges nothing; it sees the merge, and closes."""
    scene = gitea(land="ask")
    task_id = add(scene, "echo mine > mine")
    run(scene)
    look(scene)
    assert scene.forge.read()["pulls"]["1"]["state"] == "open"
    assert "waits for a person to merge it" in landing_of(scene, task_id).why
    scene.people.merge(1)
    look(scene, timedelta(hours=2))
    assert scene.status(task_id) == "closed"
    assert scene.repo.git("show", "main:mine") == "mine"


def test_one_that_a_person_closed_asks(gitea):
    """No work is lost, and nothing is opened again unasked."""
    scene = gitea(land="ask")
    task_id = add(scene, "echo mine > mine")
    run(scene)
    scene.people.close(1)
    look(scene)
    landing = landing_of(scene, task_id)
    assert landing.state == "asks"
    assert "closed without being merged" in landing.why
    assert scene.repo.git("show", f"fleet/{task_id}:mine") == "mine"
    look(scene, timedelta(hours=2))
    assert len(scene.forge.read()["pulls"]) == 1


def test_a_forge_out_of_order_is_waited_for(gitea):
    """The branch is pushed and the pull request opened once it answers; nothing is done twice."""
    scene = gitea()
    scene.face.broken += [503, 503]
    task_id = add(scene, "echo mine > mine")
    run(scene)
    landing = landing_of(scene, task_id)
    assert (landing.state, scene.forge.read()["pulls"]) == ("waiting", {}), scene.screen()
    assert "gives no answer" in landing.why
    for hours in range(1, 5):
        look(scene, timedelta(hours=hours))
    assert scene.status(task_id) == "closed", landing_of(scene, task_id)
    assert len(scene.forge.read()["pulls"]) == 1


def test_a_conflict_with_the_base_goes_back_with_the_merge_begun(gitea):
    """The line follows the remote first, so that the agent finds what it conflicts with."""
    scene = gitea(land="ask")
    task_id = add(scene, "test -e mine || echo mine > README; touch mine")
    run(scene)
    scene.people.push("main", README="theirs\n")
    look(scene)
    look(scene, timedelta(hours=2))
    landing = landing_of(scene, task_id)
    assert (landing.state, landing.why_back) == ("back", "conflict")
    assert scene.repo.git("show", "main:README") == "theirs"


def test_github_goes_the_same_way_with_its_merge_queue(tmp_path, monkeypatch):
    """Handed over, watched, and landed only when the queue has merged it."""
    scene = set_up(tmp_path, "git@github.com:team/app.git")
    try:
        scene.env |= {**gh_env(scene.forge), "PATH": f"{gh_env(scene.forge)['PATH']}"}
        for name in ("GIT_CONFIG_GLOBAL", *gh_env(scene.forge)):
            monkeypatch.setenv(name, scene.env[name])
        with scene.forge.changing() as known:
            known["queue"] = True
        task_id = add(scene, "echo mine > mine")
        run(scene)
        look(scene)
        assert scene.forge.read()["pulls"]["1"]["queued"]
        assert "merge queue" in landing_of(scene, task_id).why
        assert scene.status(task_id) == "blocked"
        scene.forge.merge(1)
        look(scene, timedelta(hours=2))
        assert scene.status(task_id) == "closed"
    finally:
        scene.close()
