"""`land_to = push` through the real supervisor: what is on the remote has landed."""

import os
from datetime import UTC, datetime

import pytest

from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream
from fleet.home import landing_json
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import Scene

WORK = "tool script done end"
VERIFY = "test ! -e broken"


def scene_with_remote(tmp_path, **settings):
    need("git")
    chosen = {"max_concurrent": 2, "retry_limit": 1, "land": "auto", **settings}
    scene = Scene(tmp_path, **chosen)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.bare = Repo(tmp_path / "remote.git", "--bare")
    scene.repo = Repo(scene.project)
    scene.repo.commit("first", README="read me\n")
    scene.repo.git("remote", "add", "origin", str(scene.bare.root))
    scene.repo.git("push", "-q", "-u", "origin", "main")
    return scene


def trust(scene, url=None):
    """The person confirms where fleet pushes to."""
    upstream = Upstream(remote="origin", url=url or str(scene.bare.root), branch="main")
    common = os.path.realpath(scene.project / ".git")
    trust_remote(scene.home.path, common, upstream, datetime.now(UTC))


@pytest.fixture
def scene(tmp_path):
    scene = scene_with_remote(tmp_path, land_to="push")
    trust(scene)
    yield scene
    scene.close()


def add(scene, script, steps=WORK, **wishes):
    """A task whose agent runs a script in its clone and claims to be done."""
    task_id = scene.add(steps, **{"branch": "main", "verify": (VERIFY,), **wishes})
    scene.folder(task_id).mkdir(exist_ok=True)
    names = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    (scene.folder(task_id) / "script").write_text(f"export {' '.join(names)}\n{script}\n")
    return task_id


def remote_has(scene, path, branch="main"):
    return scene.bare.git("show", f"refs/heads/{branch}:{path}", ok=False)


def landing_of(scene, task_id):
    return landing_json.believed(scene.home, task_id)


def other_hand(scene, **files):
    """A commit that another person pushes to the remote."""
    place = scene.home.path.parent / "other"
    scene.bare.git("clone", "-q", str(scene.bare.root), str(place))
    other = Repo.__new__(Repo)
    other.root = place
    commit = other.commit("theirs", **files)
    other.git("push", "-q", "origin", "HEAD:main")
    return commit


def hook(scene, name, text):
    path = scene.bare.root / "hooks" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_closed_means_that_the_remote_has_it(scene):
    """The remote is read back at what landed, beside commits that another person pushed."""
    theirs = other_hand(scene, theirs="theirs\n")
    task_id = add(scene, "echo mine > mine")
    assert scene.supervise("--until-idle").wait(60) == 0, scene.screen()
    landing = landing_of(scene, task_id)
    assert scene.status(task_id) == "closed", scene.screen()
    assert remote_has(scene, "mine") == "mine"
    assert scene.bare.git("merge-base", theirs, "main") == theirs
    assert landing.landed.pushed == f"origin/main {scene.bare.git('rev-parse', 'main')}"
    assert scene.repo.git("rev-parse", "main") == scene.bare.git("rev-parse", "main")
    # The person's git knows so without a fetch.
    assert scene.repo.git("status", "-sb").splitlines()[0] == "## main...origin/main"


def test_an_address_that_no_person_confirmed_asks(scene, tmp_path):
    """An agent that rewrites the project's remote leads no work elsewhere."""
    evil = Repo(tmp_path / "evil.git", "--bare")
    task_id = add(scene, f"git -C {scene.project} remote set-url origin {evil.root}; echo 1 > mine")
    scene.until_ended(scene.supervise("--until-idle"), 60)
    landing = landing_of(scene, task_id)
    assert landing.state == "asks", scene.screen()
    assert f"leads to {evil.root}, which you have not confirmed" in landing.why
    assert "fleet trust --remote" in landing.why
    assert evil.git("for-each-ref") == ""
    assert remote_has(scene, "mine") == ""


def test_a_remote_that_refuses_leaves_the_work_to_a_person(scene):
    """In the remote's own words; neither it nor the branch has moved, and the work is there."""
    hook(scene, "pre-receive", "echo 'main is frozen' >&2; exit 1")
    before = scene.repo.git("rev-parse", "main")
    task_id = add(scene, "echo mine > mine")
    scene.until_ended(scene.supervise("--until-idle"), 60)
    landing = landing_of(scene, task_id)
    assert landing.state == "asks", scene.screen()
    assert "main is frozen" in landing.why
    assert scene.repo.git("rev-parse", "main") == before
    assert scene.repo.git("show", f"fleet/{task_id}:mine") == "mine"


def test_a_remote_that_is_away_is_waited_for(scene):
    """Accepted work waits, and lands when the remote is there again."""
    away = scene.bare.root.with_name("away.git")
    scene.bare.root.rename(away)
    task_id = add(scene, "echo mine > mine")
    scene.supervise("--until-idle")
    assert scene.until(
        lambda: (
            (each := landing_of(scene, task_id))
            and each.state == "waiting"
            and "no answer" in each.why
        )
    )
    away.rename(scene.bare.root)
    scene.until_status(task_id, "closed", patience=60)
    assert remote_has(scene, "mine") == "mine"


def test_a_lander_killed_after_its_push_lands_nothing_twice(tmp_path):
    """The next one asks the remote, sees that it was done, and only writes it down."""
    scene = scene_with_remote(tmp_path, land_to="push", land_how="squash")
    try:
        trust(scene)
        task_id = add(scene, "echo mine > mine")
        supervisor = scene.supervise()
        # The remote has taken the commit; the supervisor dies before it hears of that.
        hook(scene, "post-receive", f"kill -9 {supervisor.pid}; rm -f hooks/post-receive")
        supervisor.wait(60)
        assert scene.status(task_id) == "blocked", scene.screen()
        assert remote_has(scene, "mine") == "mine"
        assert scene.supervise("--until-idle").wait(60) == 0, scene.screen()
        assert scene.status(task_id) == "closed", scene.screen()
        assert scene.bare.git("rev-list", "--count", "main") == "2"
        assert landing_of(scene, task_id).landed.commit == scene.bare.git("rev-parse", "main")
    finally:
        scene.close()
