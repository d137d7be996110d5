"""Why no host takes a task, in words."""

from msgspec import structs

from fleet.queue.sql.hosts.host_gate import waits_for_host
from tests.contract.test_hosts import a_host

ALPHA = a_host("home1", "alpha", labels=())
BETA = a_host("home2", "beta", labels=("gpu",))
UP = [ALPHA, BETA]


def why(*up, **settings):
    return waits_for_host(settings, list(up) or UP, UP, [])


def test_a_need_that_no_host_meets_is_told_alone():
    """What some host has is not what the task waits for."""
    assert why(needs=["host:tpu", "host:gpu"]) == "no host fits: needs tpu; hosts with it: none up"


def test_needs_that_no_host_meets_together_are_told_with_their_hosts():
    """Each is met somewhere."""
    bound = why(made_on="home1", needs=["host:gpu"])
    assert bound == (
        "no host fits: needs the directory of host alpha; hosts with it: alpha;"
        " needs gpu; hosts with it: beta"
    )


def test_no_host_begins_before_changes_are_pushed():
    """The host that made the task does not either, nor one that was asked for by name."""
    awaited = {"url": "git://there", "changes": "awaited"}
    told = "its changes (--with-changes) are not pushed yet"
    assert why(made_on="home1", repository=awaited) == told
    assert why(host="beta", repository=awaited) == told
    assert why(repository={**awaited, "changes": "pushed"}) == ""


def test_a_task_whose_only_host_is_paused_or_short_of_something_says_so():
    """Where another host fits, that one takes the task."""
    resting = structs.replace(BETA, why_idle="paused (fleet resume)")
    needs = ["host:gpu"]
    assert why(ALPHA, resting, needs=needs) == "waits for host beta: paused (fleet resume)"
    other = a_host("home3", "gamma", labels=("gpu",))
    assert why(ALPHA, resting, other, needs=needs) == ""
