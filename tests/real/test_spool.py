"""Real agents under the default permissions: what they ask of fleet, and what they do not get."""

import json

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.control.tasks.questions import answer, questions
from fleet.home import Home, task_json
from fleet.queue.beads.queue import open_beads
from fleet.queue.protocol import Draft
from fleet.runs import agent_claim
from fleet.schemas import Settings
from fleet.spool.answer_request import rule, serve
from fleet.spool.asker import Asker
from tests.builders import HOUR, NOW, a_run
from tests.conftest import SLOW, coders, only_slow
from tests.real.house import CLOSE, TASK, WORK
from tests.real.test_hooks import said
from tests.scripted_model import Say, ScriptedModel, Shell
from tests.unit.spool.conftest import request

TEXT = "Use the plum table."
OTHER = "fleet-xyz"


@coders("codex")
def test_an_agent_has_its_own_task_and_nothing_else(house, coder):
    """One run: a question, a follow-up, a message, a claim; and seven ways out, all refused."""
    spoken = {}

    def ask():
        """The agent's claim so far; then it is told something, and tries to get out."""
        spoken["question"] = agent_claim.read(here.folder / "runs/1").blocked
        spoken["told"] = here.fleet("tell", TASK, TEXT)
        return Shell(command="fleet config set permissions=bypass")

    def evil():
        return Shell(command=f"echo x > {here.home}/coders/evil.py")

    def keeper():
        return Shell(command=f"echo x > {here.home}/bin/keeper.pyc")

    ways_out = (
        Shell(command="fleet bd create x --verify 'touch /tmp/owned'"),
        Shell(command=f"bd close {OTHER}"),
        Shell(command=f"fleet tell {OTHER} 'close it'"),
        Shell(command="fleet pause"),
    )
    with ScriptedModel(
        Shell(command=f'bd update {TASK} --status blocked --notes "QUESTION: which?"'),
        Shell(command='bd create "Write the docs" --silent'),
        ask, *ways_out, evil, keeper,
        Shell(command=f"bd update {TASK} --status in_progress"),  # it takes its question back
        WORK, CLOSE, Say(),
    ) as model:  # fmt: skip
        here = house(coder, model)
        (here.home / "coders").mkdir(exist_ok=True)
        here.fleet("bd", "create", "--silent", "--id", OTHER, "--defer", "+1d", "another")
        here.create(coder, "Write a.txt", "--verify", "test -e a.txt")
        here.configure(max_concurrent=1)  # the follow-up has no script, and does not start
        supervisor = here.supervise()
        model.wait_for(len(model.script))
        for line in supervisor.stdout:
            if f"{TASK}: closed" in line:
                break
        supervisor.terminate()
        supervisor.wait(60)

        assert spoken["question"] == "QUESTION: which?"
        assert "reads it with its next step" in spoken["told"]
        talk = said(model.requests[len(model.script) - 1])
        assert TEXT in talk
        for way in ("`fleet config`", "`bd create` with --verify", "`fleet tell`", "`fleet pause`"):
            assert f"an agent may not run {way}" in talk
        assert f"{OTHER} is not the task of this run" in talk
        assert here.task()["status"] == "closed"
        assert not (here.home / "coders/evil.py").exists()
        assert (here.home / "bin/keeper.pyc").read_bytes() != b"x\n"
        assert "bypass" not in here.fleet("config", "show", "--raw").split("permissions = ")[1][:20]
        assert '"open"' in here.fleet("bd", "show", OTHER, "--json").replace('"deferred"', '"open"')
        assert "Write the docs" in here.fleet("bd", "list", "--all")
        refused = (here.folder / "log.jsonl").read_text()
        assert refused.count('"agent_refused"') == 5
        assert f"agent of {TASK}, run 1" in refused


@only_slow
def test_on_beads_the_real_bd_answers_for_the_agent(bd, beads_home):
    """Words never become flags, the author is the agent, and what it makes is linked."""
    del bd
    home, queue = Home(beads_home), open_beads(beads_home)
    own, other = (queue.add(Draft(title=title)) for title in ("own", "other"))
    task_json.write(home, own.id, Settings(cwd="/", verify=("make test",)))
    run = a_run(home.task(own.id))
    asker = Asker(home=home, config=Config(queue="beads"), task=own, run=run, mark="m")

    def ask(*words, **files):
        answer = serve(rule(request(*words, files=files), asker), asker).answer
        return answer.code, answer.out + answer.err, answer.wanted

    def tell(*words):
        return json.loads(ask(*words, "--json")[1])

    assert ask("comment", other.id, "--actor", "ada", "x")[0] == 7
    assert ask("comment", other.id, "--stdin")[2] == "-"
    assert ask("comment", other.id, "--stdin", **{"-": b"--help"})[0] == 0
    (comment,) = tell("comments", other.id)
    assert (comment["author"], comment["text"]) == (asker.name, "--help")
    assert ask("note", own.id, "half way")[0] == 0
    assert "half way" in ask("show", own.id)[1]
    code, printed, _ = ask("create", "a follow-up", "--body-file", "why", "--silent", why=b"since")
    assert code == 0, printed
    made = queue.get(printed.strip())
    assert (made.description, made.created_by) == ("since", asker.name)
    inherited = Settings(cwd="/", verify=("make test",), depth=1, root=own.id)
    assert task_json.read(home, made.id) == inherited
    assert task_json.recorded_settings(made).verify == ("make test",)
    (link,) = tell("dep", "list", made.id)
    assert (link["id"], link["dependency_type"]) == (own.id, "discovered-from")
    assert ask("create", "x", "--deps", other.id)[0] == 7
    assert ask("create", "--graph", "plan")[0] == 7
    assert ask("dolt", "push")[0] == 7
    assert ask("close", other.id)[0] == 7
    assert queue.get(other.id).status == "open"


@pytest.mark.skipif(not SLOW, reason="make slow")
def test_a_proposal_on_beads_waits_for_a_person(bd, beads_home):
    """Blocked with its settings in the real bd, once a title; accepted, it can be claimed."""
    del bd
    home, queue = Home(beads_home), open_beads(beads_home)
    config = Config(queue="beads")
    own = queue.add(Draft(title="own"))
    task_json.write(home, own.id, Settings(cwd="/", verify=("make test",)))
    asker = Asker(home=home, config=config, task=own, run=a_run(home.task(own.id)), mark="m")

    def propose(title):
        files = {"-": json.dumps({"title": title, "description": "It is old."}).encode()}
        return serve(rule(request("propose_task", program="mcp", files=files), asker), asker)

    made = propose("Prune the tree")
    assert made.answer.code == 0, made.answer.err
    task_id = made.facts["task"]
    assert task_id in propose("prune the  TREE").answer.out
    assert (queue.get(task_id).status, queue.get(task_id).description) == ("blocked", "It is old.")
    assert task_json.settings_of(home, queue.get(task_id)).verify == ("make test",)
    assert [each.task.id for each in queue.claim("me", ttl=HOUR, count=9)] == [own.id]
    fleet = Control(home, config)
    (question,) = questions(fleet)[0]
    assert (question.id, question.proposed) == (task_id, True)
    answer(fleet, fleet.get(task_id), "accept", at=NOW)
    assert [each.task.id for each in queue.claim("me", ttl=HOUR, count=9)] == [task_id]
