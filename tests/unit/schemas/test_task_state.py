"""How a task stands: one word for each situation, and for what the last of a chain waits."""

from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.schemas.task_state import (
    AskedNow,
    AtWork,
    Group,
    Link,
    OnTheWay,
    Standing,
    TaskFacts,
    TaskState,
    Wait,
    WayOn,
    row_state,
    state_of,
    with_root,
)
from fleet.schemas.waits import (
    Asks,
    CannotLand,
    Halted,
    NeedsApproval,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    Proposed,
    SetAside,
    ToLand,
    ToMend,
)
from tests.builders import a_task
from tests.contract.queue_facts.waiting import ONE_OF_EACH

LATER = datetime(2026, 11, 19, 12, tzinfo=UTC)
ASKED = AskedNow(text="tabs?", way_on=WayOn(verb="answer", line="fleet answer t"))
LANDS = ToLand(into="main")


def facts(status, **known):
    return TaskFacts(id="t", status=status, **known)


def on_the_way(step, **known):
    return OnTheWay(step=step, words=f"{step} on main", **known)


def held(reason, **known):
    return Wait(reason=reason, **known)


#: Twenty-four situations, and the word that every surface has for each.
SITUATIONS = (
    ("could start now", facts("open"), "ready"),
    ("waits for another task", facts("open", hindrance=held("waits for u")), "waiting"),
    ("put off by a rate limit", facts("open", hindrance=held("limit", until=LATER)), "waiting"),
    ("a verify command is not trusted", facts("open", hindrance=held("x", person=True)), "waiting"),
    ("deferred by a person", facts("deferred", hindrance=held("a person put it off")), "waiting"),
    ("sent back, and its turn comes", facts("open", landing=on_the_way("back")), "sent back"),
    ("an agent works", facts("in_progress", work=AtWork(doing="running")), "running"),
    ("its agent waits for an answer", facts("in_progress", asked=ASKED), "asks"),
    ("fleet runs the verify command", facts("in_progress", work=AtWork(doing="verifying")),
     "verifying"),
    ("claimed, and no supervisor runs", facts("in_progress", work=AtWork(doing="waiting")),
     "waiting"),
    ("a parked question", facts("blocked", waits=Asks(text="tabs?")), "asks"),
    ("proposed by an agent", facts("blocked", waits=Proposed(by="an agent")), "asks"),
    ("a plan is written", facts("blocked", waits=PlanWritten()), "needs approval"),
    ("nothing proves the claim", facts("blocked", waits=NeedsApproval(reasons=("no check",))),
     "needs approval"),
    ("accepted", facts("blocked", waits=LANDS, landing=on_the_way("waiting")), "to land"),
    ("land = ask", facts("blocked", waits=LANDS, landing=on_the_way("asks")), "needs approval"),
    ("held back by a person", facts("blocked", waits=LANDS, landing=on_the_way("held")), "stopped"),
    ("sent back too often", facts("blocked", waits=CannotLand(why="markers_left")), "failed"),
    ("entries of a comparison run", facts("blocked", entries=(1, 2)), "waiting"),
    ("out of attempts after it was sent back",
     facts("blocked", waits=OutOfAttempts(why="x", made=3, limit=3), landing=on_the_way("back")),
     "failed"),
    ("changed files out of scope", facts("blocked", waits=OutOfScope(what="../b")), "failed"),
    ("its directory is gone", facts("blocked", waits=ToMend(what="x")), "waiting"),
    ("stopped by a person", facts("blocked", waits=Halted(by="ada")), "stopped"),
    ("blocked by hand", facts("blocked", waits=SetAside(note="later")), "stopped"),
    ("the branch holds it", facts("closed", landing=on_the_way("landed")), "landed"),
    ("closed without landing", facts("closed", close_reason="ok"), "done"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("what", "given_facts", "state"), SITUATIONS, ids=[what for what, *_ in SITUATIONS]
)
def test_each_situation_has_one_word(what, given_facts, state):
    """The word that the command line, the page, `fleet top`, notifications and agents are given."""
    assert state_of(given_facts).state == state, what


def test_every_word_is_used():
    """A word that no situation leads to is not shown, and needs no explanation."""
    assert {state for _, _, state in SITUATIONS} == set(get_args(TaskState))


STATUSES = some.sampled_from(("open", "in_progress", "blocked", "deferred", "closed", "pinned"))
STEPS = ("waiting", "asks", "testing", "landed", "back", "held")
FACTS = some.builds(
    facts,
    STATUSES,
    waits=some.none() | some.sampled_from(ONE_OF_EACH),
    asked=some.none() | some.just(ASKED),
    work=some.none() | some.builds(AtWork, doing=some.sampled_from(("running", "held", "invalid"))),
    landing=some.none() | some.builds(on_the_way, some.sampled_from(STEPS)),
    hindrance=some.none() | some.builds(held, some.just("x"), person=some.booleans()),
)


@given(FACTS)
def test_whatever_is_known_a_task_stands_somewhere(known):
    """And what needs a person names the command that helps, wherever there is one."""
    found = state_of(known)
    assert found.group in get_args(Group)
    assert (found.group == "done") == (known.status == "closed")
    if known.status == "blocked" and found.group == "needs_you":
        assert found.way_on is not None


@given(FACTS)
def test_an_open_question_is_shown_until_the_task_is_over(known):
    """Its task may run, or be blocked with it."""
    found = state_of(known)
    asks = known.asked is not None and known.status == "in_progress"
    assert not asks or found.state == "asks"


def link(name, state, *blockers, reason="", way=""):
    way_on = WayOn(verb="", line=way) if way else None
    standing = Standing(state=state, reason=reason, way_on=way_on)
    return Link(id=name, title=name.title(), standing=standing, blockers=blockers)


def test_a_task_waits_for_what_the_last_of_its_chain_waits_for():
    """With the command that sets the whole chain going, and not with the next link."""
    store = link("store", "needs approval", way="fleet land store")
    known = {each.id: each for each in (link("totals", "waiting", "store"), store)}
    found = with_root(["totals"], known)
    assert found.words == "waiting: waits for Totals ← Store ← your approval"
    assert (found.way_on.line, found.way_on.task) == ("fleet land store", "store")


def test_of_several_blockers_the_one_is_followed_that_needs_a_person():
    """The others come to an end by themselves."""
    known = {each.id: each for each in (link("a", "running"), link("b", "failed", way="do"))}
    assert with_root(["a", "b"], known).reason == "waits for B ← your retry"


def test_a_circle_of_tasks_ends():
    """Imported edges may close one."""
    known = {each.id: each for each in (link("a", "waiting", "b"), link("b", "waiting", "a"))}
    assert with_root(["a"], known).reason == "waits for A ← B"


def test_a_blocker_that_is_not_known_is_named_by_its_id():
    """A surface may show some tasks only."""
    found = with_root(["fleet-9"], {})
    assert (found.reason, found.way_on.line) == ("waits for fleet-9", "fleet show fleet-9")


def test_a_row_alone_tells_how_a_blocked_task_stands():
    """For lists of the tracker, which read no file."""
    task = a_task(status="blocked", waits=OutOfAttempts(why="Boom", made=3, limit=3))
    assert row_state(task).words == "failed: Boom (attempt 3 of 3)"
