"""Looking after living runs, with a clock that goes where it is put."""

import json
from datetime import timedelta

import pytest

from fleet.extend import Tick
from fleet.home.journal import Log
from fleet.processes import process_usage
from fleet.runs import agent_claim
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import ProcessId, RunSpec, new_run
from fleet.schemas import (
    Event,
    LimitExceeded,
    Limits,
    NeedsHuman,
    Policy,
    RateLimit,
    RateLimited,
    Stalled,
    ToolCall,
    Usage,
)
from fleet.supervisor.active.observe_runs import Observers
from fleet.supervisor.active.watch_runs import Watchdog
from fleet.supervisor.assignments import Active, ActiveRun, Assignments
from fleet.watchdog.liveness_sample import Sample
from fleet.watchdog.stall_rules import Patience
from tests.builders import NOW, a_lease
from tests.unit.supervisor.conftest import ScriptedCoder

LEASE = a_lease()
LIMITS = Limits(start=100, idle=100, turns=10)


class AtOnce:
    """Does at once what is done beside the loop."""

    def submit(self, what, then):
        then(what())


class Scene:
    def __init__(self, folder, monkeypatch, **policy):
        self.now = self.awake = 1000.0
        self.moving = 0.0
        coder = ScriptedCoder()
        rules = Policy(limits=policy.pop("limits", LIMITS), **policy)
        spec = RunSpec(argv=("true",), cwd=str(folder), policy=rules)
        run = new_run(folder / "fleet-1", spec)
        self.run = ActiveRun(LEASE.task, run, coder, env={}, spec=spec)
        gone = ProcessId(pid=2**22 + 1, start_ticks=0, boot_id="")
        self.run.keeper = type("FakeKeeper", (), {"who": gone})()
        self.assignments = Assignments()
        self.assignment = self.assignments.take(LEASE)
        self.assignment.stage = Active(self.run)
        self.said = []
        log = Log(folder / "logging", lambda: self.utc, self.said.append)
        self.dog = Watchdog(
            self.assignments, AtOnce(), log, lambda: self.utc,
            patience=Patience(window=10.0), sample=self.sample,
        )  # fmt: skip
        self.observers = Observers([self.dog])
        monkeypatch.setattr(process_usage, "process_trees", lambda roots: {})

    @property
    def utc(self):
        return NOW + timedelta(seconds=self.now - 1000)

    def sample(self, subject):
        return Sample(at=self.now, cpu=self.now * self.moving)

    def hear(self, *events):
        coder, path = self.run.coder, self.run.run.stdout
        with path.open("a") as file:
            for event in events:
                coder.events.append(event)
                file.write(f"{len(coder.events) - 1}\n")
        self.run.stream.read(self.utc)

    def wait(self, seconds, *, asleep=0.0):
        """Tick by tick, as the loop does; asleep, only the one clock goes."""
        self.awake += asleep
        for _ in range(int(seconds)):
            self.now, self.awake = self.now + 1, self.awake + 1
            tick = Tick(self.now, self.awake)
            self.observers.begin_tick(tick)
            self.observers.tick(self.assignment, self.run, tick)
        return getattr(self.assignment.stage, "stop_reason", None)

    def notes(self):
        path = self.run.run.task_dir / "events.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [line["kind"] for line in lines if line["kind"].startswith("fleet_")]


@pytest.fixture
def scene(tmp_path, monkeypatch):
    made = Scene(tmp_path, monkeypatch)
    made.hear(Event(kind="session_started", session_id="s"))
    return made


def test_a_silent_run_is_suspected_looked_at_and_ended(scene):
    """Idle limit, one window, one tick or two."""
    assert scene.wait(99) is None
    assert scene.run.memory.stall.rung == "fine"
    assert scene.wait(5) is None
    assert scene.run.memory.stall.rung == "suspect"
    assert isinstance(scene.wait(12), Stalled)
    assert scene.notes() == ["fleet_suspect", "fleet_stalled"]


def test_a_run_that_moves_is_looked_at_again_and_again_and_lives(scene):
    """For as long as it moves; and then no longer."""
    scene.moving = 0.5
    assert scene.wait(3000) is None
    assert "CPU" in scene.run.memory.stall.why
    scene.moving = 0.0
    assert isinstance(scene.wait(30), Stalled)


def test_a_parked_agent_that_goes_on_is_ended_with_its_question(scene):
    """Two minutes after it was told to end its turn, however much it prints."""
    run = scene.run.run
    asked, _ = asked_json.ask(run.task_dir, "Which?", run=run.number, at=NOW)
    asked_json.park(run.task_dir, asked.id, at=NOW)
    agent_claim.record(run.path, AgentClaim(done="decided", by=scene.run.spec.id))
    scene.run.memory.parked_at = scene.now
    for _ in range(119):
        scene.hear(Event(kind="assistant_text", text="hm"))  # always the same
        assert scene.wait(1) is None
    assert scene.wait(2) == NeedsHuman(question="Which?")


def test_a_parked_agent_that_asks_something_else_is_left_alone(scene):
    """It waits for the answer to that."""
    run = scene.run.run
    asked, _ = asked_json.ask(run.task_dir, "Which?", run=run.number, at=NOW)
    asked_json.park(run.task_dir, asked.id, at=NOW)
    asked_json.ask(run.task_dir, "And how?", run=run.number, at=NOW)
    scene.run.memory.parked_at = scene.now
    for number in range(130):
        scene.hear(Event(kind="assistant_text", text=f"hm {number}"))
        assert scene.wait(1) is None


def test_a_run_that_prints_and_tells_nothing_new_is_told_and_ended(scene):
    """A status a second is a sign of life and no progress; it is looked at while it prints."""
    for _ in range(102):
        scene.hear(Event(kind="other"))
        assert scene.wait(1) is None
    assert scene.run.memory.stall.rung == "repeating"
    ended = None
    for _ in range(15):
        scene.hear(Event(kind="other"))
        ended = ended or scene.wait(1)
    assert (ended.rung, ended.silent_seconds >= 100) == ("repeating", True)
    assert scene.notes() == ["fleet_repeating", "fleet_stalled"]


def test_news_in_between_makes_all_well(scene):
    """However much it repeats before and after."""
    for number in range(6):
        for _ in range(90):
            scene.hear(Event(kind="other"))
            assert scene.wait(1) is None
        scene.hear(Event(kind="assistant_text", text=f"step {number}"))
        assert scene.wait(1) is None
        assert scene.run.memory.stall.rung == "fine"


def test_what_stderr_says_last_is_part_of_the_reason(scene):
    """The address of a login tells more than that it waited for its model."""
    scene.run.run.stderr.write_text("warning\nPlease visit https://login.example/oauth?x=1\n\n")
    ended = scene.wait(120)
    assert ended.rung == "silent"
    assert ended.detail.endswith("stderr ends with: Please visit https://login.example/oauth?x=1")


def test_one_word_makes_all_well(scene):
    """The look is forgotten with it."""
    scene.wait(105)
    scene.hear(Event(kind="assistant_text", text="hm"))
    assert scene.wait(99) is None
    assert scene.run.memory.stall.rung == "fine"


def test_a_machine_that_slept_gives_everybody_his_time_anew(scene):
    """An agent prints nothing while its machine sleeps; a nap of seconds is no sleep."""
    scene.wait(95)
    scene.wait(1, asleep=3600)
    assert scene.wait(99) is None
    assert scene.run.memory.stall.rung == "fine"
    assert any("slept" in text for text in scene.said)
    scene.wait(1, asleep=5)
    assert scene.wait(20) is not None


def test_a_watcher_that_was_away_blames_nobody(scene):
    """Stopped, or busy: what it did not see, it does not count."""
    scene.wait(95)
    scene.now += 500
    scene.awake += 500
    assert scene.wait(100) is None
    assert scene.wait(20) is not None


def test_a_limit_of_the_vendor_is_waited_for(scene):
    """With its end for people to see, and the silence counts only from there."""
    limit = RateLimit(kind="throttle", status="warning", retry_after=300.0)
    scene.hear(Event(kind="retry", limits=(limit,), ts=scene.utc))
    assert scene.wait(299) is None
    assert scene.run.memory.stall.rung == "waiting_limit"
    assert scene.run.memory.waits_until == NOW + timedelta(seconds=300)
    assert scene.wait(95) is None
    assert isinstance(scene.wait(25), Stalled)


def test_nobody_keeps_a_slot_for_a_limit_of_hours(scene):
    """It costs no attempt, and its coder rests."""
    resets = NOW + timedelta(hours=3)
    limit = RateLimit(kind="five_hour", status="rejected", resets_at=resets)
    scene.hear(Event(kind="rate_limit", limits=(limit,), reason="rate_limit"))
    assert scene.wait(1) == RateLimited(limit=limit)


def test_what_is_missing_is_told_once_and_ends_only_who_needs_it(scene, tmp_path, monkeypatch):
    """The same first line, with a need and without."""
    first = Event(kind="session_started", offers=("tool:Bash",), missing=("mcp:db",))
    scene.hear(first, Event(kind="assistant_text", text="on I go"))
    assert scene.wait(2) is None
    assert scene.notes() == ["fleet_degraded"]
    needy = Scene(tmp_path / "needy", monkeypatch, needs=("mcp:db", "tool:Bash"))
    needy.hear(first)
    needy.observers.events(needy.assignment, needy.run, ())
    assert needy.assignment.stage.stop_reason == Stalled(rung="degraded", detail="it has no mcp:db")
    content = Scene(tmp_path / "content", monkeypatch, needs=("tool:Bash",))
    content.hear(first)
    content.observers.events(content.assignment, content.run, ())
    assert content.wait(2) is None


def test_turns_are_warned_of_and_then_ended(scene):
    """Eight of ten, and ten of ten."""
    for number in range(8):
        scene.hear(Event(kind="assistant_text", message_id=str(number)))
        scene.wait(1)
    assert scene.run.memory.near_limits == ("turns 80 %",)
    scene.hear(Event(kind="assistant_text", message_id="8"), Event(kind="x", message_id="9"))
    ended = scene.wait(1)
    assert isinstance(ended, LimitExceeded)
    assert scene.notes() == ["fleet_limit_near", "fleet_limit"]


def test_a_question_waits_a_minute_for_an_answer(scene):
    """And no longer."""
    call = ToolCall(id="1", name="AskUserQuestion")
    scene.hear(Event(kind="tool_use", calls=(call,)))
    assert scene.wait(58) is None
    assert scene.wait(5).rung == "needs_input"


def test_a_coder_that_prints_nothing_of_interest_has_begun_all_the_same(tmp_path, monkeypatch):
    """Lines without an event are words too; only what cannot be read is none."""
    quiet = Scene(tmp_path, monkeypatch, limits=Limits(start=10, idle=1000))
    quiet.run.coder.events = [None]
    quiet.run.run.stdout.write_text("0\n")
    quiet.run.stream.read(NOW)
    assert quiet.wait(200) is None
    garbled = Scene(tmp_path / "garbled", monkeypatch, limits=Limits(start=10, idle=1000))
    garbled.hear(Event(kind="bad"))
    assert garbled.wait(30).rung == "never_started"


def test_a_cost_that_only_tokens_tell_counts_while_the_run_lives(tmp_path, monkeypatch):
    """A CLI that tells its cost at its end is ended by the estimate, and before by a warning."""
    scene = Scene(tmp_path, monkeypatch, limits=Limits(cost=3.0))
    scene.hear(Event(kind="session_started", session_id="s", model="claude-sonnet-4-5"))
    scene.hear(Event(kind="usage", tokens=Usage(input=900_000)))
    assert scene.wait(1) is None
    assert scene.run.memory.near_limits == ("cost 90 %",)
    scene.hear(Event(kind="usage", tokens=Usage(cache_read=1_000_000)))
    ended = scene.wait(1)
    assert (ended.limit, ended.detail) == ("cost", "it cost $3.00; its limit is $3")
    assert (scene.run.totals.tokens.cost_usd, scene.run.estimated_usd) == (None, 3.0)


def test_the_clis_own_figure_goes_before_the_estimate(tmp_path, monkeypatch):
    """It knows its discounts."""
    scene = Scene(tmp_path, monkeypatch, limits=Limits(cost=3.0))
    scene.hear(Event(kind="usage", model="sonnet", tokens=Usage(output=10**6), cost_usd=0.25))
    assert scene.wait(1) is None
    assert (scene.run.spend.usd, scene.run.estimated_usd) == (0.25, None)
