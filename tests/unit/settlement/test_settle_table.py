"""The settle table: every row of docs/invariants.md, and what no sequence of runs can do."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import structs

from fleet.accounts.rate_windows import UNDATED
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.outcome_history import History
from fleet.schemas import (
    Blocked,
    Closed,
    ContextFull,
    Failed,
    Finding,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    RateLimit,
    RateLimited,
    Released,
    Stalled,
    Stopped,
    Verdict,
)
from fleet.schemas.decision import LEASE_LOST, MESSAGE, NO_ROOM, SHUTDOWN
from fleet.schemas.waits import Asks, NeedsApproval, OutOfAttempts, OutOfScope, ToLand
from fleet.schemas.waits import words as waits_words
from fleet.settlement.sent_back import LandTries
from fleet.settlement.settle_table import (
    FULL_CONTEXTS,
    NEVER_STARTED,
    Facts,
    SpawnFailure,
    decide,
    spread,
)
from tests.builders import NOW, an_ending
from tests.conftest import often

RESET = NOW + timedelta(hours=2)
DAY = NOW + timedelta(hours=12)
INVARIANTS = Path(__file__).parents[3] / "docs/invariants.md"

PLAIN = Facts(
    run=1,
    started=True,
    claim=AgentClaim(),
    retry_limit=3,
    progress=False,
    jitter=0.0,
)
DONE = AgentClaim(done="did it")
CHECKED = Verdict(checked=True)
UNCHECKED = Verdict()
MISSING = SpawnFailure(why="claude: …", program_missing=True)
NO_CWD = SpawnFailure(why="cwd: No such file")
REJECTED = Verdict(findings=(Finding(rule="no_tools", what="it used no tool"),))
NO_CHANGE = Verdict(findings=(Finding(rule="no_effect", what="nothing is different"),))
SAID_SO = History(last=an_ending(Finished(), broke=("no_effect",)))
LOST_WORK = Verdict(findings=(Finding(rule="lost_landed_work", what="work is gone"),))
OUT_OF_SCOPE = Verdict(trespasses=(Finding(rule="outside", what="it changed ../b"),))
FORGED = Verdict(trespasses=(Finding(rule="tampered", what="run.json is not as fleet wrote it"),))
OUTAGE = RateLimited(limit=RateLimit(kind="outage", status="rejected"), detail="503")
LIMIT = RateLimited(limit=RateLimit(kind="five_hour", status="rejected", resets_at=RESET))


def facts(**changes):
    return structs.replace(PLAIN, **changes)


#: How a run ended, as the page names it, with an example of it.
ROWS = [
    ("Finished, claimed, checked", Finished(), facts(claim=DONE, verdict=CHECKED)),
    ("Finished, claimed, unchecked", Finished(), facts(claim=DONE, verdict=UNCHECKED)),
    (
        "Finished, claimed, and its work is to land",
        Finished(),
        facts(claim=DONE, verdict=CHECKED, lands_on="main"),
    ),
    (
        "Finished, claimed, unchecked where a check is required",
        Finished(),
        facts(claim=DONE, verdict=UNCHECKED, require="checked"),
    ),
    (
        "Finished, claimed, a plan that can be made into tasks",
        Finished(),
        facts(claim=DONE, verdict=UNCHECKED, require="approval"),
    ),
    ("Finished, claimed, rejected", Finished(), facts(claim=DONE, verdict=REJECTED)),
    (
        "Finished, claimed, and all that is wrong is that nothing changed",
        Finished(),
        facts(claim=DONE, verdict=NO_CHANGE),
    ),
    (
        "Finished, claimed, and the same again, with the agent's reason",
        Finished(),
        facts(claim=DONE, verdict=NO_CHANGE, past=SAID_SO),
    ),
    (
        "Finished, claimed, and a command destroyed something outside of the project",
        Finished(),
        facts(claim=DONE, verdict=CHECKED, asks=("it ran `rm -rf /x`",)),
    ),
    (
        "Finished, claimed, and work that was sent back breaks a rule of landing",
        Finished(),
        facts(claim=DONE, verdict=LOST_WORK, land_tries=LandTries(made=2, limit=3)),
    ),
    (
        "Finished, claimed, and it does so again",
        Finished(),
        facts(claim=DONE, verdict=LOST_WORK, land_tries=LandTries(made=2, limit=3, refusals=1)),
    ),
    (
        "Finished, claimed, and it does so after the last of `land_tries`",
        Finished(),
        facts(claim=DONE, verdict=LOST_WORK, land_tries=LandTries(made=3, limit=3)),
    ),
    (
        "Finished, claimed, and it cannot be checked",
        Finished(),
        facts(claim=DONE, unverifiable="x"),
    ),
    ("Finished, no claim", Finished(), facts()),
    ("RateLimited", LIMIT, facts()),
    ("RateLimited, an outage of the vendor", OUTAGE, facts()),
    (
        "RateLimited, an outage of this task alone, the third",
        OUTAGE,
        facts(own_outages=3, elsewhere=True),
    ),
    ("RateLimited, with another account, model or coder", LIMIT, facts(elsewhere=True)),
    (
        "ContextFull, with progress",
        ContextFull(),
        facts(progress=True, past=History(full_contexts=9)),
    ),
    (
        "ContextFull, no progress, not the third in a row",
        ContextFull(),
        facts(past=History(full_contexts=1)),
    ),
    (
        "ContextFull, no progress, the third in a row",
        ContextFull(),
        facts(past=History(full_contexts=2)),
    ),
    ("NeedsHuman", NeedsHuman(question="Which?"), facts()),
    ("NeedsHuman, answered meanwhile", NeedsHuman(question="Which?"), facts(answered=True)),
    ("Failed", Failed(reason="bad_request"), facts()),
    ("Failed for its account (login, money)", Failed(reason="auth"), facts()),
    ("Failed, as its access token had ended", Failed(reason="stale_login"), facts()),
    ("Failed, as its key is missing", Failed(reason="no_key"), facts()),
    ("Failed, as its model is not known", Failed(reason="model_not_found"), facts()),
    ("Failed for its account, with another", Failed(reason="auth"), facts(elsewhere=True)),
    ("Failed for the set-up (trust, terminal)", Failed(reason="untrusted"), facts()),
    (
        "Failed, as it used another login than its own",
        Failed(reason="wrong_account"),
        facts(elsewhere=True),
    ),
    (
        "Failed, as the session to carry on is gone",
        Failed(reason="session_not_found"),
        facts(resumed=True),
    ),
    ("Stalled", Stalled(silent_seconds=400), facts()),
    ("Stalled for want of what it needs", Stalled(rung="degraded"), facts()),
    ("LimitExceeded", LimitExceeded(limit="turns"), facts()),
    ("LimitExceeded, a budget of the day", LimitExceeded(limit="day_budget", until=DAY), facts()),
    ("LimitExceeded, the task's own budget", LimitExceeded(limit="task_budget"), facts()),
    ("Lost", Lost(why="its keeper was killed"), facts()),
    (
        "any of these but NeedsHuman, after a claim that holds",
        LIMIT,
        facts(claim=DONE, verdict=CHECKED),
    ),
    (
        "RateLimited, after a claim that is rejected",
        LIMIT,
        facts(claim=DONE, verdict=REJECTED),
    ),
    ("Lost, after a claim that is rejected", Lost(), facts(claim=DONE, verdict=REJECTED)),
    ("any of these, out of scope", Finished(), facts(claim=DONE, verdict=OUT_OF_SCOPE)),
    ("any of these, tampered", Finished(), facts(claim=DONE, verdict=FORGED)),
    ("any of these, and its repository is damaged", LIMIT, facts(claim=DONE, damage="x")),
    (
        "any of these that count, on a machine that is short of something",
        Finished(),
        facts(past=History(attempts=2), short="the disk is full"),
    ),
    (
        "any of these that count, the last of `retry_limit`",
        Finished(),
        facts(past=History(attempts=2)),
    ),
    ("Stopped by a person", Stopped(by="ada"), facts()),
    ("Stopped by the supervisor's shutdown", Stopped(by=SHUTDOWN), facts()),
    ("Stopped as the lease was lost", Stopped(by=LEASE_LOST), facts()),
    ("Stopped to be told something", Stopped(by=MESSAGE), facts()),
    ("Stopped, as there was no room for its output", Stopped(by=NO_ROOM), facts()),
    ("its program is missing", Lost(), facts(spawn_failure=MISSING)),
    ("it cannot be run for another reason", Lost(), facts(spawn_failure=NO_CWD)),
    ("it never started", Lost(), facts(started=False)),
    ("it never started, again", Lost(), facts(started=False, past=History(never_started=1))),
    (
        "it never started, the eighth in a row",
        Lost(),
        facts(started=False, past=History(never_started=7)),
    ),
]


def words(settlement):
    """A settlement as the table says it."""
    match settlement:
        case Closed():
            return "closed"
        case Blocked(to_land=True):
            return "to land, closed once it has landed"
        case Blocked():
            return "blocked"
        case Released(not_before=None):
            return "open"
        case Released(not_before=moment) if moment == DAY:
            return "open, the next day"
        case Released(not_before=moment) if moment >= RESET:
            return "open, once the limit has reset"
        case Released():
            return "open, after a pause"


def printed():
    """The rows of the table in docs/invariants.md."""
    page = INVARIANTS.read_text(encoding="utf-8")
    text = page.split("## What becomes of a run")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (yes|no) \| (.+?) \|$", text, re.MULTILINE)
    return [tuple(row) for row in rows]


def test_the_page_prints_what_the_function_does():
    """The table of docs/invariants.md is this one, row by row."""
    real = []
    for name, outcome, given_facts in ROWS:
        decision = decide(outcome, given_facts, NOW)
        real.append((name, "yes" if decision.counts else "no", words(decision.settlement)))
    assert printed() == real


def test_a_closed_task_tells_its_reason_and_where_the_evidence_is():
    """The agent's words, the run's number, what was shown, and the command for the receipt."""
    given_facts = facts(claim=DONE, run=7, task_id="fleet-a", verdict=CHECKED)
    checked = decide(Finished(), given_facts, NOW)
    assert checked.settlement == Closed(
        reason="did it [run 7, checked: fleet task fleet-a receipt]"
    )
    assert checked.why == "checked"
    unchecked = decide(Finished(), structs.replace(given_facts, verdict=UNCHECKED), NOW)
    assert "unchecked, no verify command" in unchecked.settlement.reason
    assert unchecked.why == "unchecked: there is no verify command to prove it"


CUT_OFF = [
    LIMIT,
    ContextFull(),
    Lost(why="its keeper was killed"),
    LimitExceeded(limit="time"),
    Stalled(rung="silent"),
    Failed(reason="killed"),
    Failed(reason="api_error"),
]


@pytest.mark.parametrize("outcome", CUT_OFF)
def test_a_claim_outlives_the_end_of_its_run(outcome):
    """What cut the run off says nothing against work that was done before."""
    decision = decide(outcome, facts(claim=DONE, verdict=CHECKED), NOW)
    assert isinstance(decision.settlement, Closed)
    assert decision.why.startswith("checked (claimed before it ended as ")


@pytest.mark.parametrize("outcome", CUT_OFF)
def test_a_claim_that_does_not_hold_changes_nothing_but_what_is_told(outcome):
    """The run counts as what it is, and the next agent reads what was wrong."""
    without = decide(outcome, facts(), NOW)
    with_claim = decide(outcome, facts(claim=DONE, verdict=REJECTED), NOW)
    assert (with_claim.settlement, with_claim.counts) == (without.settlement, without.counts)
    assert "what it claimed before is rejected: no_tools" in with_claim.why
    required = decide(outcome, facts(claim=DONE, verdict=UNCHECKED, require="checked"), NOW)
    assert required == without


@pytest.mark.parametrize(
    "outcome",
    [Stopped(by="ada"), Stopped(by=SHUTDOWN), NeedsHuman(), Failed(reason="wrong_account")],
)
def test_a_stop_and_a_question_go_before_a_claim(outcome):
    """A person who stopped the run decides; another login's work is not this task's."""
    assert decide(outcome, facts(claim=DONE, verdict=CHECKED), NOW) == decide(outcome, facts(), NOW)


def test_work_that_is_to_land_names_no_command():
    """Most work lands by itself at once: the log would send a person after each of them."""
    decision = decide(Finished(), facts(claim=DONE, verdict=CHECKED, lands_on="main"), NOW)
    assert decision.why == "checked; waits to land on main"
    assert decision.settlement == Blocked(waits=ToLand(into="main"))


def test_where_a_check_is_required_a_person_is_told_both_ways_out():
    """To close by hand, or to give a verify command."""
    given_facts = facts(
        claim=DONE, verdict=UNCHECKED, require="checked", task_id="fleet-a",
        diffstat="2 files +3 -1",
    )  # fmt: skip
    note = decide(Finished(), given_facts, NOW).why
    assert note.startswith("unchecked: no verify command proves it (2 files +3 -1)")
    assert "fleet bd close fleet-a" in note
    assert "To try again: fleet retry fleet-a. To set its check first" in note


@pytest.mark.parametrize(
    ("require", "lands_on", "settlement"),
    [
        ("any", None, Closed),
        ("approved", None, Closed),
        ("checked", None, NeedsApproval),
        ("any", "main", ToLand),
        ("approved", "main", ToLand),
        ("checked", "main", ToLand),
    ],
)
def test_what_no_check_proved_closes_or_waits_as_required(require, lands_on, settlement):
    """Work that is to land waits in its landing, whose record asks for approval."""
    given = facts(claim=DONE, verdict=UNCHECKED, require=require, lands_on=lands_on)
    found = decide(Finished(), given, NOW).settlement
    assert isinstance(found if isinstance(found, Closed) else found.waits, settlement)


def test_an_outage_is_told_in_the_vendors_words():
    """A person who finds the task waiting sees what the vendor said."""
    assert decide(OUTAGE, facts(), NOW).why == "the vendor's service fails (outage): 503"


def test_a_rejected_task_carries_what_was_missed():
    """The next agent is told, and so is the person who finds it blocked."""
    again = decide(Finished(), facts(claim=DONE, verdict=REJECTED), NOW)
    assert again.why == "no_tools: it used no tool"
    assert again.told == "run 1 failed: no_tools: it used no tool; retry 2 of 3 in 10s"
    last = decide(Finished(), facts(claim=DONE, verdict=REJECTED, past=History(attempts=2)), NOW)
    assert last.settlement == Blocked(waits=OutOfAttempts(why=again.why, made=3, limit=3))


@pytest.mark.parametrize("outcome", [Finished(), Failed(reason="bad_request"), Lost(), LIMIT])
def test_whatever_a_run_came_to_one_that_went_too_far_is_for_a_person(outcome):
    """It is not tried again, and no attempt is counted."""
    decision = decide(outcome, facts(verdict=OUT_OF_SCOPE), NOW)
    assert isinstance(decision.settlement, Blocked)
    assert decision.settlement.waits == OutOfScope(what="out of scope: outside: it changed ../b")
    assert not decision.counts


def test_a_question_goes_before_a_claim():
    """The agent blocked its task: nothing is closed."""
    claim = AgentClaim(blocked="QUESTION: tabs?")
    assert decide(Finished(), facts(claim=claim), NOW).settlement == Blocked(
        waits=Asks(text="tabs?")
    )


def test_what_was_denied_is_told():
    """A run that could not work for want of permission says which."""
    decision = decide(Finished(denied=("Write", "Bash", "Write")), facts(), NOW)
    assert "denied Bash, Write" in decision.why


@pytest.mark.parametrize(("made", "seconds"), [(0, 10), (1, 20), (2, 40), (50, 300)])
def test_pauses_double_up_to_five_minutes(made, seconds):
    """And the dice add up to half of it."""
    for jitter, share in ((0.0, 1.0), (1.0, 1.5)):
        decision = decide(
            Lost(), facts(past=History(attempts=made), retry_limit=100, jitter=jitter), NOW
        )
        assert decision.settlement.not_before == NOW + timedelta(seconds=seconds) * share


def test_a_limit_without_a_date_is_waited_out():
    """Half a minute or five; one that has passed is asked about soon, a year ahead is no date."""
    for kind, wait in (("throttle", timedelta(seconds=30)), ("usage", UNDATED)):
        undated = RateLimited(limit=RateLimit(kind=kind))
        assert decide(undated, facts(), NOW).settlement.not_before == NOW + wait
    for days, wait in ((-1, timedelta(seconds=30)), (400, UNDATED)):
        limit = RateLimit(kind="usage", resets_at=NOW + timedelta(days=days))
        decision = decide(RateLimited(limit=limit), facts(), NOW)
        assert decision.settlement.not_before == NOW + wait


@given(some.floats(0, 1), some.timedeltas(timedelta(0), timedelta(days=8)))
def test_those_who_wait_for_one_moment_come_back_apart(jitter, wait):
    """Never early, and within a minute or a tenth of the wait."""
    moment = spread(NOW + wait, NOW, jitter)
    assert NOW + wait <= moment <= NOW + wait + min(wait / 10, timedelta(minutes=1))


NASTY = 'a\0b\x1b[31m\ud800 "c"\n' + "x" * 10_000


@pytest.mark.parametrize(
    ("outcome", "given_facts"),
    [
        (Finished(), facts(claim=AgentClaim(done=NASTY))),
        (Finished(), facts(claim=AgentClaim(blocked=NASTY))),
        (NeedsHuman(question=NASTY), facts()),
        (Failed(reason="bad_request", detail=NASTY), facts(past=History(attempts=2))),
        (Failed(reason="auth", detail=NASTY), facts()),
        (Stopped(by=NASTY), facts()),
    ],
)
def test_no_words_of_an_agent_can_break_a_queue(outcome, given_facts):
    """No NUL, no escape, no half of a character, and not a book."""
    decision = decide(outcome, given_facts, NOW)
    match decision.settlement:
        case Closed(reason=text):
            pass
        case Blocked(waits=waits):
            text = waits_words(waits, "fleet-1")
        case Released():
            text = decision.why
        case other:
            pytest.fail(f"{other}")
    assert len(text) < 5000
    text.encode()
    assert not set(text) & {"\0", "\x1b"}


OUTCOMES = some.sampled_from(
    [outcome for _, outcome, _ in ROWS if not isinstance(outcome, RateLimited | Stopped)]
)
RUNS = some.tuples(OUTCOMES, some.booleans(), some.integers(0, 1))


def play(runs, retry_limit):
    """How many runs it takes until the task needs a person, or None."""
    past = History()
    for number, (outcome, started, claims) in enumerate(runs, 1):
        given_facts = facts(
            run=number,
            started=started,
            verdict=REJECTED if claims else Verdict(),
            claim=DONE if claims else AgentClaim(),  # nothing that could be closed
            past=past,
            retry_limit=retry_limit,
        )
        decision = decide(outcome, given_facts, NOW)
        if not isinstance(decision.settlement, Released):
            return number
        past = past.after(outcome, decision, started=started, progress=False)
    return None


@settings(max_examples=often(30, 100))
@given(some.data(), some.integers(1, 4))
def test_no_task_runs_for_ever_without_progress(data, retry_limit):
    """Whatever its runs come to, a task that gets nowhere is left to a person in bounded time."""
    bound = retry_limit * FULL_CONTEXTS * NEVER_STARTED
    runs = data.draw(some.lists(RUNS, min_size=bound, max_size=bound))
    assert play(runs, retry_limit) is not None


@given(some.lists(some.one_of(RUNS, some.just((LIMIT, True, 1))), max_size=40))
def test_limits_never_count(runs):
    """A run that met a limit leaves the count of attempts as it was."""
    past = History()
    for outcome, started, _ in runs:
        given_facts = facts(started=started, past=past)
        decision = decide(outcome, structs.replace(given_facts, retry_limit=100), NOW)
        after = past.after(outcome, decision, started=started, progress=False)
        if isinstance(outcome, RateLimited):  # without a claim
            assert after.attempts == past.attempts
            assert isinstance(decision.settlement, Released)
        if not started:
            assert after.attempts == past.attempts
        past = after


def test_a_claim_without_any_change_is_left_to_a_person_with_its_reason():
    """An honest one costs one extra turn and no attempt."""
    decision = decide(Finished(), facts(claim=DONE, verdict=NO_CHANGE, past=SAID_SO), NOW)
    assert "no_effect: nothing is different. It says why: did it" in str(decision.settlement)


def test_a_claim_without_any_change_says_what_the_rule_found():
    """Where others worked in the same directory, its own change may be there all the same."""
    what = "nothing in its directory is different by its own doing (b-2 worked there too)"
    verdict = Verdict(findings=(Finding(rule="no_effect", what=what),))
    for past in (History(), SAID_SO):
        decision = decide(Finished(), facts(claim=DONE, verdict=verdict, past=past), NOW)
        assert f"(no_effect): {what}" in decision.why or f"no_effect: {what}." in decision.why
