"""The logins of boxed runs: renewed in time, and handed to the runs at work."""

import json
import os
from datetime import timedelta

import pytest
from msgspec import structs

from fleet.accounts.renew_login import BusyLogin, NotRenewed
from fleet.coders.agy import AgyCoder
from fleet.coders.claude import ClaudeCoder
from fleet.runs.cli_state.state_directory import state_directory
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Account, Failed, Finished
from fleet.supervisor.active import keep_logins
from fleet.supervisor.active.keep_logins import LoginHold, LoginKeeper
from fleet.supervisor.assignments import ActiveRun
from tests.builders import HOUR, NOW, a_task

SOON = timedelta(minutes=1)
REFUSED = Failed(reason="auth", detail="API Error: 401")


class Threads:
    """Does its work at `finish`, as a pool of threads would a little later."""

    def __init__(self):
        self.jobs = []

    def submit(self, job, done):
        self.jobs.append((job, done))

    def finish(self):
        while self.jobs:
            job, done = self.jobs.pop(0)
            done(job())


class Office:
    """A home of fleet's, an account with a login, and a CLI that renews it as it is told."""

    def __init__(self, home, log, root, monkeypatch):
        self.home, self.directory, self.threads = home, root / "work", Threads()
        self.directory.mkdir()
        self.account = Account(name="work", coder="claude", directory=str(self.directory))
        self.file = self.directory / ".credentials.json"
        self.failures, self.renewals = [], []
        #: What the CLI does: its answer, or the login that it stores.
        self.answer = NOW + HOUR
        self.keeper = LoginKeeper(
            home.path, pool=self.threads, log=log, env={"HOME": str(root)},
            on_failure=lambda name, why, _: self.failures.append((name, why)),
        )  # fmt: skip
        monkeypatch.setattr(keep_logins, "renew", self.renew)

    def renew(self, place, home, now, refused):
        del home, now
        self.renewals.append(refused)
        if isinstance(self.answer, (BusyLogin, NotRenewed)):
            return self.answer
        self.store(f"at-{len(self.renewals) + 1}", self.answer)
        return place.read()

    def store(self, access, ends, refresh="rt", owner=""):
        login = {
            "accessToken": access,
            "refreshToken": refresh,
            "expiresAt": ends.timestamp() * 1000,
        }
        fresh = self.directory / "fresh"
        fresh.write_text(json.dumps({"claudeAiOauth": login}))
        fresh.replace(self.file)
        os.utime(self.file, ns=(len(access), hash((access, ends)) % 10**9))
        if owner:
            about = {"oauthAccount": {"accountUuid": owner}}
            (self.directory / ".claude.json").write_text(json.dumps(about))

    def run(self, task="fleet-1", login=None):
        """A run at work in its box."""
        spec = RunSpec(argv=("true",), cwd="/", coder="claude", account="work", boxed=True)
        run = new_run(self.home.task(task), spec)
        state_directory(run).mkdir()
        active = ActiveRun(a_task(id=task), run, ClaudeCoder("sonnet"), env={}, spec=spec)
        active.memory.login = login
        return active

    def keep(self, *runs, now=NOW):
        self.keeper.keep([(run, self.account, ClaudeCoder) for run in runs], now)
        self.threads.finish()

    def hold(self, now=NOW):
        return self.keeper.hold(self.account, ClaudeCoder, now)

    def is_stale(self, run, outcome=REFUSED):
        return self.keeper.is_stale(run, outcome, self.account, ClaudeCoder)

    @staticmethod
    def in_box(run):
        file = state_directory(run.run) / ".credentials.json"
        return json.loads(file.read_text())["claudeAiOauth"] if file.exists() else None


@pytest.fixture
def office(home, log, tmp_path, monkeypatch):
    return Office(home, log, tmp_path, monkeypatch)


def test_a_login_that_nears_its_end_is_renewed_once_for_all_boxes(office, said):
    """Each run at work gets the new access token, without the refresh token."""
    office.store("at-1", NOW + SOON)
    runs = [office.run(f"fleet-{number}") for number in range(3)]
    office.keep(*runs)
    office.keep(*runs)
    assert office.renewals == [""]
    assert [office.in_box(run)["accessToken"] for run in runs] == ["at-2"] * 3
    assert {office.in_box(run)["refreshToken"] for run in runs} == {""}
    assert said == ["the login of work was renewed"]


def test_a_login_that_is_good_for_long_is_left_alone(office):
    """No CLI is started, and a file that a box has is not written again."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    office.in_box(run)
    (state_directory(run.run) / ".credentials.json").unlink()
    office.keep(run)
    assert office.in_box(run) is None
    assert office.renewals == []


def test_what_the_operators_own_cli_renewed_reaches_the_boxes(office):
    """Nobody tells fleet of it: the file is looked at."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    office.store("at-7", NOW + 2 * HOUR)
    office.keep(run)
    assert office.in_box(run)["accessToken"] == "at-7"
    assert office.renewals == []


def test_no_run_starts_while_a_login_that_was_emptied_is_being_renewed(office):
    """A CLI empties its file as the vendor refuses, before its command ends: a run that started
    then would be blocked as not logged in.
    """
    office.store("at-1", NOW + SOON)
    office.answer = NotRenewed("revoked")
    assert office.hold() == LoginHold()
    office.store("", NOW - HOUR, refresh="")
    assert office.hold() == LoginHold()
    office.threads.finish()
    assert "could not be renewed (revoked)" in office.hold().why


@pytest.mark.parametrize(("ends", "owner"), [(NOW + HOUR, ""), (NOW + 2 * HOUR, "somebody else")])
def test_an_older_login_or_one_of_another_account_reaches_no_box_at_work(office, ends, owner):
    """The operator may log in to another account, or put an old file back."""
    office.store("at-1", NOW + HOUR, owner="me")
    run = office.run()
    office.keep(run)
    office.store("at-2", ends, owner=owner)
    office.keep(run)
    assert office.in_box(run)["accessToken"] == "at-1"


@pytest.mark.parametrize("content", ["", "{", '{"claudeAiOauth": {"accessToken": ""}}'])
def test_a_login_file_that_is_no_login_changes_nothing_in_a_box(office, content):
    """A CLI that lost a race writes an empty one."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    office.file.write_text(content)
    office.keep(run)
    assert office.in_box(run)["accessToken"] == "at-1"


def test_a_run_that_is_over_gets_none(office):
    """Its directory is not made again, with a login in it."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    state_directory(run.run).rmdir()
    office.keep(run)
    assert not state_directory(run.run).exists()


def test_a_directory_in_the_place_of_the_login_is_that_runs_own_trouble(office, said):
    """The others get theirs, and the one is not tried each second."""
    office.store("at-1", NOW + HOUR)
    bad, good = office.run("fleet-1"), office.run("fleet-2")
    (state_directory(bad.run) / ".credentials.json/x").mkdir(parents=True)
    office.keep(bad, good)
    office.keep(bad, good)
    assert office.in_box(good)["accessToken"] == "at-1"
    (line,) = said
    assert "a run keeps its old access token" in line


def test_a_boxed_run_waits_until_its_login_is_renewed(office):
    """It would begin with a token that ends in its midst."""
    office.store("at-1", NOW + SOON)
    assert office.hold() == LoginHold()
    assert office.hold() == LoginHold()
    office.threads.finish()
    assert office.hold() is None
    assert office.renewals == [""]


def test_a_login_that_another_process_renews_is_waited_for(office):
    """A CLI that an earlier supervisor started goes on after that."""
    office.store("at-1", NOW + SOON)
    office.answer = BusyLogin()
    run = office.run()
    office.keep(run)
    office.keep(run)
    assert office.renewals == [""]
    office.keep(run, now=NOW + timedelta(seconds=1))
    assert office.renewals == ["", ""]
    assert office.failures == []


def test_a_login_that_cannot_be_renewed_holds_its_account(office):
    """With the command that mends it; it is tried again after longer and longer pauses, at work or
    not, and at once when the file has changed.
    """
    office.store("at-1", NOW + SOON)
    office.answer = NotRenewed("invalid_grant.")
    run = office.run()
    for _ in range(3):
        office.keep(run)
    why = "its login could not be renewed (invalid_grant): fleet account login work"
    assert office.failures == [("work", why)]
    assert office.hold() == LoginHold(why)
    assert office.renewals == [""]
    later = NOW + timedelta(minutes=5)
    assert office.hold(later) == LoginHold()
    office.threads.finish()
    assert office.hold(later + timedelta(minutes=9)) == LoginHold(why)
    assert len(office.renewals) == 2
    office.store("at-9", NOW + 2 * HOUR)
    assert office.hold(later) is None


def test_a_login_that_its_cli_emptied_holds_its_account_until_a_person_logs_in(office):
    """Runs would begin without a login."""
    office.store("at-1", NOW - SOON)
    office.answer = NotRenewed("it was spent")
    assert office.hold() == LoginHold()
    office.file.write_text("{}")
    office.threads.finish()
    assert office.hold(NOW + 2 * HOUR).why
    office.store("at-9", NOW + 3 * HOUR)
    assert office.hold(NOW + 2 * HOUR) is None


def test_the_way_out_of_the_users_own_login_names_the_cli(office):
    """`fleet account login` is for accounts with a directory of their own."""
    office.account = Account(name="claude", coder="claude")
    office.file = office.directory.parent / ".claude/.credentials.json"
    office.file.parent.mkdir()
    office.directory = office.file.parent
    office.store("at-1", NOW - SOON)
    office.answer = NotRenewed("no")
    office.hold()
    office.threads.finish()
    assert office.hold().why.endswith(": claude auth login, then: fleet account resume claude")


def test_a_run_whose_token_was_refused_leads_to_a_new_token(office):
    """The vendor may end an access token before its time; the account is good all the same."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    mark = run.memory.login.mark
    assert office.is_stale(run)
    assert office.hold() == LoginHold()
    office.answer = NOW + 2 * HOUR
    office.threads.finish()
    assert office.renewals == [mark]
    assert office.hold() is None


def test_a_new_token_that_is_refused_too_is_for_a_person(office):
    """Else a run would begin, be refused and begin again for ever."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    assert office.is_stale(run)
    office.answer = NOW + 2 * HOUR
    office.hold()
    office.threads.finish()
    again = office.run("fleet-2")
    office.keep(again)
    assert not office.is_stale(again)
    assert office.is_stale(run), "it began with the token of before"


@pytest.mark.parametrize("content", [None, b"{}", b'{"claudeAiOauth": {"accessToken": "at-1"}}'])
def test_an_agent_that_spoils_its_login_has_nothing_renewed(office, content):
    """Each renewal is a request to the vendor, in the operator's name."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    file = state_directory(run.run) / ".credentials.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    assert not office.is_stale(run)
    assert office.hold() is None


def test_only_a_refusal_in_a_box_is_a_matter_of_the_token(office):
    """Without a box the CLI renews its login itself; without a refresh token nobody can."""
    office.store("at-1", NOW + HOUR)
    run = office.run()
    office.keep(run)
    assert not office.is_stale(run, Finished())
    assert not office.is_stale(run, Failed(reason="billing"))
    run.spec = structs.replace(run.spec, boxed=False)
    assert not office.is_stale(run)
    office.store("at-1", NOW + HOUR, refresh="")
    assert not office.is_stale(office.run("fleet-2"))


@pytest.mark.parametrize(
    ("account", "coder", "env"),
    [
        (Account(name="k", coder="claude", secret="env:X"), ClaudeCoder, {}),
        (Account(name="claude", coder="claude"), ClaudeCoder, {"ANTHROPIC_API_KEY": "k"}),
        (Account(name="agy", coder="agy"), AgyCoder, {}),
    ],
)
def test_a_key_or_a_login_in_no_file_is_not_fleets_to_renew(home, log, account, coder, env):
    """A run with one is never held for it."""
    keeper = LoginKeeper(home.path, pool=Threads(), log=log, env=env, on_failure=None)
    assert keeper.hold(account, coder, NOW) is None
