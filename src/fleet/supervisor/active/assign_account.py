"""Assigns tasks to accounts, and records what runs show of their accounts."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime

from msgspec import structs

from fleet import coders
from fleet.accounts import candidates, credentials
from fleet.accounts.account_gate import AccountFacts, SeatFacts
from fleet.accounts.account_state import (
    AccountEvent,
    HeldLogin,
    LimitRefused,
    LimitSeen,
    LoginRefused,
    ModelAnswered,
    RunEnded,
    RunStarted,
    held_logins,
    own_outages,
    probes_of,
)
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import Place, Stages
from fleet.accounts.choose_account import (
    AccountStanding,
    AccountWait,
    Go,
    Seat,
    busy_pause,
    choose,
    retry_at,
)
from fleet.accounts.kept_secret import KeyringAnswer, KeyringCache, Workers, keyring_place
from fleet.accounts.login_faults import Fault, Note, RunShowed, Use, tries
from fleet.coders.base import Coder
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.home.status_file import ShutAccount
from fleet.runs.outcome_history import Ending
from fleet.schemas import Account, Failed, Outcome, RateLimited, Task
from fleet.schemas.shown_text import first_line
from fleet.schemas.units import shown_span
from fleet.spending.budgets import next_day, spent_words
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.active.keep_logins import LoginKeeper
from fleet.supervisor.assignments import Active, ActiveRun, Assignments, Stopping


class AccountAssigner:
    """Chooses the seat of each run, and keeps `accounts.json` up to date."""

    def __init__(
        self,
        home: Home,
        *,
        pool: Workers,
        log: Log,
        env: Mapping[str, str],
        assignments: Assignments,
        meter: BudgetMeter,
    ) -> None:
        self.accounts = open_accounts(home.path, self._say_unwritten)
        self._home, self._log, self._env = home, log, env
        self._keyring = KeyringCache(pool)
        self.logins = LoginKeeper(
            home.path, pool=pool, log=log, env=env, on_failure=self._login_failed
        )
        self._assignments, self._meter = assignments, meter
        #: The usual length of a run, in seconds.
        self._typical = 60.0
        #: How many tasks were put off for an account since a run last started on it.
        self._turned_away: Counter[str] = Counter()
        #: Accounts that were at `max_concurrent` when a task was put off for them.
        self.full_accounts: set[str] = set()
        #: The trouble of each account that was last logged.
        self._logged: dict[str, str] = {}
        #: What was last found of each account, for surfaces.
        self._known: dict[str, ShutAccount] = {}

    def _say_unwritten(self, error: OSError) -> None:
        text = f"what is known of the accounts cannot be written: {error.strerror or error}"
        self._log.say("disk", text)

    # Before a run.

    def facts(self) -> AccountFacts:
        """What is known of all accounts, as their gate takes it."""
        return AccountFacts(states=self.accounts.states, pause=busy_pause(self._typical))

    def seats(
        self, config: Config, place: Place, task_id: str, last: Ending | None, now: datetime
    ) -> SeatFacts:
        """The seats of a task, and how each account stands for it. Raises FleetError."""
        stages = candidates.stages_of(place, config, self._home.path)
        boxed = place.ruled.policy.sandbox.level != "off"
        return SeatFacts(
            stages=stages,
            standings=self._standings(stages, task_id, now, boxed=boxed),
            session_on=last.account if last is not None else "",
        )

    def turned_away(self, wait: AccountWait, now: datetime) -> datetime:
        """Count a task that found no seat; when it asks again."""
        self._turned_away[wait.account] += 1
        if wait.busy:
            self.full_accounts.add(wait.account)
        dice = random.random()  # noqa: S311 - not a secret
        return retry_at(wait, self._turned_away[wait.account], dice, now)

    def published(self) -> dict[str, ShutAccount]:
        """What this process alone knows of accounts, for surfaces: trouble with a secret or a
        login, and what is being done about that.
        """
        return {name: each for name, each in self._known.items() if each != ShutAccount()}

    def probes(self) -> tuple[str, ...]:
        """The tasks at work that try an account or a coder for all others."""
        tried = {each for state in self.accounts.states.values() for each in probes_of(state)}
        return tuple(sorted(tried & self._assignments.at_work()))

    def _standings(
        self, stages: Stages, task_id: str, now: datetime, *, boxed: bool = False
    ) -> dict[str, AccountStanding]:
        running, at_work = self._assignments.by_account(), self._assignments.at_work()
        found: dict[str, AccountStanding] = {}
        for stage in stages:
            for seat in stage:
                name = seat.account.name
                standing = self._standing(seat, running[name], now, boxed=boxed)
                standing = structs.replace(standing, task_id=task_id, at_work=at_work - {task_id})
                if name not in found or standing.trouble:
                    found[name] = standing
        return found

    def _standing(self, seat: Seat, running: int, now: datetime, *, boxed: bool) -> AccountStanding:
        account = seat.account
        state = self.accounts.state(account.name)
        secret, known = self._secret(account, now)
        trouble, until = self._trouble(seat, secret, now)
        kind = self._kind(account)
        ends = credentials.login_ends(account, kind, self._env, now)
        readying = "" if known else f"the secret of {account.name} is being fetched"
        if boxed and not trouble and account.enabled:
            held = self.logins.hold(account, kind, now)
            if held is not None and held.why:
                trouble = f"account {account.name} gets no work: {held.why}"
            elif held is not None:
                readying = f"the login of {account.name} is being renewed"
        unproven = None if ends == state.proven_login else ends
        if until is None:  # else a budget is spent, which surfaces know
            self._known[account.name] = ShutAccount(
                trouble=trouble, readying=readying, login_ends=unproven
            )
        return AccountStanding(
            running=running,
            login_ends=unproven,
            readying=readying,
            trouble=trouble,
            trouble_until=until,
        )

    def _secret(self, account: Account, now: datetime) -> tuple[KeyringAnswer | None, bool]:
        """The keyring's answer for an account's secret, and False while there is none yet."""
        place = keyring_place(account.secret)
        answer = self._keyring.get(place, now) if place and account.enabled else None
        return answer, not place or answer is not None

    def _trouble(
        self, seat: Seat, secret: KeyringAnswer | None, now: datetime
    ) -> tuple[str, datetime | None]:
        account = seat.account
        if (spent := self._meter.spent_by(account.name)) is not None:
            return spent_words(spent), next_day(now)
        kind = self._kind(account)
        found = credentials.trouble(account, kind, self._env, answer=secret)
        found = found or credentials.no_login(account, kind)
        text = f"account {account.name} gets no work: {found}" if found else ""
        if text and self._logged.get(account.name) != text:
            self._log.say("account", text, account=account.name)
        self._logged[account.name] = text
        return text, None

    def _kind(self, account: Account) -> type[Coder]:
        return coders.find(account.coder, self._home.path)

    def _login_failed(self, name: str, why: str, now: datetime) -> None:
        """A login could not be renewed: a person has to log in."""
        self._apply(name, LoginRefused(why), now)

    def keep_logins(self, config: Config, now: datetime) -> None:
        """Keep the logins good that boxed runs work with; called once a tick."""
        boxed = list[tuple[ActiveRun, Account, type[Coder]]]()
        for assignment, run in self._assignments.runs():
            if run.spec.boxed and isinstance(assignment.stage, Active | Stopping):
                boxed.append((run, self._account_of(run, config), type(run.coder)))
        self.logins.keep(boxed, now)

    def as_stale(self, run: ActiveRun, outcome: Outcome, config: Config) -> Outcome:
        """The outcome; that of a box whose access token has ended is no fault of its account's."""
        if run.memory.stale is None:
            kind, account = type(run.coder), self._account_of(run, config)
            run.memory.stale = self.logins.is_stale(run, outcome, account, kind)
        if run.memory.stale and isinstance(outcome, Failed):
            return structs.replace(outcome, reason="stale_login")
        return outcome

    def _account_of(self, run: ActiveRun, config: Config) -> Account:
        return config.accounts.get(run.account) or candidates.own_login(run.coder.name, config)

    def variables(self, account: Account) -> dict[str, str]:
        """The environment that puts an agent on the account. Raises SecretTrouble."""
        answer = self._keyring.latest(keyring_place(account.secret))
        return credentials.variables(account, self._kind(account), self._env, answer=answer)

    def with_room(self, config: Config, names: Iterable[str], now: datetime) -> tuple[str, ...]:
        """The accounts of these coders that would take a run now, each behind the coder's name."""
        found: list[str] = []
        for coder in names:
            with suppress(FleetError):
                for account in candidates.accounts_for(coder, config):
                    stages = ((Seat(account=account, model=""),),)
                    standings = self._standings(stages, "", now)
                    if isinstance(choose(stages, self.accounts.states, standings, now), Go):
                        found.append(f"{coder}/{account.name}")
        return tuple(found)

    def key_marks(self, config: Config) -> dict[str, str]:
        """The mark of each account's key, for accounts that have a key and not a login."""
        names = (*coders.names(self._home.path), *config.accounts)
        marks = {name: self.key_mark(config, name) for name in names}
        return {name: mark for name, mark in marks.items() if mark}

    def key_mark(self, config: Config, name: str) -> str:
        """The mark of an account's key; empty for a login."""
        account = config.accounts.get(name) or candidates.own_login(name, config)
        try:
            kind = self._kind(account)
        except FleetError:
            return ""
        answer = self._keyring.latest(keyring_place(account.secret))
        return credentials.key_mark(account, kind, self._env, answer)

    def outline(self, account: Account) -> dict[str, str]:
        """The environment with a mark in the place of the secret."""
        return credentials.variables(account, self._kind(account), self._env, hidden=True)

    def has_other_seat(self, config: Config, task: Task, account: str) -> bool:
        """Whether the task could run elsewhere than on this account with the first model."""
        with suppress(FleetError):
            place = candidates.place_of(self._home, config, task)
            stages = candidates.stages_of(place, config, self._home.path)
            seats = [seat for stage in stages for seat in stage]
            return len(stages) > 1 or any(seat.account.name != account for seat in seats)
        return False

    # While it runs, and after.

    def run_started(self, go: Go, task_id: str, now: datetime) -> None:
        """Record that a run starts on the seat that was chosen."""
        account = go.seat.account.name
        del self._turned_away[account]
        started = RunStarted(task_id, go.proving, go.seat.use)
        self.accounts.apply({account: started}, now)

    def follow(self, run: ActiveRun, config: Config, now: datetime) -> list[LimitSeen]:
        """Record the limits and the first answer in a run's stream that are not recorded yet;
        returns the limits.
        """
        account, fresh = run.account, list[LimitSeen]()
        for kind, limit in run.totals.limits.items():
            if run.stream.limits_applied.get(kind) is not limit:
                run.stream.limits_applied[kind] = limit
                seen = LimitSeen(limit, self._assignments.by_account()[account])
                self.accounts.apply({account: seen}, now, durable=False)
                fresh.append(seen)
        if not run.memory.answered and _has_answer(run):
            run.memory.answered = True
            known = self._account_of(run, config)
            slots = min(config.max_concurrent, known.max_concurrent)
            # By the run's own coder: the account may have been given another since it began.
            ends = credentials.login_ends(known, type(run.coder), self._env, now)
            answered = ModelAnswered(run.task_id, slots, ends, _use(run))
            self._apply(account, answered, now)
        return fresh

    def wrong_login(self, run: ActiveRun, config: Config) -> Failed | None:
        """The outcome of a run whose agent uses another login than that of the run's account."""
        source = run.totals.key_source
        if not source:
            return None
        known = self._account_of(run, config)
        if known.is_own and credentials.own_key(type(run.coder), run.env):
            return None  # the user's own settings name a key, so that key is what was meant
        what = run.coder.wrong_login(source, run.env)
        if not what:
            return None
        return Failed(reason="wrong_account", detail=f"account {run.account}: {what}")

    def run_ended(
        self, run: ActiveRun, ending: Ending, seconds: float, now: datetime
    ) -> AccountEvent:
        """Record what the end of a run shows of the account, and return that."""
        if seconds > 0:
            self._typical += (seconds - self._typical) / 8
        event = self._event(run, ending)
        self.accounts.apply({run.account: event}, now)
        return event

    def own_outages(self, run: ActiveRun) -> int:
        """How often the vendor's service will have failed for this task alone, if it did now."""
        return own_outages(self.accounts.state(run.account), run.task_id)

    def note_fault(
        self, run: ActiveRun, fault: Fault | None, why: str, now: datetime
    ) -> HeldLogin | None:
        """Record what a run showed of its login, its model and its project; what is held for it.
        Log what is held from now on, and what works again.
        """
        if fault == "login":
            shown: AccountEvent = LoginRefused(why, run.task_id)
        else:
            note = Note(run.task_id, run.run.number, fault)
            shown = RunShowed(use=_use(run), note=note, version=run.totals.version, why=why)
        return self._apply(run.account, shown, now)

    def tries_held(self, run: ActiveRun) -> bool:
        """Whether the run tries for all others what is held of its login."""
        return tries(self.accounts.state(run.account).faults, _use(run), run.task_id)

    def _apply(self, account: str, event: AccountEvent, now: datetime) -> HeldLogin | None:
        """Change the state of an account. Each hold is logged once as it begins, is prolonged or
        ends. Returns one that began.
        """
        before = held_logins({account: self.accounts.state(account)}, now)
        self.accounts.apply({account: event}, now)
        held = held_logins({account: self.accounts.state(account)}, now)
        names, fresh = {each.name for each in before}, None
        for each in held:
            if each not in before:
                fresh = each
                again = "still gets" if each.name in names else "gets"
                text = f"{each.name} {again} no work: {each.why}"
                pause = shown_span((each.until - now).total_seconds())
                way = f"In {pause} one task tries it. To go on at once: {each.way_on}"
                self._log.say("held", f"{text}. {way}", account=account)
        for name in sorted(names - {each.name for each in held}):
            self._log.say("works_again", f"{name} works again and gets work", account=account)
        return fresh

    def _event(self, run: ActiveRun, ending: Ending) -> AccountEvent:
        match ending.outcome:
            case RateLimited(limit=limit, detail=detail):
                return LimitRefused(
                    limit, self._assignments.by_account()[run.account], run.coder.model,
                    task_id=run.task_id, why=first_line(detail),
                )  # fmt: skip
            case Failed() as failed if failed.is_account:
                return LoginRefused(failed.said, run.task_id)
            case _:
                return RunEnded(run.task_id)


def _use(run: ActiveRun) -> Use:
    """What a run uses of its login, as its seat says: a task of another host has its directory in a
    mirror.
    """
    return Use(model=run.coder.model, project=run.spec.project or run.project)


def _has_answer(run: ActiveRun) -> bool:
    """Whether the model has answered; a CLI's own words at a refusal are no answer."""
    totals = run.totals
    spoke = totals.tools.count > 0 or totals.tokens.turns > 0 or bool(totals.text)
    return spoke and not totals.reason
