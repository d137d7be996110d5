"""Tasks on several accounts, with real processes and a vendor that refuses."""

import os
import sys
import time

import pytest

from fleet.config import runtime_toml
from fleet.runs.outcome_history import read_ending
from tests.conftest import only_slow
from tests.fake_keyring import FakeKeyring
from tests.fakes import FAKES
from tests.vendor import Login, Vendor

HOUR = 3600


@pytest.fixture
def place(scene, tmp_path):
    """A scene whose claude is the light one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "claude"
    source = (FAKES / "claude_client.py").read_text()
    program.write_text(f"#!{sys.executable} -IS\n{source}")
    program.chmod(0o755)
    scene.env |= {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"):
        scene.env.pop(name, None)
    scene.configure(coder="claude", model="sonnet", max_concurrent=4)
    return scene


def declare(place, vendor, *names, **settings):
    """Accounts whose secrets are in variables."""
    place.env["ANTHROPIC_BASE_URL"] = vendor.url
    text = place.home.config.read_text()
    for name in names:
        folder = place.home.path / "accounts" / name
        folder.mkdir(parents=True)
        place.env[f"TOKEN_{name.upper()}"] = name
        own = {"coder": "claude", "directory": str(folder), "secret": f"env:TOKEN_{name.upper()}"}
        text = runtime_toml.changed(text, own | settings, place.home.config, "accounts", name)
    place.home.config.write_text(text)


def task(place, **wishes):
    return place.add("sonnet", coder="claude", **wishes)


def endings(place, task_id):
    return [read_ending(run) for run in place.runs(task_id)]


def test_a_task_moves_on_to_the_account_that_has_something_left(place):
    """With its session, at no attempt, and the account that is used up gets nothing more."""
    with Vendor({"one": Login(1, HOUR), "two": Login(50, HOUR)}, turns=4) as vendor:
        declare(place, vendor, "one", "two")
        first = task(place, account="one", fallback="account:two")
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert place.status(first) == "closed"
        one, two = endings(place, first)
        assert (one.account, two.account) == ("one", "two")
        assert (one.counts, two.resumed, two.session_id) == (False, True, one.session_id)
        assert [login for _, login, _, _ in vendor.asked] == ["one", "one", "two", "two", "two"]
        second = task(place)
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert [ending.account for ending in endings(place, second)] == ["two"]


@only_slow
def test_work_is_spread_over_the_accounts(place):
    """Each has its share, and the receipts and the overview say which."""
    logins = {name: Login(100, HOUR) for name in ("one", "two")}
    with Vendor(logins, turns=2, pause=0.3) as vendor:
        declare(place, vendor, "one", "two")
        tasks = [task(place) for _ in range(8)]
        assert place.until_ended(place.supervise("--until-idle")) == 0
        used = [endings(place, each)[-1].account for each in tasks]
        assert 2 <= used.count("one") <= 6
        shown = place.fleet("accounts").stdout
        assert shown.count("five_hour") == 2
        assert "resets" in shown


def test_a_reserve_is_kept_for_its_owner(place):
    """At half of its window an account gets no new work, and its task waits for the reset."""
    with Vendor({"one": Login(8, HOUR)}, turns=2) as vendor:
        place.configure(max_concurrent=1)
        declare(place, vendor, "one", stop_at=50)
        tasks = [task(place) for _ in range(6)]
        place.supervise()
        place.until(lambda: all(place.task(t).not_before or place.task(t).closed_at for t in tasks))
        waiting = [t for t in tasks if place.status(t) == "open"]
        assert len(waiting) == 4
        assert vendor.logins["one"].used == 4, "the rest is the owner's"
        assert all(place.task(t).not_before.timestamp() > time.time() + HOUR / 2 for t in waiting)
        assert "until" in place.fleet("accounts").stdout


def test_a_refused_login_costs_no_task_while_there_is_another(place):
    """The task goes on elsewhere, and a person is told of the account."""
    with Vendor({"bad": Login(1, HOUR, refuses=401), "good": Login(50, HOUR)}) as vendor:
        declare(place, vendor, "bad", "good")
        tasks = [task(place) for _ in range(4)]
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert {place.status(each) for each in tasks} == {"closed"}
        failed = [each for t in tasks for each in endings(place, t) if each.account == "bad"]
        assert failed
        assert not any(each.counts for each in failed)


def test_an_account_whose_secret_is_gone_gets_no_work_until_it_is_back(place):
    """It is said once; nothing is blocked, and the task runs when it can."""
    with Vendor({"one": Login(50, HOUR)}) as vendor:
        declare(place, vendor, "one")
        text = place.home.config.read_text().replace("env:TOKEN_ONE", f"file:{place.project}/key")
        place.home.config.write_text(text)
        waits = task(place)
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert place.status(waits) == "open"
        (said,) = place.log("account")
        assert "its secret is gone" in said["text"]
        assert "secret is gone" in place.fleet("accounts").stdout
        assert place.fleet("account", "check").returncode == 1


def test_paused_accounts_leave_their_tasks_waiting_and_resumed_ones_take_them(place):
    """The supervisor follows the file; what waits is not blocked."""
    with Vendor({"one": Login(50, HOUR)}) as vendor:
        declare(place, vendor, "one")
        assert place.fleet("account", "pause", "one").returncode == 0
        waits = task(place)
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert place.status(waits) == "open"
        assert "one is paused" in place.log("idle")[-1]["text"]
        assert place.fleet("account", "resume", "one").returncode == 0
        place.supervise()
        place.until_status(waits, "closed")


def test_an_account_that_is_added_takes_what_waits_for_another(place):
    """No task waits an hour for a reset, or for a person, while there is a login with room."""
    with Vendor({"one": Login(1, HOUR), "two": Login(50, HOUR)}, turns=2) as vendor:
        declare(place, vendor, "one")
        place.env["TOKEN_TWO"] = "two"
        waits = task(place)
        place.supervise()
        place.until(lambda: place.task(waits).not_before)
        added = ("account", "add", "two", "--coder", "claude", "--secret", "env:TOKEN_TWO")
        assert place.fleet(*added).returncode == 0
        place.until_status(waits, "closed")
        words = "1 task that was put off can run"
        assert words in place.log("account_room")[-1]["text"]


@only_slow
def test_a_chain_that_is_set_without_a_supervisor_takes_what_waits(place):
    """The next supervisor looks anew at who has to wait."""
    with Vendor({"one": Login(1, HOUR), "two": Login(50, HOUR)}, turns=2) as vendor:
        declare(place, vendor, "one")
        declare(place, vendor, "two", weight=0)
        waits = task(place)
        supervisor = place.supervise()
        place.until(lambda: place.task(waits).not_before)
        place.kill(supervisor)
        assert place.fleet("config", "set", "fallback=account:two").returncode == 0
        place.supervise()
        place.until_status(waits, "closed")


def test_an_account_that_is_resumed_takes_its_tasks_at_once(place):
    """Also when the supervisor claims them before it has seen the file."""
    with Vendor({"one": Login(50, HOUR)}) as vendor:
        declare(place, vendor, "one")
        assert place.fleet("account", "pause", "one").returncode == 0
        waits = task(place)
        place.supervise()
        place.until(lambda: place.task(waits).not_before)
        assert place.fleet("account", "resume", "one").returncode == 0
        place.until_status(waits, "closed", patience=20)


@only_slow
def test_a_login_that_was_refused_gets_work_again_by_hand(place):
    """No task is blocked for it or pays for it, and either command frees all that wait."""
    with Vendor({"one": Login(1, HOUR, refuses=401)}) as vendor:
        declare(place, vendor, "one")
        place.supervise()
        for words in (("account", "resume", "one"), ("resume", "--coder", "claude")):
            vendor.logins["one"] = Login(1, HOUR, refuses=401)
            tasks = [task(place) for _ in range(2)]
            for each in tasks:
                place.until(lambda each=each: place.task(each).not_before)
            assert [place.status(each) for each in tasks] == ["open", "open"]
            assert "held" in place.fleet("status").stdout
            vendor.logins["one"] = Login(50, HOUR)
            assert place.fleet(*words).returncode == 0
            seen = place.fleet("status").stdout
            assert "held" not in seen
            assert "cooling" not in seen
            for each in tasks:
                place.until_status(each, "closed")
                assert not any(each.counts for each in endings(place, each)[:-1])


def test_a_task_that_waits_for_an_account_says_so(place):
    """Whatever keeps it: `show` has the reason, `ready` the time, `status` the account."""
    with Vendor({"one": Login(1, HOUR)}) as vendor:
        declare(place, vendor, "one")
        waits = task(place)
        supervisor = place.supervise()
        place.until(lambda: place.task(waits).not_before)
        place.kill(supervisor)
        shown = place.fleet("show", waits).stdout
        assert "one waits for its limit to reset (five_hour)" in shown
        assert f"waits until {shown.split('not before:')[1].split()[0]}" in (
            place.fleet("ready").stdout
        )
        token = place.env.pop("TOKEN_ONE")
        for command in (("show", waits), ("status",)):
            assert "one gets no work: its secret is gone" in place.fleet(*command).stdout
        place.env["TOKEN_ONE"] = token
        assert place.fleet("account", "pause", "one").returncode == 0
        for command in (("show", waits), ("status",)):
            assert "one is paused: fleet account resume one" in place.fleet(*command).stdout


def test_a_chain_leads_only_to_accounts_and_coders_that_exist(place):
    """Any other step would block every task, so it is refused: when it is set, and later."""
    refused = ["fallback=account:nobody", "fallback=coder:nobody"]
    for words in (*([each] for each in refused), ["--project", str(place.project), refused[0]]):
        done = place.fleet("config", "set", *words)
        assert done.returncode != 0
        assert "nobody" in done.stderr
    place.env["KEY"] = "k"
    added = place.fleet("account", "add", "spare", "--coder", "claude", "--secret", "env:KEY")
    assert added.returncode == 0
    for where, words in (("", ()), (f" of {place.project}", ("--project", str(place.project)))):
        chain = "fallback=account:spare"
        assert place.fleet("config", "set", *words, chain).returncode == 0
        done = place.fleet("account", "remove", "spare")
        assert f"fallback{where} leads to spare" in done.stderr
        assert place.fleet("config", "set", *words, "fallback=none").returncode == 0
    assert place.fleet("account", "remove", "spare").returncode == 0


ADD_NEW = ("account", "add", "new", "--coder", "claude", "--only")


def test_an_account_that_is_not_logged_in_yet_costs_no_task_anything(place):
    """Between `add` and `login` no task is sent there and blocked for it."""
    with Vendor({"one": Login(50, HOUR)}) as vendor:
        place.env["ANTHROPIC_BASE_URL"] = vendor.url
        assert place.fleet(*ADD_NEW).returncode == 0
        waits = task(place)
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert (place.status(waits), vendor.asked) == ("open", [])
        assert "fleet account login new" in place.fleet("status").stdout


def test_a_login_opens_its_account_for_what_waits(place, tmp_path):
    """No other command is needed, and a login that was given up opens nothing."""
    folder = place.home.path / "accounts" / "new"
    light = tmp_path / "bin" / "light"
    (tmp_path / "bin" / "claude").rename(light)
    program = tmp_path / "bin" / "claude"
    file = "$CLAUDE_CONFIG_DIR/.credentials.json"
    log_in = f'[ -n "$GIVES_UP" ] && exit 3; umask 077; echo "{{}}" > "{file}"; exit 0'
    program.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "auth login" ] && {{ {log_in}; }}\nexec {light} "$@"\n'
    )
    program.chmod(0o755)
    with Vendor({str(folder): Login(50, HOUR)}) as vendor:
        place.env["ANTHROPIC_BASE_URL"] = vendor.url
        assert place.fleet(*ADD_NEW).returncode == 0
        waits = task(place)
        place.supervise()
        place.until(lambda: place.task(waits).not_before)
        place.env["GIVES_UP"] = "1"
        assert place.fleet("account", "login", "new").returncode == 3
        assert place.task(waits).not_before
        del place.env["GIVES_UP"]
        assert place.fleet("account", "login", "new").returncode == 0
        place.until_status(waits, "closed", patience=20)


@only_slow
def test_an_account_that_is_removed_names_what_still_runs_on_it(place):
    """Its agents go on."""
    with Vendor({"one": Login(50, HOUR)}, pause=1.0) as vendor:
        declare(place, vendor, "one")
        runs = task(place)
        place.supervise()
        place.until(lambda: runs in place.fleet("accounts").stdout)
        assert f"goes on: {runs}" in place.fleet("account", "remove", "one").stdout
        place.until_status(runs, "closed")
        assert "claude 2 sonnet on one" in place.fleet("task", runs, "receipt").stdout


def test_a_supervisor_that_is_killed_forgets_no_limit(place):
    """The next one asks nothing of an account that is used up."""
    with Vendor({"one": Login(1, HOUR)}) as vendor:
        declare(place, vendor, "one")
        first = task(place)
        supervisor = place.supervise()
        place.until(lambda: place.task(first).not_before)
        place.kill(supervisor)
        asked = len(vendor.asked)
        second = task(place)
        place.supervise()
        place.until(lambda: place.task(second).not_before)
        assert place.runs(second) == []
        assert len(vendor.asked) == asked


@only_slow
def test_a_herd_comes_back_step_by_step_after_a_reset(place):
    """Eight tasks wait for one reset: one tries, the others follow, and no attempt is burned."""
    with Vendor({}, turns=2, pause=2.0) as vendor:
        reset = time.time() + 6
        vendor.logins["one"] = Login(1000, HOUR, until=reset, rate=5)
        declare(place, vendor, "one")
        tasks = [task(place) for _ in range(8)]
        place.supervise("--until-idle")
        for each in tasks:
            place.until_status(each, "closed", patience=120)
        counted = [each.counts for t in tasks for each in endings(place, t)[:-1]]
        assert not any(counted)
        served = [at - reset for at, _, _, status in vendor.asked if status == 200]
        assert min(served) >= 0
        began = {}
        for at, _, name, status in vendor.asked:
            if status == 200:
                began.setdefault(name, at - reset)
        early = sum(at < 5 for at in began.values())
        assert early <= 3, sorted(began.values())


def test_a_secret_reaches_its_agent_and_no_file_of_fleets(place):
    """Neither records, logs and receipts nor what commands print; also when it is refused."""
    secret = "tok-4711-0815"
    with Vendor({secret: Login(1, HOUR), "two": Login(50, HOUR)}, turns=2) as vendor:
        declare(place, vendor, "one", "two")
        place.env["TOKEN_ONE"] = secret
        first = task(place, account="one", fallback="account:two")
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert place.status(first) == "closed"
        assert secret in [login for _, login, _, _ in vendor.asked]
        own = [path for path in place.home.path.rglob("*") if path.is_file()]
        theirs = place.home.path / "accounts"  # what its CLI keeps is that one's concern
        files = [path for path in own if theirs not in path.parents]
        assert len(files) > 10
        assert [path for path in files if secret.encode() in path.read_bytes()] == []
        receipt = f"task {first} receipt"
        for words in ("accounts --json", "account check", receipt, "doctor"):
            done = place.fleet(*words.split())
            assert secret not in done.stdout + done.stderr, words


@only_slow
def test_a_slow_keyring_gives_its_secret_and_an_empty_one_holds_no_task(place, tmp_path):
    """One account is served by it; the other has nothing there, and its tasks go elsewhere."""
    keyring = FakeKeyring(tmp_path / "keyring", place.env)
    keyring.holds(fleet={"one": "one"})
    keyring.sleeps(0.5)
    with Vendor({"one": Login(50, HOUR)}) as vendor:
        declare(place, vendor, "locked", "one")
        text = place.home.config.read_text()
        for name in ("locked", "one"):
            text = text.replace(f"env:TOKEN_{name.upper()}", f"keyring:fleet/{name}")
        place.home.config.write_text(text)
        tasks = [task(place) for _ in range(3)]
        assert place.until_ended(place.supervise("--until-idle")) == 0
        assert {place.status(each) for each in tasks} == {"closed"}
        assert {login for _, login, _, _ in vendor.asked} == {"one"}
        (said,) = place.log("account")
        assert "locked gets no work: its secret is gone" in said["text"]


def test_a_seat_that_is_free_again_goes_to_the_first_task_that_waits(place):
    """At once, and in the order of the queue, whatever `not_before` says."""
    with Vendor({"one": Login(500, HOUR)}, turns=2, pause=0.4) as vendor:
        declare(place, vendor, "one", max_concurrent=1)
        tasks = [task(place) for _ in range(5)]
        for priority, each in enumerate(reversed(tasks)):
            assert place.fleet("bd", "update", each, "-p", str(priority)).returncode == 0
        place.supervise("--until-idle")
        for each in tasks:
            place.until_status(each, "closed")
        began = list(dict.fromkeys(name for _, _, name, _ in vendor.asked))
        assert began == list(reversed(tasks))
