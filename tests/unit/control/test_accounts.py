"""Accounts as people change them: several at once, and what that does to tasks that wait."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from fleet import config
from fleet.accounts.account_state import EMPTY, LimitRefused, RunStarted
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import accounts_for
from fleet.control import Control
from fleet.control.account import add, pause, remove, resume
from fleet.control.accounts import accounts_now
from fleet.queue.protocol import Draft
from fleet.schemas import RateLimit, Released
from tests.settled import settled

NOW = datetime.now(UTC)
FULL = RateLimit(kind="five_hour", status="rejected", resets_at=NOW + timedelta(hours=3))


@pytest.fixture
def home(home):
    home.config.write_text(config.default_text())
    return home


def opened(home):
    return Control(home, config.load(home.config))


@pytest.fixture
def fleet(home):
    """Declares accounts and hands out the home with them."""
    made = []

    def fleet(**coders):
        for name, coder in coders.items():
            add(opened(home), name, {"coder": coder})
        made.append(opened(home))
        return made[-1]

    yield fleet
    for each in made:
        each.close()


def test_commands_that_come_together_lose_nothing_of_each_other(home, fleet):
    """Each command reads the file and writes it while the others do the same."""
    names = [f"a{number}" for number in range(6)]
    here = fleet(**dict.fromkeys(names, "claude"))
    threads = [threading.Thread(target=pause, args=(here, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accounts = config.load(home.config).accounts
    assert [name for name in names if accounts[name].enabled] == []


@pytest.fixture
def own_login(tmp_path, monkeypatch):
    """A directory of the user's own in which claude is logged in."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    (tmp_path / ".credentials.json").touch()


def test_a_login_of_ones_own_that_is_not_there_gets_no_work(home, tmp_path, monkeypatch):
    """The first run went to it and failed, although an account had just been added."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nothing"))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert not add(opened(home), "work", {"coder": "claude"}).keeps_own
    assert [each.name for each in accounts_for("claude", config.load(home.config))] == ["work"]


@pytest.mark.usefixtures("own_login")
def test_the_users_own_login_stays_in_use_beside_the_first_account(home):
    """Adding an account took the login away that all work ran on."""
    done = add(opened(home), "work", {"coder": "claude"})
    assert done.keeps_own
    found = config.load(home.config)
    assert [each.name for each in accounts_for("claude", found)] == ["claude", "work"]
    assert found.accounts["claude"].is_own
    assert not add(opened(home), "more", {"coder": "claude"}).keeps_own
    remove(opened(home), "claude")
    left = accounts_for("claude", config.load(home.config))
    assert [each.name for each in left] == ["work", "more"]


def test_a_person_may_want_only_the_account_that_is_added(home):
    """`--only` takes the own login out of use, and so does pausing it later."""
    assert not add(opened(home), "work", {"coder": "claude"}, only=True).keeps_own
    assert [each.name for each in accounts_for("claude", config.load(home.config))] == ["work"]


def waiting(here, **settings):
    """A task that waits for a limit."""
    here.queue.add(Draft(title="Fix it", metadata={"fleet": settings}))
    (lease,) = here.queue.claim("us", ttl=timedelta(minutes=5))
    return settled(here.queue, lease, Released(not_before=NOW + timedelta(hours=3)))


def test_an_account_that_is_opened_wakes_those_who_would_fall_back_to_it(home, fleet):
    """Tasks that waited for any account wake; tasks without a way to this account wait on."""
    here = fleet(work="claude", spare="codex")
    falls = waiting(here, coder="claude", fallback="account:spare")
    waits = waiting(here, coder="claude", fallback="none")
    open_accounts(home.path).apply({"spare": LimitRefused(FULL, 1)}, NOW)
    assert [task.id for task in resume(here, "spare") or []] == [falls.id]
    assert here.queue.get(waits.id).not_before is not None


def test_a_new_account_is_not_held_to_what_one_of_its_name_had_used(home, fleet):
    """A run that was on the old one told of its limit after it was removed."""
    here = fleet(work="claude")
    remove(here, "work")
    open_accounts(home.path).apply({"work": LimitRefused(FULL, 1)}, NOW)
    fleet(work="claude")
    assert open_accounts(home.path).state("work") == EMPTY


def test_a_paused_account_is_shown_as_paused_whatever_else_is_wrong(home, fleet):
    """A person who paused an account without a login sees that the pause took effect."""
    pause(fleet(one="claude"), "one")
    (shown,) = [each for each in accounts_now(opened(home), NOW) if each.account.name == "one"]
    assert shown.shut == "one is paused: fleet account resume one"
    resume(opened(home), "one")
    (shown,) = [each for each in accounts_now(opened(home), NOW) if each.account.name == "one"]
    assert "not logged in" in shown.shut


def test_a_login_that_told_no_window_is_listed_once_it_was_used(home):
    """Not every CLI tells of limits; and a login that nothing is held against is open."""
    open_accounts(home.path).apply({"codex": RunStarted("fleet-a")}, NOW)
    found = [each.account.name for each in accounts_now(opened(home), NOW)]
    assert found == ["codex", opened(home).config.coder]
    assert resume(opened(home), "codex") is None
