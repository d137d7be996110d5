"""Puts tasks on accounts: asks the scheduler with what is known, and takes in what runs tell."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

from msgspec import structs

from fleet import coders
from fleet.accounts import candidates, credentials
from fleet.accounts.account_store import Ledger
from fleet.accounts.candidates import Place, Stages
from fleet.accounts.choose_account import Go, Seat, Standing, Wait, choose, patience, retry_at
from fleet.accounts.circuit_breaker import Blamed, Breaker
from fleet.accounts.keyring import Answer, Beside, Keyring
from fleet.coders.base import Coder
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.runs.outcome_history import Ending
from fleet.schemas import Account, Failed, RateLimited
from fleet.schemas.budget_status import BudgetStatus
from fleet.spending.budgets import next_day, spent_words
from fleet.supervisor.active.active_run import Live


class AccountAssigner:
    """Which account each run is on, and what that does to it."""

    def __init__(
        self,
        home: Home,
        *,
        breaker: Breaker,
        aside: Beside,
        log: Log,
        env: Mapping[str, str],
        running: Callable[[], Counter[str]],
        at_work: Callable[[str], bool],
        spent: Callable[[str], BudgetStatus | None],
    ) -> None:
        self.ledger = Ledger(home.path, self._unwritten)
        self._home, self._breaker, self._log, self._env = home, breaker, log, env
        self._keyring = Keyring(aside)
        self._running, self._at_work, self._spent = running, at_work, spent
        #: What a run takes, more or less, in seconds.
        self._typical = 60.0
        #: Tasks that were sent away from an account since it last took one.
        self._turned_away: Counter[str] = Counter()
        #: Accounts that had as many agents as they may when a task came; and whether one of them
        #: has one less by now.
        self.full_accounts: set[str] = set()
        self.account_freed = False
        self._told: dict[str, str] = {}

    def _unwritten(self, error: OSError) -> None:
        text = f"what is known of the accounts cannot be written: {error.strerror or error}"
        self._log.say("disk", text)

    # Before a run.

    def stages(self, config: Config, place: Place) -> Stages:
        """Where a task may run, with the models that it would have there. Raises FleetError."""
        return candidates.stages_of(place, config, self._home.path)

    def choose(
        self, config: Config, place: Place, task_id: str, last: Ending | None, now: datetime
    ) -> Go | Wait:
        """The seat for a task, or until when it waits. Raises FleetError."""
        stages = self.stages(config, place)
        standings = self._standings(stages, task_id, now)
        at_home = last.account if last is not None else ""
        found = choose(
            stages, self.ledger.gauges, standings, now,
            at_home=at_home, pause=patience(self._typical),
        )  # fmt: skip
        if isinstance(found, Go):
            return found
        self._turned_away[found.account] += 1
        if found.busy:
            self.full_accounts.add(found.account)
        dice = random.random()  # noqa: S311 - not a secret
        return structs.replace(
            found, until=retry_at(found, self._turned_away[found.account], dice, now)
        )

    def _standings(self, stages: Stages, task_id: str, now: datetime) -> dict[str, Standing]:
        running = self._running()
        found: dict[str, Standing] = {}
        for stage in stages:
            for seat in stage:
                name = seat.account.name
                standing = self._standing(seat, running[name], task_id, now)
                if name not in found or standing.trouble:
                    found[name] = standing
        return found

    def _standing(self, seat: Seat, running: int, task_id: str, now: datetime) -> Standing:
        account = seat.account
        gauge = self.ledger.gauge(account.name)
        secret, known = self._secret(account, now)
        trouble, until = self._trouble(seat, task_id, secret, now)
        ends = credentials.login_ends(account, self._kind(account), self._env, now)
        probe = gauge.pace.probe
        return Standing(
            running=running,
            probing=bool(probe) and probe != task_id and self._at_work(probe),
            login_ends=None if ends == gauge.proven_login else ends,
            fetching=not known,
            trouble=trouble,
            trouble_until=until,
        )

    def _secret(self, account: Account, now: datetime) -> tuple[Answer | None, bool]:
        """What the keyring said of its secret, if it is there; and whether it has said anything."""
        place = credentials.in_keyring(account)
        answer = self._keyring.get(place, now) if place and account.enabled else None
        return answer, not place or answer is not None

    def _trouble(
        self, seat: Seat, task_id: str, secret: Answer | None, now: datetime
    ) -> tuple[str, datetime | None]:
        account = seat.account
        if (spent := self._spent(account.name)) is not None:
            return spent_words(spent), next_day(now)
        blamed = Blamed(coder=seat.coder, model=seat.model, account=account.name)
        held = self._breaker.admit(blamed, task_id, now, self._at_work)
        if held is not None:
            return f"{held.name} gets no work: {held.text}", held.until
        kind = self._kind(account)
        found = credentials.trouble(account, kind, self._env, told=secret)
        found = found or credentials.no_login(account, kind)
        text = f"account {account.name} gets no work: {found}" if found else ""
        if text and self._told.get(account.name) != text:
            self._log.say("account", text, account=account.name)
        self._told[account.name] = text
        return text, None

    def _kind(self, account: Account) -> type[Coder]:
        return coders.find(account.coder, self._home.path)

    def variables(self, account: Account) -> dict[str, str]:
        """What an agent needs to work on it. Raises AccountTrouble."""
        told = self._keyring.known(credentials.in_keyring(account))
        return credentials.variables(account, self._kind(account), self._env, told=told)

    def outline(self, account: Account) -> dict[str, str]:
        """The same, with a mark for the secret: where its state is, and what it was given."""
        return credentials.outline(account, self._kind(account), self._env)

    def waits_for_person(self, config: Config, place: Place, task_id: str, now: datetime) -> str:
        """What only a person can open, if nothing else is open to the task; empty otherwise."""
        found = self._glance(config, place, task_id, now)
        return found.why if isinstance(found, Wait) and found.person else ""

    def has_room(self, config: Config, place: Place, task_id: str, now: datetime) -> bool:
        """A task would find a seat at once."""
        return isinstance(self._glance(config, place, task_id, now), Go)

    def _glance(
        self, config: Config, place: Place, task_id: str, now: datetime
    ) -> Go | Wait | None:
        """What a task would be told if it came now, and nobody remembers; None: it is invalid."""
        try:
            stages = self.stages(config, place)
        except FleetError:
            return None
        standings = self._standings(stages, task_id, now)
        return choose(stages, self.ledger.gauges, standings, now)

    def has_other_seat(self, config: Config, place: Place, account: str) -> bool:
        """There is another seat for a task than this account's."""
        with suppress(FleetError):
            stages = self.stages(config, place)
            seats_of = [seat for stage in stages for seat in stage]
            return len(stages) > 1 or any(seat.account.name != account for seat in seats_of)
        return False

    # While it runs, and after.

    def run_started(self, go: Go, task_id: str) -> None:
        account = go.seat.account.name
        del self._turned_away[account]
        blamed = Blamed(coder=go.seat.coder, model=go.seat.model, account=account)
        self._breaker.probe(blamed, task_id)
        self.ledger.begun(account, task_id, proving=go.proving)

    def follow(self, live: Live, config: Config, now: datetime) -> None:
        """Take in what a run's stream has told since it was last asked."""
        account = live.account
        for kind, limit in live.reading.limits.items():
            if live.fed.get(kind) is not limit:
                live.fed[kind] = limit
                self.ledger.told(account, limit, self._running()[account], now)
        if not live.answered and _has_answer(live):
            live.answered = True
            known = config.accounts.get(account) or candidates.own_login(live.coder.name, config)
            slots = min(config.max_concurrent, known.max_concurrent)
            # Not by its name: what that stands for may have changed since the run began.
            ends = credentials.login_ends(known, type(live.coder), self._env, now)
            self.ledger.answered(account, live.task_id, slots, ends, now)

    def wrong_login(self, live: Live, config: Config) -> Failed | None:
        """The agent works on another login than the one that was meant."""
        source = live.reading.key_source
        if not source or live.account not in config.accounts:
            return None
        what = live.coder.wrong_login(source, live.env)
        if not what:
            return None
        return Failed(reason="wrong_account", detail=f"account {live.account}: {what}")

    def run_ended(self, live: Live, ending: Ending, seconds: float, now: datetime) -> None:
        """A run is over: what its end says of its account."""
        account = live.account
        if seconds > 0:
            self._typical += (seconds - self._typical) / 8
        self.account_freed = self.account_freed or account in self.full_accounts
        match ending.outcome:
            case RateLimited(limit=limit):
                running, model = self._running()[account], live.coder.model
                self.ledger.refused(account, limit, running, now, model=model)
            case Failed() as failed if failed.is_account:
                self.ledger.barred(account, now)
            case _:
                self.ledger.ended(account, live.task_id)


def _has_answer(live: Live) -> bool:
    """The model has spoken; what stands in its place when it was refused does not count."""
    reading = live.reading
    spoke = reading.tool_calls > 0 or reading.turns > 0 or bool(reading.text)
    return spoke and not reading.reason
