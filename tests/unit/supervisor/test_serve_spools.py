"""Serving the drop boxes: nothing waits for another run, nothing is done twice, nothing is lost."""

import select
import selectors
import time
from types import SimpleNamespace

import pytest

from fleet.config import Config
from fleet.home import messages
from fleet.home.journal import Log
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.queue.sql.tracker.related import comments_of
from fleet.runs import agent_claim
from fleet.runs.agent_claim import AgentClaim
from fleet.settlement.run_record import UnknownCoder
from fleet.supervisor.active.serve_spools import SpoolServer
from fleet.supervisor.assignments import ActiveRun
from tests.builders import NOW, a_run
from tests.unit.spool.conftest import request

PATIENCE = 30.0


class Desk:
    """A server, and the runs that it serves."""

    def __init__(self, home):
        self.home, self.said = home, []
        self.queue = open_embedded(home.path)
        self.selector = selectors.DefaultSelector()
        self.log = Log(home.logging, lambda: NOW, self.said.append)
        state = SimpleNamespace(home=home, config=Config(), log=self.log, now=lambda: NOW)
        self.server = SpoolServer(state, self.selector)

    def run(self, name, *, attend=True):
        task = self.queue.add(Draft(title=name, id=f"fleet-{name}"))
        run = a_run(self.home.task(task.id), id=f"me.{task.id}.1")
        run.spool.mkdir()
        if attend:
            self.attend(run)
        return run

    def attend(self, run, *, adopted=False):
        task = self.queue.get(run.task_dir.name)
        coder, spec = UnknownCoder("no line is read here"), run.spec()
        self.server.attend(ActiveRun(task, run, coder, env={}, spec=spec, adopted=adopted))

    def leave(self, run, nonce, *words):
        (run.spool / f"{nonce}.request").write_bytes(request(*words))

    def until(self, fact):
        """Turn the loop until something is so."""
        end = time.monotonic() + PATIENCE
        while not (found := fact()):
            assert time.monotonic() < end, self.said
            for key, _ in self.selector.select(0.05):
                key.data()
            self.server.look()
        return found

    def answer(self, run, nonce):
        path = run.spool / f"{nonce}.answer"
        return self.until(lambda: path.exists() and path.read_bytes())

    def last_claim(self, run):
        return self.until(lambda: self.server.last_claim(run, run.spec().id))


@pytest.fixture
def desk(home):
    desk = Desk(home)
    yield desk
    desk.server.keep(())
    desk.server.close()
    desk.selector.close()
    desk.queue.close()


def test_each_run_is_answered_in_its_own_box(desk):
    """By the box fleet knows which run asks."""
    first, second = desk.run("one"), desk.run("two")
    desk.leave(first, "x", "close", "fleet-one", "-r", "mine")
    desk.leave(second, "x", "close", "fleet-one", "-r", "not mine")
    assert b"Closed fleet-one" in desk.answer(first, "x")
    assert b"not the task of this run" in desk.answer(second, "x")
    assert desk.last_claim(first) == AgentClaim(done="mine", by="me.fleet-one.1")
    assert desk.last_claim(second) == AgentClaim()
    assert any("agent of fleet-two, run 1" in line for line in desk.said)


def test_what_was_left_is_seen_to_before_a_run_is_judged(desk):
    """In order, the writes and claims of it; what the agent only wanted to see is left."""
    run = desk.run("one")
    desk.leave(run, "a", "close", "fleet-one", "-r", "first")
    desk.leave(run, "b", "comment", "fleet-one", "by the way")
    desk.leave(run, "c", "list")
    time.sleep(0.01)
    desk.leave(run, "d", "close", "fleet-one", "-r", "second")
    assert desk.last_claim(run).done == "second"
    assert [c.text for c in comments_of(desk.queue, ["fleet-one"])["fleet-one"]] == ["by the way"]
    assert not (run.spool / "c.answer").exists()
    assert agent_claim.read(run.path, by="me.fleet-one.1").done == "second"


def test_a_file_in_the_place_of_the_record_does_not_outrank_memory(desk):
    """What the supervisor took out of the box is the claim."""
    run = desk.run("one")
    agent_claim.record(run.path, AgentClaim(done="forged", by="me.fleet-one.1"))
    assert desk.last_claim(run) == AgentClaim()


def test_a_request_that_a_dead_supervisor_had_begun_is_not_done_again(desk):
    """The agent learns that it may be done or not; a recorded claim is kept."""
    run = desk.run("one", attend=False)
    (run.spool / "x.taken").write_bytes(request("comment", "fleet-one", "hello"))
    agent_claim.record(run.path, AgentClaim(done="kept", by="me.fleet-one.1"))
    desk.attend(run, adopted=True)
    assert b"may be done or not" in desk.answer(run, "x")
    assert comments_of(desk.queue, ["fleet-one"]) == {}
    assert desk.last_claim(run).done == "kept"


def test_one_runs_flood_keeps_no_other_run_waiting(desk):
    """Each has so many requests under way at once; the rest waits in its own box."""
    noisy, quiet = desk.run("noisy"), desk.run("quiet")
    for number in range(150):
        desk.leave(noisy, f"n{number}", "show", "fleet-noisy")
    desk.leave(quiet, "x", "show", "fleet-quiet")
    desk.answer(quiet, "x")
    assert list(noisy.spool.glob("*.request"))
    desk.until(lambda: not list(noisy.spool.glob("*.request")))


def test_a_request_that_is_written_while_its_empty_file_is_read_is_answered(desk):
    """No event tells of the file again, so the box has to be looked at once more."""
    run = desk.run("one")
    (run.spool / "x.request").touch()
    desk.server.look()
    assert select.select([desk.server._readers], [], [], PATIENCE)[0]  # read, and not yet told
    desk.leave(run, "x", "close", "fleet-one", "-r", "mine")
    desk.server.look()
    assert b"Closed fleet-one" in desk.answer(run, "x")


def test_a_message_goes_through_the_box_once(desk):
    """It is put there, and noted as given once the hook has taken it."""
    run = desk.run("one")
    (run.path / "started").touch()
    messages.add(run.task_dir, "hello", by="ada", at=NOW)
    desk.server.post(run)
    desk.server.post(run)
    waiting = run.spool / "messages/000001.waiting"
    assert b"hello" in waiting.read_bytes()
    waiting.rename(waiting.with_suffix(".given"))
    desk.until(lambda: messages.read(run.task_dir)[0].run == 1)
    desk.server.post(run)
    assert not waiting.exists()
