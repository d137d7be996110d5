"""Two homes on one PostgreSQL queue and a forge: work that one host opened a pull request for goes
on in the same one, whatever host lands it or runs its task next.
"""

from contextlib import ExitStack

import pytest

from fleet.forge import pull_request_json
from fleet.home import landing_json
from tests.conftest import need, only_slow
from tests.forges.scripted_gitea import TOKEN, scripted_gitea
from tests.forges.state import ForgeState, People
from tests.repos import Repo
from tests.story.test_landing_pr import BUG
from tests.story.test_travel import HostScene, create


def opened(host, task_id, heads=1):
    """Wait until a host follows the pull request of a task, after so many pushes; its record."""

    def found():
        landing = landing_json.read(host.home, task_id)
        pr = pull_request_json.believed(host.home, task_id)
        waits = landing is not None and landing.state == "waiting" and not landing.host
        seen = pr is not None and pr.facts is not None and len(pr.heads) == heads
        return pr if waits and seen else None

    return host.until(found)


class TwoHosts:
    """A host with the project, one that knows its address, and the forge that is there."""

    def __init__(self, alpha, beta, forge):
        self.alpha, self.beta, self.forge = alpha, beta, forge
        self.people = People(forge)

    def pulls(self):
        return list(self.forge.read()["pulls"].values())


def hosts_on_forge(root, dsn, *, address, way, token):
    """A host with a project whose origin is on a forge, and one that knows its address. `way` is
    what the operator's git makes of the address.
    """
    need("git")
    own = root / "gitconfig"
    own.write_text(f'[url "{way}"]\n\tinsteadOf = {address}\n')
    project = Repo(root / "alpha-project")
    project.commit("first", README="read me\n")
    project.git("remote", "add", "origin", address)
    project.git("-c", f"include.path={own}", "push", "-q", "-u", "origin", "main")
    chosen = {"land": "ask", "land_to": "pr", "forge_token": "env:GITEA_TOKEN"}
    alpha = HostScene(root / "alpha", dsn, project.root, **chosen)
    beta = HostScene(root / "beta", dsn, **chosen)
    for host, place in ((alpha, str(project.root)), (beta, address)):
        host.env |= {"GIT_CONFIG_GLOBAL": str(own), "GITEA_TOKEN": token}
        host.does("trust", "--remote", place)
    return alpha, beta


@pytest.fixture
def hosts(tmp_path, postgres_dsn):
    forge = ForgeState(tmp_path)
    Repo(forge.bare, "--bare")
    with ExitStack() as stack:
        face = stack.enter_context(scripted_gitea(forge))
        address = f"{face.site}/team/app.git"
        alpha, beta = hosts_on_forge(
            tmp_path, postgres_dsn, address=address, way=forge.bare, token=TOKEN
        )
        stack.callback(alpha.close)
        stack.callback(beta.close)
        with forge.changing() as known:
            known["ci"] = BUG
        yield TwoHosts(alpha, beta, forge)


@pytest.mark.parametrize("lost_is_maker", [False, pytest.param(True, marks=only_slow)])
def test_the_pull_request_of_a_lost_host_is_merged_by_another_one(hosts, lost_is_maker):
    """It is the same pull request with the same head, though the agent committed nothing, so that
    the commit was made by the lost host; the person approves it on the host that took it over.
    """
    both = (hosts.alpha, hosts.beta)
    lost, other = both if lost_is_maker else reversed(both)
    task_id, _ = create(hosts.alpha)
    lost.script(task_id, "echo new > made")
    supervisor = lost.supervise()
    before = opened(lost, task_id)
    lost.kill(supervisor)
    other.supervise()
    other.does("host", "lost", lost.me, "--yes")
    after = opened(other, task_id)
    assert (after.number, after.heads) == (before.number, before.heads)

    other.does("land", task_id)
    other.until_status(task_id, "closed")
    (pull,) = hosts.pulls()
    assert (pull["state"], pull["head"]) == ("merged", before.head)
    lost.supervise()
    lost.until(lambda: "closed" in lost.does("show", task_id))
    assert hosts.forge.git("log", "--format=%s", "main", "--", "made") == "Add a file"
    assert other.task(task_id).runs == 1


@only_slow
def test_what_was_merged_when_its_host_was_lost_is_closed_and_not_opened_again(hosts):
    """The person merged it on the forge after the host had gone."""
    task_id, _ = create(hosts.alpha)
    hosts.beta.script(task_id, "echo new > made")
    supervisor = hosts.beta.supervise()
    opened(hosts.beta, task_id)
    hosts.beta.kill(supervisor)
    hosts.people.merge(1)
    hosts.alpha.supervise()
    hosts.alpha.does("host", "lost", hosts.beta.me, "--yes")
    hosts.alpha.until_status(task_id, "closed")
    assert len(hosts.pulls()) == 1
    assert landing_json.read(hosts.alpha.home, task_id).landed.proof == "ancestry"


@only_slow
def test_a_check_that_failed_on_one_host_is_mended_on_another_in_the_same_pull_request(hosts):
    """The first host is gone when its task is sent back: the second one knows what was pushed and
    what the check said, and has one round less.
    """
    with hosts.forge.changing() as known:
        del known["ci"]
    task_id, _ = create(hosts.alpha)
    hosts.beta.script(task_id, "echo new > made")
    supervisor = hosts.beta.supervise()
    first = opened(hosts.beta, task_id).head
    hosts.beta.does("host", "drain", hosts.beta.me)  # what is sent back is for the other host
    hosts.people.check(first, "build", "failed", "made is too new")
    hosts.beta.until(lambda: hosts.beta.status(task_id) == "open")
    hosts.beta.kill(supervisor)

    hosts.alpha.script(task_id, "echo newer > made")
    hosts.alpha.does("host", "lost", hosts.beta.me, "--yes")
    hosts.alpha.supervise()
    found = opened(hosts.alpha, task_id, heads=2)
    assert (found.heads[0], found.rounds) == (first, {"checks": 1})
    prompt = hosts.alpha.folder(task_id) / "runs" / "2" / "prompt.md"
    assert "made is too new" in prompt.read_text()
    hosts.people.check(found.head, "build", "passed")
    hosts.alpha.does("land", task_id)
    hosts.alpha.until_status(task_id, "closed")
    (pull,) = hosts.pulls()
    assert pull["state"] == "merged"
    assert hosts.forge.git("show", "main:made") == "newer"
