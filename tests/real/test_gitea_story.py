"""`land_to = pr` with the real supervisor against the real Gitea: from the push to the merge."""

from datetime import timedelta

import pytest

from tests.conftest import only_slow
from tests.forges.real_gitea import GiteaPeople, real_gitea
from tests.story.test_landing_pr import look, pr_of, run
from tests.story.test_landing_push import add, landing_of, scene_with_remote, trust
from tests.story.test_left_pull_requests import hosts_on_forge, opened
from tests.story.test_travel import create

NAME = "story"
#: Adds a bug, mends it when a check failed, and says more when a reviewer asks for it.
SCRIPT = """
if [ -e bug ]; then rm bug
elif [ -e mine ]; then echo "mine, and more" > mine
else echo 1 > bug; echo mine > mine
fi
"""


@pytest.fixture
def server(tmp_path_factory):
    with real_gitea(tmp_path_factory.mktemp("gitea") / "server") as server:
        yield server


@pytest.fixture
def scene(server, tmp_path, monkeypatch):
    """A project whose origin is a repository on the server; the login is the operator's git's."""
    server.ask("fleet", "user", "repos", body={"name": NAME, "default_branch": "main"})
    writes = {"permission": "write"}
    server.change("fleet", "PUT", "repos", "fleet", NAME, "collaborators", "ann", body=writes)
    token = {"forge_token": "env:GITEA_TOKEN"}
    scene = scene_with_remote(tmp_path, land_to="pr", land="ask", **token)
    address = f"{server.site}/fleet/{NAME}.git"
    login = address.replace("http://", f"http://fleet:{server.tokens['fleet']}@")
    scene.repo.git("push", "-q", login, "main")
    scene.repo.git("remote", "set-url", "origin", address)
    own = tmp_path / "gitconfig"
    own.write_text(f'[url "{login}"]\n\tinsteadOf = {address}\n')
    scene.env |= {"GIT_CONFIG_GLOBAL": str(own), "GITEA_TOKEN": server.tokens["fleet"]}
    for name in ("GIT_CONFIG_GLOBAL", "GITEA_TOKEN"):
        monkeypatch.setenv(name, scene.env[name])
    trust(scene, address)
    scene.people = GiteaPeople(server, NAME)
    scene.pull = lambda: server.ask("ann", "repos", "fleet", NAME, "pulls", "1")
    yield scene
    scene.close()


@only_slow
def test_a_pull_request_goes_through_its_check_and_its_review_to_the_merge(scene):
    """A failed check and a remark each go back to the agent, its answers go to the same pull
    request, and the task is closed when a person has merged it there.
    """
    task_id = add(scene, SCRIPT, title="Add mine")
    run(scene)
    pull = scene.pull()
    assert (pull["title"], pull["head"]["ref"]) == ("Add mine", f"fleet/{task_id}")
    assert "**checked**" in pull["body"]

    scene.people.check(pull["head"]["sha"], "ci", "failed", "bug is there")
    look(scene)
    run(scene)
    assert "bug is there" in scene.runs(task_id)[1].path.joinpath("prompt.md").read_text()
    second = scene.pull()["head"]["sha"]
    assert second != pull["head"]["sha"]

    scene.people.check(second, "ci", "passed")
    scene.people.remark(1, "ann", "mine", 1, "Say more here")
    look(scene, timedelta(hours=2))
    run(scene)
    assert "Say more here" in scene.runs(task_id)[2].path.joinpath("prompt.md").read_text()
    third = scene.pull()["head"]["sha"]
    assert len(pr_of(scene, task_id).heads) == 3

    scene.people.check(third, "ci", "passed")
    look(scene, timedelta(hours=3))
    assert not scene.pull()["merged"], "with land = ask a person merges"
    scene.people.merge(1)
    look(scene, timedelta(hours=4))
    landing = landing_of(scene, task_id)
    assert (landing.state, scene.status(task_id)) == ("landed", "closed"), scene.screen()
    assert landing.landed.proof == "ancestry"
    assert scene.repo.git("show", "main:mine") == "mine, and more"


@only_slow
def test_the_pull_request_of_a_lost_host_is_merged_by_another_one(server, tmp_path, postgres_dsn):
    """It is the same pull request with the same head, and the branch of the task is gone then."""
    mine = ("repos", "fleet", NAME)
    server.ask("fleet", "user", "repos", body={"name": NAME, "default_branch": "main"})
    address, token = f"{server.site}/fleet/{NAME}.git", server.tokens["fleet"]
    way = address.replace("http://", f"http://fleet:{token}@")
    hosts = hosts_on_forge(tmp_path, postgres_dsn, address=address, way=way, token=token)
    alpha, beta = hosts
    try:
        task_id, _ = create(alpha)
        beta.script(task_id, "echo new > made")
        supervisor = beta.supervise()
        before = opened(beta, task_id)
        beta.kill(supervisor)
        GiteaPeople(server, NAME).check(before.head, "ci", "passed")
        alpha.supervise()
        alpha.does("host", "lost", beta.me, "--yes")
        after = opened(alpha, task_id)
        assert (after.number, after.heads) == (before.number, before.heads)
        alpha.does("land", task_id)
        alpha.until_status(task_id, "closed")
        pull = server.ask("fleet", *mine, "pulls", "1")
        assert (pull["merged"], pull["head"]["sha"]) == (True, before.head)
        alpha.until(lambda: len(server.ask("fleet", *mine, "branches")) == 1)
    finally:
        for host in hosts:
            host.close()
