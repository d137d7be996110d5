"""Two homes on one PostgreSQL queue: a task is made on one host, runs on the other, and both know
all of it.
"""

import json
import os
import re

import pytest

from fleet.home import Home, landing_json, make_home, owner_file
from fleet.queue.protocol import Filter
from fleet.queue.sql.postgres import open_postgres
from tests.builders import UNASKED, look_on
from tests.conftest import need, only_slow
from tests.repos import ENV, Repo
from tests.story.scene import ACTOR, Scene
from tests.story.test_ask_human import ask

COMMITTED = " && ".join(
    [
        *(f"export GIT_{who}_NAME=a GIT_{who}_EMAIL=a@b" for who in ("AUTHOR", "COMMITTER")),
        "echo new > {name}",
        "git add -A && git commit -qm work",
    ]
)


class HostScene(Scene):
    """One host: a home of its own on a queue that another host works on too."""

    def __init__(self, root, dsn, project=None, **settings):
        root.mkdir()
        self.home = Home(root / "home")
        #: None: the host has no directory of the project.
        self.project = project or root
        make_home(self.home)
        chosen = {"coder": "actor", "retry_wait_s": 1, "grace_s": 1, "queue": dsn}
        lands = {**UNASKED, "work_in": "clone", "land": "auto"}
        self.settings = {**chosen, **lands, "max_concurrent": 2, **settings}
        self.configure()
        self.coder("actor", ACTOR)
        self.queue = open_postgres(dsn)
        self.supervisors = []
        self._screen = None
        self.env = {**os.environ, **ENV, "FLEET_HOME": str(self.home.path)}
        self.env["PATH"] = os.environ["PATH"]
        self.me = owner_file.read_or_make(self.home)

    def script(self, task_id, text):
        """What the agent of a task does, if it runs on this host."""
        self.folder(task_id).mkdir(parents=True, exist_ok=True)
        (self.folder(task_id) / "script").write_text(text + "\n")

    def does(self, *words):
        done = self.fleet(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def hosts(tmp_path, postgres_dsn):
    """A host with the project, and one that only knows the address of its repository."""
    need("git")
    bare = Repo(tmp_path / "origin.git", "--bare")
    project = Repo(tmp_path / "alpha-project")
    project.commit("first", README="read me\n", src__a="1\n")
    project.git("remote", "add", "origin", str(bare.root))
    project.git("push", "-q", "-u", "origin", "main")
    alpha = HostScene(tmp_path / "alpha", postgres_dsn, project.root)
    beta = HostScene(tmp_path / "beta", postgres_dsn)
    alpha.repo, alpha.bare = project, bare
    alpha.does("trust", "--remote", str(project.root))
    beta.does("trust", "--remote", str(bare.root))
    yield alpha, beta
    for host in (alpha, beta):
        host.close()


def create(host, *flags, steps="tool script done end", title="Add a file"):
    """A task made with the command line, whose agent plays the script of the host it runs on."""
    said = host.does(
        "bd", "create", title, "--coder", "actor", "--model", steps, "--expect", "any", *flags
    )
    return next(word for word in said.split() if word.startswith("fleet-")).rstrip(":"), said


def test_a_task_runs_on_a_host_without_its_directory_and_lands_where_it_was_made(hosts):
    """Host beta has neither the directory nor the project's settings: it gets the code from the
    repository, its work goes there, and the branch of the person who made the task moves.
    """
    alpha, beta = hosts
    task_id, said = create(alpha)
    assert "this host only" not in said
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.supervise("--until-idle")
    task = beta.until(lambda: (t := beta.task(task_id)).waits_to_land and t)
    assert task.fence == 1
    assert landing_json.read(beta.home, task_id).host == alpha.me
    pushed = alpha.bare.git("rev-parse", f"refs/fleet/{task_id}/1")
    assert alpha.bare.git("show", f"{pushed}:made-on-beta") == "new"

    alpha.supervise("--until-idle")
    alpha.until_status(task_id, "closed")
    assert alpha.repo.git("show", "main:made-on-beta") == "new"
    assert "landed on main" in alpha.task(task_id).close_reason
    beta.until(lambda: "Nothing waits to land." in beta.does("land"))


def test_what_a_run_left_is_shown_on_a_host_that_did_not_run_it(hosts):
    """Receipt, diff, events and log of a run are in the queue when its task is settled: the host
    that ran it may be switched off.
    """
    alpha, beta = hosts
    task_id, _ = create(alpha, steps="tool script artifact:planned done end")
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.until_ended(beta.supervise("--until-idle"))
    assert alpha.task(task_id).waits_to_land
    beta.home.path.rename(beta.home.path.with_name("gone"))

    assert not (alpha.folder(task_id) / "runs").exists()
    receipt = alpha.does("task", task_id, "receipt", "--json")
    assert '"made-on-beta"' in receipt
    assert "+new" in alpha.does("task", task_id, "diff")
    assert "fleet_ended" in alpha.does("task", task_id, "events")
    assert "run_started" in alpha.does("task", task_id, "log")
    assert alpha.does("task", task_id, "plan") == "planned\n"
    assert "1 run" in alpha.does("show", task_id)
    beta.home.path.with_name("gone").rename(beta.home.path)


def test_a_question_asked_on_one_host_is_answered_on_another(hosts):
    """Answer, messages and the work of the first run are there for the second, wherever it is."""
    alpha, beta = hosts
    steps = "tool script artifact:first ask:which? end | copy:prompt tool script done end"
    task_id, _ = create(alpha, steps=steps)
    beta.script(task_id, COMMITTED.format(name="one"))
    beta.until_ended(beta.supervise("--until-idle"))
    assert beta.status(task_id) == "blocked"

    assert "which?" in alpha.does("questions")
    alpha.does("answer", task_id, "Use the old one")
    alpha.does("tell", task_id, "And be quick")
    alpha.does("tell", task_id, "now")
    alpha.script(task_id, COMMITTED.format(name="two"))
    alpha.supervise("--until-idle")
    alpha.until_status(task_id, "closed")
    prompt = (alpha.folder(task_id) / "runs" / "2" / "prompt").read_text()
    assert "Use the old one" in prompt
    assert "And be quick" in prompt
    assert re.search(r": now$", prompt, re.MULTILINE)
    assert alpha.repo.git("show", "main:one") == alpha.repo.git("show", "main:two") == "new"


@pytest.mark.parametrize("second", [0, 1], ids=["the same host", "another host"])
def test_an_answer_written_by_hand_reaches_the_next_run(hosts, second):
    """`## A:` in Q&A.md and `update --status open`: the queue has the file with the question alone,
    and that copy does not replace the answer.
    """
    alpha, there = hosts[0], hosts[second]
    task_id, _ = create(
        alpha, steps="tool script ask:which? end | copy:prompt tool script done end"
    )
    asks = """printf '## Q: which?\\n' >> "$FLEET_ARTIFACT_DIR/Q&A.md" """
    alpha.script(task_id, f"{COMMITTED.format(name='one')} && {asks}")
    alpha.until_ended(alpha.supervise("--until-idle"))
    assert alpha.status(task_id) == "blocked"

    with (alpha.folder(task_id) / "artifacts/Q&A.md").open("a") as file:
        file.write("\n## A: 2026-11-18 20:50\n\nUse the old one\n")
    alpha.does("show", task_id)
    alpha.does("bd", "update", task_id, "--status", "open", "--assignee", "")
    there.script(task_id, COMMITTED.format(name="two"))
    there.supervise("--until-idle")
    there.until((there.folder(task_id) / "runs/2/prompt").exists)
    assert "Use the old one" in (there.folder(task_id) / "runs/2/prompt").read_text()
    assert "Use the old one" in (there.folder(task_id) / "artifacts/Q&A.md").read_text()


def test_an_address_that_the_operator_did_not_confirm_is_not_fetched(hosts):
    """The address comes from the queue: a host declines the task with the way out, and takes it
    once its operator has confirmed the address.
    """
    alpha, beta = hosts
    (beta.home.path / "remotes.json").unlink()
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.until_ended(beta.supervise("--until-idle"))
    assert beta.status(task_id) == "open"
    assert not list(beta.home.path.glob("mirrors/*/.git/objects/pack/*"))
    beta.does("trust", "--remote", str(alpha.bare.root))
    beta.supervise("--until-idle")
    beta.until(lambda: beta.task(task_id).waits_to_land)


def test_what_is_not_committed_travels_only_if_that_is_wanted(hosts):
    """The person is told, and `--with-changes` lets the task begin from the files as they are."""
    alpha, beta = hosts
    alpha.repo.put("draft", "not committed\n")
    _, said = create(alpha, "--defer", "tomorrow")
    assert "1 file is not committed" in said
    task_id, said = create(alpha, "--with-changes")
    assert "not committed" not in said
    beta.script(task_id, "cat draft > copy && " + COMMITTED.format(name="more"))
    beta.until_ended(beta.supervise("--until-idle"))
    assert alpha.bare.git("show", f"refs/fleet/{task_id}/1:copy") == "not committed"


@only_slow
@pytest.mark.parametrize("ran_on", ["alpha", "beta"])
def test_changes_are_there_on_every_host_wherever_the_branch_stands(hosts, ran_on):
    """Also where work is pushed, and on the host with the directory."""
    alpha, beta = hosts
    alpha.does("config", "set", "land_to=push")
    alpha.repo.put("draft", "not committed\n")
    task_id, _ = create(alpha, "--with-changes")
    host = {"alpha": alpha, "beta": beta}[ran_on]
    host.script(task_id, "cat draft > copy && " + COMMITTED.format(name="more"))
    host.supervise("--until-idle")
    host.until_status(task_id, "closed")
    assert alpha.bare.git("show", "main:copy") == "not committed"


def test_with_push_the_host_that_ran_it_lands_it(hosts):
    """The branch is on the remote, so no other host is needed for it. What that host says of it
    afterwards every host says: how far the work is, what was logged, and where the run was.
    """
    alpha, beta = hosts
    alpha.configure(land_to="push")
    beta.configure(host_name="beta")
    task_id, _ = create(alpha)
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.until_ended(beta.supervise("--until-idle"))
    beta.until_status(task_id, "closed")
    assert alpha.bare.git("show", "main:made-on-beta") == "new"

    shown = alpha.does("show", task_id)
    assert "landed on main as" in shown
    assert "by host beta" in shown
    assert "1 on host beta: " in shown
    assert "landed on main as" in alpha.does("tasks", "--all")
    receipt = json.loads(alpha.does("task", task_id, "receipt", "--json"))
    assert (receipt["host"], receipt["landing"]["state"]) == ("beta", "landed")
    here, there = (host.does("task", task_id, "log") for host in (alpha, beta))
    assert "; closed" in here
    assert there.startswith(here), "only the host itself tidies up"
    assert alpha.does("task", task_id, "log") == here, "each line once"


@only_slow
def test_a_person_watches_a_run_of_another_host(hosts):
    """Lines come while the command runs, and its end is the end of the run."""
    alpha, beta = hosts
    task_id, _ = create(alpha, steps="tool slowly:600 script done end")
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.supervise("--until-idle")
    beta.until(lambda: beta.task(task_id).lease_owner == beta.me and beta.run(task_id))
    said = alpha.does("task", task_id, "events", "--follow")
    assert '"599"' in said
    assert said.count('"text":"300"') == 1
    assert "fleet_ended" in said


@only_slow
def test_every_host_sees_what_another_does_and_used(hosts):
    """By the host's name, with the figures of the living run, and afterwards with its cost."""
    alpha, beta = hosts
    beta.configure(host_name="beta")
    task_id, _ = create(alpha, steps="tool count:3 await:go script done end")
    beta.script(task_id, COMMITTED.format(name="made-on-beta"))
    beta.supervise("--until-idle")

    def told():
        (row,) = json.loads(alpha.does("tasks", "--json")) or [{}]
        return row if row.get("events", 0) >= 4 else None

    row = alpha.until(told)
    assert (row["doing"], row["host"], row["run"]) == ("elsewhere", "beta", 1)
    assert "on host beta" in alpha.does("tasks")
    commit = alpha.repo.git("rev-parse", "main")[:12]
    assert f"{alpha.bare.root}@{commit}" in alpha.does("show", task_id)
    (beta.folder(task_id) / "go").touch()
    beta.until(lambda: beta.task(task_id).waits_to_land)
    assert not (alpha.folder(task_id) / "runs").exists()
    (spent,) = json.loads(alpha.does("usage", "--by", "task", "--json"))["rows"]
    assert (spent["name"], spent["runs"]) == (task_id, 1)
    bound = create(alpha, "--work-in", "directory", "--defer", "tomorrow")[0]
    assert "bound to this host" in alpha.does("show", bound)


def test_an_agent_that_waits_on_another_host_has_its_answer_at_once(hosts):
    """`fleet questions` and `fleet answer` do not ask where the agent is."""
    alpha, beta = hosts
    look_on(beta.home.path)
    task_id, _ = create(alpha, steps="tool script done end")
    beta.script(task_id, f"{ask(beta)} && {COMMITTED.format(name='made-on-beta')}")
    beta.supervise("--until-idle")
    alpha.until(lambda: "Which?" in alpha.does("questions"))
    assert beta.status(task_id) == "in_progress"
    alpha.does("answer", task_id, "2")
    beta.until(lambda: beta.task(task_id).waits_to_land)
    got = (beta.folder(task_id) / "artifacts/got").read_text()
    assert json.loads(got)["result"]["content"][0]["text"] == "b"
    assert beta.task(task_id).runs == 1
    assert "b" in (beta.folder(task_id) / "artifacts/Q&A.md").read_text()


def test_settings_that_were_changed_on_another_host_count_everywhere(hosts):
    """The host that made the task has an older task.json; a later edit of that file counts."""
    alpha, beta = hosts
    task_id, _ = create(alpha, "--defer", "tomorrow")
    beta.does("bd", "update", task_id, "--coder", "actor", "--model", "changed-on-beta")
    assert "changed-on-beta" in alpha.does("show", task_id)
    alpha.does("bd", "update", task_id, "--coder", "actor", "--model", "changed-on-alpha")
    for host in (alpha, beta):
        assert "changed-on-alpha" in host.does("show", task_id)
    edited = alpha.folder(task_id) / "task.json"
    edited.write_text(edited.read_text().replace("changed-on-alpha", "by-hand"))
    assert "by-hand" in alpha.does("show", task_id)


@only_slow
def test_tasks_of_a_plan_know_where_their_code_is(hosts):
    """As those of `fleet bd create`; applying the same plan again changes nothing."""
    alpha, _ = hosts
    alpha.repo.put("TODO.md", "- [ ] One thing\n- [ ] Another thing\n")
    alpha.does("plan", "apply", "TODO.md", "--yes")
    made = [task for task in alpha.queue.find(Filter()) if "thing" in task.title]
    for task in made:
        own = task.metadata["fleet"]
        assert (own["made_on"], own["repository"]["url"]) == (alpha.me, str(alpha.bare.root))
    assert len(made) == 2
    alpha.repo.commit("later", more="1\n")
    alpha.does("plan", "apply", "TODO.md", "--yes")
    again = [task for task in alpha.queue.find(Filter()) if "thing" in task.title]
    assert [task.metadata for task in again] == [task.metadata for task in made]
