"""Limits of keys, from one host to the others over a real PostgreSQL."""

from contextlib import closing
from datetime import timedelta

import pytest

from fleet.accounts.account_gate import seat_for
from fleet.accounts.account_state import (
    EMPTY,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
    held_logins,
)
from fleet.accounts.candidates import place_of
from fleet.accounts.choose_account import AccountWait
from fleet.config import Config
from fleet.extend import HomeMoment, TaskStart
from fleet.home import Home, make_home
from fleet.home.journal import Log
from fleet.queue.sql.postgres import open_postgres
from fleet.schemas import Account, RateLimit
from fleet.schemas.hosts.lease_terms import ALONE
from fleet.supervisor.hosts.heartbeat import Heartbeat
from fleet.supervisor.hosts.share_news import hear_limits, tell_limit
from fleet.supervisor.state import SupervisorState
from tests.builders import NOW, a_task
from tests.contract.bd_answers import Clock
from tests.contract.test_hosts import a_host


class NoQueue:
    terms, travel = ALONE, None


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn, clock=Clock())) as found:
        found.db.rows("DELETE FROM shared_states")
        yield found


@pytest.fixture
def host(tmp_path):
    """A host with one account on a key; `said` holds what it logs."""

    def make(name, *, account, key):
        home = Home(tmp_path / name)
        make_home(home)
        secret = home.path / "key"
        secret.write_text(key)
        secret.chmod(0o600)
        work = Account(name=account, coder="claude", secret=f"file:{secret}")
        said = []
        state = SupervisorState(
            home, Config(coder="claude", model="sonnet", accounts={account: work}),
            queue=NoQueue(), log=Log(home.logging, lambda: NOW, said.append), now=lambda: NOW,
            heartbeat=Heartbeat(
                lambda: None, a_host(f"id-{name}", name), machine="m", lease=timedelta(minutes=3),
                say=said.append,
            ),
        )  # fmt: skip
        state.said = said
        return state

    return make


def beat(queue, *states):
    """Each host beats, and looks at what it heard."""
    for state in states:
        state.heartbeat.exchange.carry(queue, state.heartbeat.host.id, NOW)
        hear_limits(state, state.heartbeat)


def seat(state):
    task = a_task(id="fleet-1")
    place = place_of(state.home, state.config, task)
    seats = state.accounts.seats(state.config, place, task.id, None, NOW)
    at = HomeMoment(now=NOW, facts=(state.accounts.facts(),))
    return seat_for(TaskStart(task=task, facts=(seats,)), at)


FIVE_HOURS = RateLimit(kind="five_hour", status="rejected", resets_at=NOW + timedelta(hours=2))


def test_a_limit_that_one_host_met_holds_the_others_with_the_same_key(queue, host):
    """Each would otherwise find out by a run of its own that ends at once."""
    one = host("one", account="work", key="sk-1")
    same = host("same", account="other-name", key="sk-1")
    another = host("another", account="work", key="sk-2")
    tell_limit(one, "work", LimitRefused(FIVE_HOURS, running=3, model="sonnet"))
    beat(queue, one, same, another)
    assert isinstance(found := seat(same), AccountWait)
    assert found.until >= NOW + timedelta(hours=2)
    assert "account other-name: host one has the same key" in same.said[-1]
    assert not isinstance(seat(another), AccountWait)
    assert one.accounts.accounts.state("work") == EMPTY, "a host does not hear of itself"


def test_a_host_that_starts_later_knows_what_still_holds_and_nothing_else(queue, host):
    """A refusal of yesterday says nothing; a week that is full until tomorrow does."""
    one = host("one", account="work", key="sk-1")
    over = RateLimit(kind="weekly", status="rejected", resets_at=NOW - timedelta(hours=1))
    tell_limit(one, "work", LimitRefused(over, running=1))
    tell_limit(one, "work", LoginRefused("no credit"))
    beat(queue, one)
    queue.db.rows("UPDATE shared_states SET updated_at = updated_at - 3600000000")
    tell_limit(one, "work", LimitSeen(FIVE_HOURS, running=1))
    beat(queue, one)
    late = host("late", account="work", key="sk-1")
    beat(queue, late)
    assert set(late.accounts.accounts.state("work").windows) == {"five_hour"}
    assert late.accounts.accounts.state("work").faults == {}


def test_a_login_is_of_one_machine(queue, host):
    """Its limits may be those of another person: nothing is told."""
    one = host("one", account="work", key="sk-1")
    tell_limit(one, "claude", LimitRefused(FIVE_HOURS, running=1))
    assert not one.heartbeat.exchange.news


def test_a_refused_key_holds_the_others_until_a_person_resumes_it(queue, host):
    """A login of a person's own and a program that breaks are of one machine."""
    one = host("one", account="mine", key="sk-1")
    two = host("two", account="theirs", key="sk-1")
    tell_limit(one, "mine", LoginRefused("the key is not valid", "t1"))
    beat(queue, one, two)
    (held,) = held_logins(two.accounts.accounts.states, NOW)
    assert (held.name, held.cause) == ("theirs", "login")
    tell_limit(one, "mine", AccountReset())
    beat(queue, one, two)
    assert held_logins(two.accounts.accounts.states, NOW) == ()
