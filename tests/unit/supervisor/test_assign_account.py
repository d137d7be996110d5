"""Which account a task is put on, and what keeps the one who decides it from dying or waiting."""

import errno
import json
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fleet.accounts.account_gate import seat_for
from fleet.accounts.account_state import EMPTY, AccountReset, LoginRefused
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import place_of
from fleet.accounts.choose_account import AccountWait, Go, Seat
from fleet.accounts.login_faults import LOGIN, hold_for
from fleet.coders.claude import ClaudeCoder
from fleet.config import Config
from fleet.extend import HomeMoment, TaskStart
from fleet.files import json_record
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Account, Blocked, Event, Failed, Lease, RateLimit, RateLimited
from fleet.settlement.end_run import by_stream
from fleet.settlement.login_fault import fault_of
from fleet.settlement.settle_table import Facts, decide
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.assignments import ActiveRun, Assignments
from tests.builders import HOUR, NOW, a_task, an_ending

FACTS = Facts(
    run=1, started=True, claim=AgentClaim(), retry_limit=3,
    progress=False, jitter=0.0,
)  # fmt: skip
TASK = a_task(id="fleet-1")


class WorkLater:
    """A worker pool that does its work at `finish`."""

    def __init__(self):
        self.asked = []

    def submit(self, what, then):
        self.asked.append((what, then))

    def finish(self):
        while self.asked:
            what, then = self.asked.pop(0)
            then(what())


@pytest.fixture
def pool():
    return WorkLater()


@pytest.fixture
def assigner(home, log, pool):
    return AccountAssigner(
        home, pool=pool, log=log, env={}, assignments=Assignments(),
        meter=BudgetMeter(home, Config(), log, lambda: NOW),
    )  # fmt: skip


def account(home, name, **more):
    folder = home.path / name
    folder.mkdir(exist_ok=True)
    (folder / ".credentials.json").touch(mode=0o600)
    return Account(name=name, coder="claude", directory=str(folder), **more)


def config(*accounts):
    return Config(coder="claude", accounts={each.name: each for each in accounts})


def a_live(home, account="work", *, adopted=False, env=None):
    spec = RunSpec(argv=("true",), cwd="/", coder="claude", account=account)
    lease = Lease(task=TASK, owner="me", fence=1, until=NOW + HOUR)
    run = new_run(home.task(TASK.id), spec)
    return ActiveRun(
        lease.task, run, ClaudeCoder("sonnet"), env=env or {}, spec=spec, adopted=adopted
    )


def tells(live, *limits):
    live.totals.add(Event(kind="rate_limit_info", limits=limits))


def test_a_full_disk_costs_the_file_and_not_the_supervisor(home, assigner, said, monkeypatch):
    """What a stream told is known as long as the supervisor lives; it is said once."""

    def full(*args, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(json_record, "write_atomically", full)
    live = a_live(home)
    for used in (80.0, 95.0):
        tells(live, RateLimit(kind="five_hour", used_percent=used, resets_at=NOW + HOUR))
        assigner.follow(live, config(account(home, "work")), NOW)
    assert assigner.accounts.state("work").windows["five_hour"].used_percent == 95
    assert len([line for line in said if "No space left" in line]) == 1
    with pytest.raises(OSError, match="No space"):
        open_accounts(home.path).apply({"work": LoginRefused()}, NOW)
    monkeypatch.undo()
    assigner.accounts.apply({"home": LoginRefused()}, NOW)
    assert set(open_accounts(home.path).states) == {"work", "home"}


def chosen(assigner, home, settings, now=NOW):
    place = place_of(home, settings, TASK)
    seats = assigner.seats(settings, place, TASK.id, None, now)
    at = HomeMoment(now=now, facts=(assigner.facts(),))
    return seat_for(TaskStart(task=TASK, facts=(seats,)), at)


def test_a_keyring_that_does_not_answer_keeps_no_task_from_another_account(home, assigner, keyring):
    """The account without a secret is free and idle, and would be chosen for ever."""
    settings = config(account(home, "a", secret="keyring:fleet/a"), account(home, "b"))
    for _ in range(3):
        found = chosen(assigner, home, settings)
        assert isinstance(found, Go)
        assert found.seat.account.name == "b"


def test_the_keyring_is_asked_beside_the_loop_and_once_for_all_tasks(home, assigner, keyring, pool):
    """Who asks for the first time waits a moment; what it said is known for a while."""
    keyring.holds(fleet={"a": "tok-1"})
    settings = config(account(home, "a", secret="keyring:fleet/a"))
    found = chosen(assigner, home, settings)
    assert isinstance(found, AccountWait)
    assert not found.person
    assert found.free_at <= NOW + 3 * timedelta(seconds=1)
    pool.finish()
    for _ in range(5):
        assert isinstance(chosen(assigner, home, settings), Go)
    assert assigner.variables(settings.accounts["a"])["CLAUDE_CODE_OAUTH_TOKEN"] == "tok-1"
    assert keyring.times == 1


def test_a_secret_that_comes_back_to_the_keyring_opens_its_account(home, assigner, keyring, pool):
    """It is looked for again, and said to be missing meanwhile."""
    settings = config(account(home, "a", secret="keyring:fleet/a"))
    chosen(assigner, home, settings)
    pool.finish()
    found = chosen(assigner, home, settings)
    assert found.person
    assert "secret is gone" in found.reason
    keyring.holds(fleet={"a": "tok-2"})
    chosen(assigner, home, settings, NOW + HOUR)
    pool.finish()
    assert isinstance(chosen(assigner, home, settings, NOW + HOUR), Go)


def test_a_run_that_is_adopted_keeps_the_login_that_it_began_with(home, assigner):
    """Its secret is gone since, or its account was changed or removed: it works on all the same."""
    own = account(home, "work", secret="env:KEY", variable="ANTHROPIC_API_KEY")
    spec = RunSpec(
        argv=("true",), cwd="/", coder="claude", account="work", login=assigner.outline(own)
    )
    run = new_run(home.task(TASK.id), spec)
    lease = Lease(task=TASK, owner="me", fence=1, until=NOW + HOUR)
    for settings in (config(own), config(account(home, "work")), config()):
        live = ActiveRun.read(home, settings, lease.task, run)
        assert live.env["CLAUDE_CONFIG_DIR"] == own.directory
        live.totals.add(Event(kind="session_started", key_source="ANTHROPIC_API_KEY"))
        assert assigner.wrong_login(live, settings) is None
    live = ActiveRun.read(home, config(own), lease.task, run)
    live.totals.add(Event(kind="session_started", key_source="apiKeyHelper"))
    assert assigner.wrong_login(live, config(own)) is not None


def test_a_projects_key_is_not_the_users_own_login(home, assigner, tmp_path):
    """A project's settings billed by the token while the user thought of a subscription."""
    live = a_live(home, "claude")
    live.env.update(HOME=str(tmp_path), CLAUDE_CONFIG_DIR="")
    live.totals.add(Event(kind="session_started", key_source="ANTHROPIC_API_KEY"))
    assert assigner.wrong_login(live, config()).reason == "wrong_account"
    settings = tmp_path / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"env": {"ANTHROPIC_API_KEY": "k"}}')
    assert assigner.wrong_login(live, config()) is None, "the user's own settings name that key"


def test_a_project_that_sets_a_key_closes_no_account(home, assigner):
    """Any account would be bypassed there: that is the trouble of one task, and of no account."""
    settings = config(account(home, "work"), account(home, "home"))
    live = a_live(home)
    live.totals.add(Event(kind="session_started", key_source="ANTHROPIC_API_KEY"))
    wrong = assigner.wrong_login(live, settings)
    decision = decide(wrong, structs.replace(FACTS, elsewhere=True), NOW)
    assert isinstance(decision.settlement, Blocked)
    assert not decision.counts
    ending = an_ending(wrong, decision.settlement, counts=False)
    assert fault_of(ending, missing=False) is None
    assigner.run_ended(live, ending, 1.0, NOW)
    assert assigner.accounts.state("work") == EMPTY


def test_what_a_supervisor_before_took_in_is_no_news_to_the_next(home, assigner):
    """An adopted run's stream is read from its beginning, with limits of hours ago in it."""
    settings = config(account(home, "work"))
    first = a_live(home)
    line = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning",
            "rateLimitType": "five_hour", "utilization": 0.95,
            "resetsAt": (NOW + HOUR).timestamp()}}  # fmt: skip
    first.run.stdout.write_text(json.dumps(line) + "\n")
    first.stream.read(NOW)
    assigner.follow(first, settings, NOW)
    assert assigner.accounts.state("work").windows["five_hour"].used_percent == 95
    assert assigner.accounts.apply({"work": AccountReset()}, NOW)
    again = ActiveRun(first.task, first.run, ClaudeCoder("sonnet"), env={}, spec=first.run.spec(),
                 adopted=True)  # fmt: skip
    again.stream.read(NOW)
    assert again.totals.limits
    assigner.follow(again, settings, NOW)
    assert assigner.accounts.state("work") == EMPTY
    more = json.loads(json.dumps(line))
    more["rate_limit_info"]["utilization"] = 0.5
    with first.run.stdout.open("a") as file:
        file.write(json.dumps(more) + "\n")
    again.stream.read(NOW)
    assigner.follow(again, settings, NOW)
    assert assigner.accounts.state("work").windows["five_hour"].used_percent == 50


@pytest.mark.parametrize(
    "limit",
    [
        RateLimit(kind="fortnight", status="rejected"),
        RateLimit(kind="five_hour", status="full"),
        RateLimit(kind="five_hour", used_percent="80"),
        RateLimit(kind="five_hour", resets_at="tomorrow"),
        RateLimit(kind="five_hour", status="rejected", resets_at=datetime(2026, 11, 15, 13)),  # noqa: DTZ001
        "five_hour",
    ],
)
def test_a_limit_of_a_custom_coder_that_makes_no_sense_is_left_out(home, assigner, limit):
    """It would end the supervisor, or write a file that cannot be read again."""
    live = a_live(home)
    live.stream._add(Event(kind="rate_limit", limits=(limit,)))
    assigner.follow(live, config(account(home, "work")), NOW)
    assigner.accounts.apply({"home": LoginRefused()}, NOW)
    assert "home" in open_accounts(home.path).states
    refused = live.totals.refusal("rate_limit")
    assert decide(RateLimited(limit=refused), FACTS, NOW).counts is False


@pytest.mark.parametrize(
    "told", [None, "Finished", Failed(reason="moody"), RateLimited(limit=RateLimit(kind="moon"))]
)
def test_an_outcome_of_a_custom_coder_that_is_none_is_a_failure(home, told):
    """It would end the supervisor, or be written into a file that cannot be read again."""
    live = a_live(home)
    live.coder.outcome = lambda *_, **__: told
    got = by_stream(live, 0, None)
    assert isinstance(got, Failed)
    assert got.reason == "unknown"


def test_an_outcome_that_waits_for_a_moment_of_no_zone_waits_for_none(home):
    """It could be compared with no other."""
    live = a_live(home)
    naive = datetime(2026, 11, 15, 13)  # noqa: DTZ001
    limit = RateLimit(kind="five_hour", status="rejected", resets_at=naive)
    live.coder.outcome = lambda *_, **__: RateLimited(limit=limit)
    got = by_stream(live, 0, None)
    assert got == RateLimited(limit=structs.replace(limit, resets_at=None))


def test_a_coder_that_goes_while_its_run_lives_ends_no_other_run(home, assigner):
    """Its file is removed, or its account is given to another, before the first answer."""
    live = a_live(home)
    live.totals.add(Event(kind="assistant_text", text="Hello."))
    gone = structs.replace(account(home, "work"), coder="gone")
    assigner.follow(live, config(gone), NOW)
    assert live.memory.answered


def test_a_box_whose_token_had_ended_is_held_against_nobody(home, assigner):
    """Neither against the account nor against the coder, and its session goes on."""
    work = home.path / "work"
    work.mkdir()
    tokens = {"accessToken": "at", "refreshToken": "rt", "expiresAt": NOW.timestamp() * 1000}
    (work / ".credentials.json").write_text(json.dumps({"claudeAiOauth": tokens}))
    account = Account(name="work", coder="claude", directory=str(work))
    settings = Config(accounts={"work": account})
    run, other = a_live(home), a_live(home)
    run.spec = structs.replace(run.spec, boxed=True)
    refused = Failed(reason="auth", detail="401")
    outcome = assigner.as_stale(run, refused, settings)
    assert outcome == Failed(reason="stale_login", detail="401")
    assert assigner.as_stale(other, refused, settings) == refused
    ending = an_ending(outcome=outcome)
    assert fault_of(ending, missing=False) is None
    assigner.run_ended(run, ending, 1.0, NOW)
    assert assigner.accounts.state("work").faults == {}


def test_a_boxed_task_waits_for_the_renewal_of_its_login(home, assigner, pool):
    """One without a box does not: its CLI renews the login itself."""
    work = home.path / "work"
    work.mkdir(mode=0o700)
    tokens = {"accessToken": "at", "refreshToken": "rt", "expiresAt": NOW.timestamp() * 1000}
    login = work / ".credentials.json"
    login.write_text(json.dumps({"claudeAiOauth": tokens}))
    login.chmod(0o600)
    account = Account(name="work", coder="claude", directory=str(work))
    settings = Config(coder="claude", accounts={"work": account})
    assert isinstance(chosen(assigner, home, settings), Go)
    boxed = structs.replace(settings, sandbox="workspace")
    found = chosen(assigner, home, boxed)
    assert found.reason == "the login of work is being renewed"
    assert not found.person
    login.write_text("{}")
    pool.finish()
    found = chosen(assigner, home, boxed)
    assert found.reason.endswith(
        "its login could not be renewed (it is logged out): fleet account login work"
    )
    assert found.person
    assert "could not be renewed" in assigner.accounts.state("work").faults[LOGIN].hold.why


def test_what_a_run_of_another_hosts_task_made_up_is_held_against_the_seat(home, assigner):
    """The seat names the mirror that stands here for the directory of that host."""
    project = "/mirrors/one"
    for number in range(1, 7):
        task = a_task(id=f"fleet-{number}", cwd="/there")
        spec = RunSpec(argv=("true",), cwd="/clone", project=project)
        run = new_run(home.task(task.id), spec)
        run = ActiveRun(task, run, ClaudeCoder("sonnet"), env={}, spec=spec)
        assigner.note_fault(run, "fabrication", "no_tools", NOW)
    seat = Seat(account=Account(name="claude", coder="claude"), model="sonnet", project=project)
    faults = assigner.accounts.state(run.account).faults
    assert hold_for(faults, seat.use, frozenset(), NOW) is not None
