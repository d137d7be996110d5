"""Two homes on one PostgreSQL queue: what a host verified and did not land before it was lost is
landed by the other one, once.
"""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from fleet import control
from fleet.control.view.read_now import NowReader
from fleet.errors import Refused
from fleet.home import landing_json
from fleet.queue.sql.hosts import host_table
from tests.conftest import only_slow
from tests.repos import Repo
from tests.story.test_travel import COMMITTED, create
from tests.story.test_travel import hosts as _hosts

hosts = _hosts


def verified_and_killed(alpha, host):
    """A task that a host verified and asks about, when its supervisor is killed."""
    alpha.configure(land_to="push", land="ask")
    task_id, _ = create(alpha)
    host.script(task_id, COMMITTED.format(name="made"))
    supervisor = host.supervise()
    asked(host, task_id)
    host.until(lambda: host.task(task_id).waits_to_land)
    host.kill(supervisor)
    return task_id


def asked(host, task_id):
    """Wait until a host asks about the work."""

    def asks():
        landing = landing_json.read(host.home, task_id)
        return landing is not None and landing.state == "asks" and not landing.host

    host.until(asks)


def push_by_hand(alpha, **files):
    """A commit of another person on the remote."""
    theirs = Repo(alpha.bare.root.with_name("theirs"))
    theirs.git("pull", "-q", str(alpha.bare.root), "main")
    theirs.commit("theirs", **files)
    theirs.git("push", "-q", str(alpha.bare.root), "main")


@pytest.mark.parametrize("lost_is_maker", [False, True])
def test_the_work_of_a_lost_host_is_landed_by_another_one_once(hosts, lost_is_maker):
    """The person approves it on the host that took it over. The lost one comes back and lets go."""
    alpha, beta = hosts
    lost, other = (alpha, beta) if lost_is_maker else (beta, alpha)
    task_id = verified_and_killed(alpha, lost)
    other.supervise()
    other.does("host", "lost", lost.me, "--yes")
    asked(other, task_id)

    lost.supervise()
    lost.until(lambda: landing_json.read(lost.home, task_id).host == other.me)
    lost.until(lambda: "waits for you to land it on main, by host " in lost.does("show", task_id))
    refused = lost.fleet("land", task_id)
    assert refused.returncode == Refused.exit_code
    assert f"another host lands the work of {task_id}" in refused.stderr
    other.does("land", task_id)
    other.until_status(task_id, "closed")
    assert "landed on main" in other.task(task_id).close_reason
    assert other.task(task_id).runs == 1
    assert alpha.bare.git("log", "--format=%s", "main", "--", "made") == "work"


@only_slow
def test_a_landing_comes_back_to_its_own_host_once_the_other_one_is_lost_too(hosts):
    """The host that had let go of it takes it over as any other one would."""
    alpha, beta = hosts
    task_id = verified_and_killed(alpha, alpha)
    beta.does("host", "lost", alpha.me, "--yes")
    second = beta.supervise()
    asked(beta, task_id)
    alpha.supervise()
    alpha.until(lambda: landing_json.read(alpha.home, task_id).host == beta.me)
    beta.kill(second)
    alpha.does("host", "lost", beta.me, "--yes")
    asked(alpha, task_id)
    alpha.does("land", task_id)
    alpha.until_status(task_id, "closed")
    assert alpha.bare.git("log", "--format=%s", "main", "--", "made") == "work"


def test_what_had_landed_when_its_host_was_lost_is_closed_and_lands_no_second_time(hosts):
    """The host was killed between its push and the word to the queue."""
    alpha, beta = hosts
    task_id = verified_and_killed(alpha, alpha)
    landed = alpha.bare.git("rev-parse", f"refs/fleet/{task_id}/1")
    alpha.bare.git("update-ref", "refs/heads/main", landed)
    beta.does("host", "lost", alpha.me, "--yes")
    beta.supervise()
    asked(beta, task_id)
    beta.does("land", task_id)
    beta.until_status(task_id, "closed")
    assert alpha.bare.git("rev-parse", "main") == landed


@only_slow
def test_what_no_host_can_take_over_is_told_with_the_way_out(hosts):
    """The other host may not fetch the repository; once it may, it has the work, and goes by what a
    person said of it.
    """
    alpha, beta = hosts
    task_id = verified_and_killed(alpha, alpha)
    alpha.does("land", "--hold", task_id)
    (beta.home.path / "remotes.json").unlink()
    supervisor = beta.supervise()
    beta.does("host", "lost", alpha.me, "--yes")
    beta.until(lambda: "is not confirmed" in beta.does("show", task_id))
    for said in (beta.does("show", task_id), beta.does("land")):
        words = " ".join(said.split())
        assert "was given up before it landed this" in words
        assert "fleet trust --remote" in words
        assert f"fleet retry {task_id}" in words
    with closing(control.opened(beta.env)) as fleet:
        (row,) = (
            NowReader(fleet).read(datetime.now(UTC)).rows
        )  # what page, fleet top and fleet mcp show
    assert (row.group, row.way_on.verb) == ("needs_you", "retry")
    assert "was given up before it landed this" in row.reason
    beta.kill(supervisor)
    beta.does("trust", "--remote", str(alpha.bare.root))
    beta.supervise()
    beta.until(lambda: (found := landing_json.read(beta.home, task_id)) and found.state == "held")
    assert "was given up" not in beta.does("show", task_id)
    beta.does("land", "--release", task_id)
    asked(beta, task_id)


@only_slow
def test_work_that_the_repository_does_not_have_is_not_taken_over(hosts):
    """A person deleted the ref that its host had pushed. The way out is the one that is told."""
    alpha, beta = hosts
    task_id = verified_and_killed(alpha, alpha)
    alpha.bare.git("update-ref", "-d", f"refs/fleet/{task_id}/1")
    beta.supervise()
    beta.does("host", "lost", alpha.me, "--yes")
    beta.until(lambda: "does not have the work of run 1" in beta.does("show", task_id))
    assert landing_json.read(beta.home, task_id) is None

    beta.script(task_id, COMMITTED.format(name="made"))
    beta.does("retry", task_id)
    asked(beta, task_id)
    alpha.supervise()
    alpha.until(lambda: landing_json.read(alpha.home, task_id).host == beta.me)
    beta.does("land", task_id)
    assert alpha.bare.git("log", "--format=%s", "main", "--", "made") == "work"


@only_slow
@pytest.mark.parametrize("maker_goes_on", [False, True])
def test_what_one_host_sent_back_is_mended_on_another_that_knows_why(hosts, maker_goes_on):
    """A lander on one host found the conflict, and the next run, on the other one, has the merge
    begun with the very commit that it conflicts with.
    """
    alpha, beta = hosts
    first, second = (beta, alpha) if maker_goes_on else (alpha, beta)
    alpha.configure(land_to="push", land="ask")
    task_id, _ = create(alpha)
    first.script(task_id, COMMITTED.format(name="README"))
    supervisor = first.supervise()
    asked(first, task_id)
    first.until(lambda: first.task(task_id).waits_to_land)
    push_by_hand(alpha, README="theirs\n")
    first.does("host", "drain", first.me)
    first.fleet("land", task_id, "--no-wait")
    first.until(lambda: first.status(task_id) == "open")
    first.kill(supervisor)

    second.script(task_id, "echo both > README; " + COMMITTED.format(name="made"))
    second.supervise()
    asked(second, task_id)
    prompt = (second.folder(task_id) / "runs" / "2" / "prompt.md").read_text()
    assert "In conflict: `README`" in prompt
    second.does("land", task_id)
    assert alpha.bare.git("show", "main:README") == "both"


@only_slow
def test_a_task_on_the_host_that_made_it_begins_with_what_another_host_landed(hosts):
    """The project of that host is behind the remote, where the work landed that it waited for."""
    alpha, beta = hosts
    alpha.configure(land_to="push", host_name="alpha")
    beta.configure(host_name="beta")
    task_id, _ = create(alpha)
    after, _ = create(alpha, "--host", "alpha", title="Use the file")
    alpha.does("bd", "dep", "add", after, task_id)
    beta.script(task_id, COMMITTED.format(name="made"))
    supervisor = beta.supervise()
    beta.until_status(task_id, "closed")
    beta.kill(supervisor)
    alpha.script(after, "cat made && " + COMMITTED.format(name="used"))
    alpha.supervise()
    alpha.until_status(after, "closed")
    assert alpha.bare.git("show", "main:used") == "new"


def test_work_that_waits_for_a_person_is_in_the_list_of_every_host(hosts):
    """With its reason and the host that lands it, and not as a task to be tried again."""
    alpha, beta = hosts
    alpha.configure(land_to="push", land="ask")
    beta.configure(host_name="beta")
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made"))
    beta.supervise()
    asked(beta, task_id)
    line = f"{task_id}: unchecked, waits for you to land it on main, by host beta: land = ask"
    alpha.until(lambda: line in " ".join(alpha.does("land").split()))
    assert "fleet retry" not in alpha.does("tasks", "--all")
    refused = alpha.fleet("land", task_id)
    assert refused.returncode == Refused.exit_code
    assert f"another host lands the work of {task_id}: beta" in refused.stderr
    beta.does("land", task_id)
    alpha.until_status(task_id, "closed")
    assert "Nothing waits to land." in alpha.does("land")


@only_slow
def test_a_living_host_that_is_called_lost_in_the_middle_of_a_train_goes_on_with_it(
    hosts, tmp_path
):
    """The host hears of it, says that it lives, and keeps the landing: one lander moves the branch,
    and no host lands the task again.
    """
    alpha, beta = hosts
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    check = f"if [ -e {hold} ]; then touch {begun}; while [ -e {hold} ]; do sleep 0.05; done; fi"
    alpha.configure(land_to="push", land="ask")
    task_id, _ = create(alpha, "--verify", check)
    beta.does("trust", task_id)
    beta.script(task_id, COMMITTED.format(name="made"))
    beta.supervise()
    asked(beta, task_id)
    beta.until(lambda: beta.task(task_id).waits_to_land)
    push_by_hand(alpha, other="theirs\n")  # what is folded has to be verified anew
    hold.touch()
    beta.does("land", task_id, "--no-wait")
    beta.until(begun.exists)
    alpha.supervise()
    alpha.until(lambda: "takes part" in alpha.screen())
    alpha.does("host", "lost", beta.me, "--yes")
    alpha.until(lambda: host_table.find_host(alpha.queue, beta.me).state == "up")
    hold.unlink()
    alpha.until_status(task_id, "closed")
    assert "landed on main" in alpha.task(task_id).close_reason
    moved = alpha.bare.git("log", "--format=%s", "main")
    assert alpha.bare.git("log", "--format=%s", "main", "--", "made") == "work"
    for host in hosts:
        host.until(lambda host=host: task_id not in landing_json.unlanded(host.home))
    assert alpha.bare.git("log", "--format=%s", "main") == moved
