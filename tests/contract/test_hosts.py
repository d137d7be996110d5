"""Hosts on a real PostgreSQL queue: what each is given, and how they are known."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from msgspec import structs

from fleet.errors import NotFound, Refused
from fleet.queue.protocol import Draft
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.shared_news import RunSpend, share_spends, spends_elsewhere
from fleet.queue.sql.postgres import open_postgres
from fleet.schemas import Host, Offer, Released, Spend
from tests.contract.bd_answers import Clock
from tests.settled import settle

TTL = timedelta(minutes=3)
NUMBERS = count()
THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def time():
    return Clock()


@pytest.fixture
def queue(postgres_dsn, time):
    with closing(open_postgres(postgres_dsn, clock=time)) as found:
        found.db.rows("DELETE FROM hosts")
        found.db.rows("DELETE FROM spending")
        yield found


def a_host(id_="home1", name="one", **facts):
    known = {"incarnation": "i", "slots": 3, "free": 3, "started_at": THEN, "seen_at": THEN}
    return Host(id=id_, name=name, **{**known, **facts})


def add(queue, **settings):
    return queue.add(Draft(title=f"task {next(NUMBERS)}", metadata={"fleet": settings})).id


def given(queue, host):
    return [each.task.id for each in queue.claim(host.id, count=9, ttl=TTL, offer=host.offer)]


@pytest.mark.parametrize(
    ("settings", "who"),
    [
        ({}, ["one", "two"]),
        ({"host": "two"}, ["two"]),
        ({"host": "three"}, []),
        ({"made_on": "home1"}, ["one"]),
        ({"made_on": "home1", "repository": {"url": "git@x:y"}}, ["one", "two"]),
        ({"made_on": "home1", "host": "two"}, ["two"]),
        ({"needs": ["host:gpu", "mcp:docs"]}, ["two"]),
        ({"needs": ["host:gpu", "host:tpu"]}, []),
        ({"coder": "codex"}, ["one"]),
        ({"repository": {"url": "ssh://far/away"}}, ["one"]),
    ],
)
def test_a_host_is_given_only_what_it_can_run(queue, settings, who):
    """Host, home, labels, coder and repository are compared in the claim itself."""
    one = a_host(coders={"codex": "1"})
    two = a_host("home2", "two", labels=("gpu",), unreachable=("ssh://far/away",))
    for host in (one, two):
        task_id = add(queue, **settings)
        # What another test of this one left is the other host's.
        assert (task_id in given(queue, host)) == (host.name in who)


def test_what_does_not_fit_holds_nothing_up(queue):
    """A thousand tasks of another host stand before the one that is this host's."""
    with queue.db.writing():
        for _ in range(1000):
            add(queue, host="two")
    mine = add(queue)
    assert given(queue, a_host()) == [mine]


def test_a_claim_without_an_offer_takes_what_comes(queue):
    """`bd ready --claim` and the like know of no hosts."""
    task_id = add(queue, host="two")
    assert [each.task.id for each in queue.claim("a", ttl=TTL)] == [task_id]


def test_a_changed_setting_changes_where_the_task_goes(queue):
    """The column follows from the metadata, whatever command writes that."""
    task_id = add(queue, host="two")
    queue.add_metadata(task_id, {"fleet": {"host": "one"}})
    assert given(queue, a_host()) == [task_id]


def test_what_a_host_declines_it_does_not_see_again(queue):
    """Another host does, and so does the same one after it was started anew."""
    task_id, one, two = add(queue), a_host(), a_host("home2", "two")
    host_table.register(queue, one, machine="m")
    (lease,) = queue.claim("home1", ttl=TTL, offer=one.offer)
    settle(queue, lease, Released(declined="no such directory"))
    assert given(queue, one) == []
    assert [each.why for each in host_table.declines_of(queue, task_id)] == ["no such directory"]
    (lease,) = queue.claim("home2", ttl=TTL, offer=two.offer)
    settle(queue, lease, Released())
    host_table.register(queue, one, machine="m")
    assert given(queue, one) == [task_id]


def test_a_person_who_puts_a_task_back_has_every_host_asked_again(queue):
    """`fleet retry`: its attempts are counted anew too."""
    task_id, one = add(queue), a_host()
    (lease,) = queue.claim("home1", ttl=TTL, offer=one.offer)
    failed = structs.replace(lease, task=structs.replace(lease.task, attempts=2))
    settle(queue, failed, Released(declined="no such directory"))
    task = queue.reopen_task(queue.get(task_id), by="ada", anew=True)
    assert task.attempts == 0
    assert given(queue, one) == [task_id]


def test_runs_and_attempts_are_counted_over_all_hosts(queue, time):
    """A host that vanished is a run more and no attempt; a settled one says what it counted."""
    add(queue)
    (first,) = queue.claim("home1", ttl=TTL)
    assert (first.task.runs, first.task.attempts) == (1, 0)
    time.pass_(minutes=4)
    (second,) = queue.claim("home2", ttl=TTL)
    assert (second.task.runs, second.task.attempts) == (2, 0)
    counted = structs.replace(second.task, attempts=1, last_host="home2")
    settle(queue, structs.replace(second, task=counted), Released())
    (third,) = queue.claim("home1", ttl=TTL)
    assert (third.task.runs, third.task.attempts, third.task.last_host) == (3, 1, "home2")


def test_the_host_with_the_session_comes_first_for_a_moment(queue, time):
    """While it is up and has a slot; then any host may have the task."""
    add(queue)
    one, two = a_host(), a_host("home2", "two")
    for host in (one, two):
        host_table.register(queue, host, machine=host.id)
    (lease,) = queue.claim("home1", ttl=TTL, offer=one.offer)
    task = structs.replace(lease.task, last_host="home1")
    settle(queue, structs.replace(lease, task=task), Released())
    assert given(queue, two) == []
    host_table.beat(queue, structs.replace(one, free=0))
    assert len(given(queue, two)) == 1


def test_a_warm_mirror_comes_first_for_a_moment(queue, time):
    """Then the host without one fetches."""
    url = "git@example.org:app"
    task_id = add(queue, repository={"url": url})
    warm, cold = a_host(mirrors=(url,)), a_host("home2", "two")
    host_table.register(queue, warm, machine="m")
    assert given(queue, cold) == []
    time.pass_(seconds=3)
    assert given(queue, cold) == [task_id]


def test_a_copy_of_a_home_is_refused(queue, time):
    """While the first is heard of; a restart of the same home is let in at once."""
    host_table.register(queue, a_host(), machine="m1")
    assert host_table.register(queue, a_host(incarnation="j"), machine="m1") == "up"
    with pytest.raises(Refused, match="another supervisor works on this queue as home1"):
        host_table.register(queue, a_host(incarnation="k"), machine="m2")
    time.pass_(seconds=91)
    assert host_table.register(queue, a_host(incarnation="k"), machine="m2") == "up"
    assert host_table.beat(queue, a_host(incarnation="j")) is None


def test_a_copy_of_a_home_is_refused_while_the_first_may_hold_leases(queue, time):
    """It would take them for its own, and give the tasks back under living agents."""
    host_table.register(queue, a_host(), machine="m1", lease=TTL)
    time.pass_(seconds=TTL.total_seconds() - 1)
    with pytest.raises(Refused, match="another supervisor works on this queue as home1"):
        host_table.register(queue, a_host(incarnation="k"), machine="m2", lease=TTL)
    time.pass_(seconds=1)
    assert host_table.register(queue, a_host(incarnation="k"), machine="m2", lease=TTL) == "up"
    host_table.set_state(queue, a_host(), "draining")
    host_table.leave(queue, a_host(incarnation="k"), lease=TTL)
    host_table.register(queue, a_host(incarnation="l"), machine="m3", lease=TTL)


def test_a_host_that_left_in_order_can_begin_elsewhere_at_once(queue):
    """Nothing of it lives."""
    host_table.register(queue, a_host(), machine="m1")
    host_table.leave(queue, a_host())
    assert host_table.register(queue, a_host(incarnation="k"), machine="m2") == "up"


def test_a_drained_host_stays_so_over_restarts(queue):
    """Until a person lets it go on: an upgrade restarts it."""
    host = a_host()
    host_table.register(queue, host, machine="m")
    host_table.set_state(queue, host, "draining")
    host_table.leave(queue, host)
    assert host_table.register(queue, host, machine="m") == "draining"
    host_table.set_state(queue, host, "up")
    assert host_table.beat(queue, host) == "up"


def test_a_lost_hosts_tasks_are_free_at_once(queue):
    """And its own later words change nothing."""
    task_id, host = add(queue), a_host()
    host_table.register(queue, host, machine="m")
    (lease,) = queue.claim("home1", ttl=TTL, offer=host.offer)
    assert host_table.lose(queue, host) == [task_id]
    assert given(queue, a_host("home2", "two")) == [task_id]
    assert settle(queue, lease, Released()) is not None
    assert host_table.beat(queue, host) == "up", "a host that speaks again takes part again"


def test_a_host_is_forgotten_only_when_it_is_gone_and_holds_nothing(queue, time):
    """By its name or its id."""
    add(queue)
    host = a_host()
    host_table.register(queue, host, machine="m")
    with pytest.raises(Refused, match="is up"):
        host_table.remove(queue, host_table.find_host(queue, "one"))
    queue.claim("home1", ttl=TTL, offer=host.offer)
    time.pass_(seconds=60)
    with pytest.raises(Refused, match="holds 1 task"):
        host_table.remove(queue, host_table.find_host(queue, "home1"))
    time.pass_(minutes=3)
    host_table.remove(queue, host_table.find_host(queue, "one"))
    with pytest.raises(NotFound):
        host_table.find_host(queue, "one")


def test_a_coder_without_room_is_left_to_hosts_that_have_some(queue):
    """A task that waited here for a limit would run on the other host at once."""
    codex, any_coder = add(queue, coder="codex"), add(queue)
    claude = add(queue, coder="claude")
    one = a_host(coders={"codex": "", "claude": ""})
    resting = structs.replace(one.offer, resting=("claude",), rests=True)
    claimed = queue.claim("home1", count=9, ttl=TTL, offer=resting)
    assert [each.task.id for each in claimed] == [codex]
    other = a_host("home2", "two", coders={"claude": ""})
    assert sorted(given(queue, other)) == sorted([any_coder, claude])


def test_hosts_that_are_up_are_known_to_the_others(queue, time):
    """Silent and drained ones take nothing over, and a host is not its own other."""
    for number, name in enumerate(("one", "two", "three", "four"), start=1):
        host_table.register(queue, a_host(f"home{number}", name), machine=name)
    host_table.set_state(queue, a_host("home3", "three"), "draining")
    time.pass_(seconds=60)
    for number in (1, 2, 3):
        host_table.beat(queue, a_host(f"home{number}", f"h{number}"))
    assert [host.id for host in host_table.others_up(queue, "home1")] == ["home2"]


def test_an_offer_names_each_need_that_it_meets():
    """So that the queue compares texts and knows of no kinds."""
    offer = Offer(id="h", name="n", labels=("gpu",), coders=("codex",))
    assert offer.has == ("host:n", "home:h", "label:gpu", "coder:codex")


def test_hosts_tell_each_other_what_their_runs_spent(queue):
    """Once for each run, also if it is told twice; a host does not hear of itself."""
    spent = RunSpend(task_id="t1", run=1, day="2026-01-01", host="home1", spend=Spend(tokens=7))
    for _ in range(2):
        share_spends(queue, [spent])
    found, since = spends_elsewhere(queue, "home2", "2026-01-01", None)
    assert found == [spent]
    assert spends_elsewhere(queue, "home2", "2026-01-01", since) == ([spent], since), "an overlap"
    assert spends_elsewhere(queue, "home1", "2026-01-01", None) == ([], None)
    assert spends_elsewhere(queue, "home2", "2026-01-02", None) == ([], None)
