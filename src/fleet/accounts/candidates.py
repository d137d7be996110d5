"""What a task will run with: the place (directory, coder, model, policy), and the seats: the
accounts of the coder, and behind them what the chain names.

`place_of` and `stages_of` answer this for the supervisor and for every command alike.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet import coders
from fleet.accounts.account_state import AccountState
from fleet.accounts.choose_account import AccountStanding, AccountWait, Seat, unavailable
from fleet.config import Config
from fleet.errors import BadInput, InvalidTask
from fleet.home import Home
from fleet.home.task_json import local_settings
from fleet.home.task_policy import PROJECT, EffectivePolicy, check_contradictions, policy_of
from fleet.schemas import Settings, Task
from fleet.schemas.account import Account, Step, read_chain
from fleet.schemas.hosts.code_origin import CodeOrigin

#: The parts of a place that a task may ask for itself.
_OWN = ("cwd", "coder", "model", "fallback")

Stages = tuple[tuple[Seat, ...], ...]


class Place(Struct, frozen=True, kw_only=True):
    """Where and with what a task would run, and which of that the task asked for."""

    cwd: str
    coder: str
    #: The model that the coder is asked for; empty: the coder's CLI chooses.
    model: str
    #: The only account that the task may run on; empty: any account of its coder.
    account: str = ""
    #: Where the task goes when those accounts have no room.
    fallback: tuple[Step, ...] = ()
    #: Which of cwd, coder, model and fallback the task asked for, in this order.
    own: tuple[str, ...] = ()
    #: Where coder, model and chain come from, if neither from the task nor from runtime.toml's key.
    origins: Mapping[str, str] = {}
    ruled: EffectivePolicy
    #: Where the code comes from, of a task whose directory is on another host.
    origin: CodeOrigin | None = None

    @property
    def overrides(self) -> tuple[str, ...]:
        """Which of cwd, coder and model the task asked for."""
        return tuple(name for name in self.own if name != "fallback")


def place_of(home: Home, config: Config, task: Task, *, coder: str | None = None) -> Place:
    """The task's place; `coder` (of `fleet run --coder`) replaces the configured one.

    A coder that cannot be loaded keeps the configured model. Raises InvalidTask.
    """
    return place_for(home, config, local_settings(home, task), task.id, coder=coder)


def place_for(
    home: Home, config: Config, own: Settings, task_id: str, *, coder: str | None = None
) -> Place:
    """The place of a task with these settings of its own. Raises InvalidTask."""
    ruled = _ruled(config, own, task_id, own.cwd or str(home.path))
    cwd = own.cwd or str(home.path)
    account = config.accounts.get(own.account or "")
    name = own.coder or (account.coder if account else None) or coder or config.coder
    # The configured model is the configured coder's: another one takes its own.
    usual = config.model if own.coder in (None, config.coder) else ""
    model = own.model or usual or config.model
    origins: dict[str, str] = {}
    if own.coder is None and name != config.coder:
        origins["coder"] = "its account's" if account else "fleet run --coder"
    with suppress(BadInput):
        wanted = own.model or usual
        model = coders.model_of(name, wanted, home.path, inherited=own.model is None)
        if model != wanted:
            origins["model"] = f"{name}'s own"
    if own.fallback is None and "fallback" in config.project(cwd).settings:
        origins["fallback"] = PROJECT
    return Place(
        cwd=cwd,
        coder=name,
        model=model,
        account=own.account or "",
        fallback=_chain(config, own, cwd),
        own=tuple(name for name in _OWN if getattr(own, name) is not None),
        origins=origins,
        ruled=ruled,
        origin=own.repository,
    )


def _ruled(config: Config, own: Settings, task_id: str, cwd: str) -> EffectivePolicy:
    """The rules of a task. Raises InvalidTask for a task whose settings exclude each other."""
    ruled = policy_of(config, own, cwd)
    try:
        check_contradictions(ruled.policy, task_id)
    except BadInput as error:
        raise InvalidTask(f"task {task_id} is invalid: {error.message}", hint=error.hint) from None
    return ruled


def _chain(config: Config, own: Settings, cwd: str) -> tuple[Step, ...]:
    """The task's own chain, or the configured one; none for a task that names only an account."""
    if own.fallback is None and own.account is not None:
        return ()
    project = config.project(cwd).settings.get("fallback")
    try:
        return read_chain(own.fallback or str(project or config.fallback))
    except BadInput as error:
        raise InvalidTask(f"its chain to fall back on: {error.message}", hint=error.hint) from None


def accounts_for(coder: str, config: Config) -> list[Account]:
    """A coder's accounts; the user's own login where none is declared."""
    found = [account for account in config.accounts.values() if account.coder == coder]
    return found or [own_login(coder, config)]


def own_login(coder: str, config: Config) -> Account:
    """The account of a user who has declared none."""
    return Account(name=coder, coder=coder, stop_at=config.stop_at)


def find(name: str, coder: str, config: Config) -> Account:
    """An account by name: a declared one, or a coder's own login. Raises BadInput."""
    if name in config.accounts:
        return config.accounts[name]
    if name == coder:
        return own_login(coder, config)
    known = ", ".join(config.accounts) or "none is declared"
    raise BadInput(f"there is no account {name}", hint=f"Known: {known}. See: fleet accounts")


def resting(account: Account, state: AccountState, now: datetime) -> AccountWait | None:
    """Why an account gets no new work, however few agents run there; None: the
    account gets work.
    """
    return unavailable(Seat(account=account, model=""), state, AccountStanding(), now)


def all_resting(
    states: Mapping[str, AccountState], config: Config, now: datetime
) -> dict[str, datetime]:
    """Accounts that wait for a limit, and until when."""
    found: dict[str, datetime] = {}
    for name, state in states.items():
        # A name without a declared account is that of a coder whose own login is used.
        rest = resting(config.accounts.get(name) or own_login(name, config), state, now)
        if rest is not None and not rest.person:
            found[name] = rest.free_at
    return found


def stages_of(place: Place, config: Config, home: Path) -> Stages:
    """The seats of a task, best first. Raises BadInput for an unknown account or coder."""
    first = (
        (_named(place.account, place, config, home),)
        if place.account
        else _seats(place.coder, place.model, place, config, home)
    )
    stages = (first, *(_stage(step, place, config, home) for step in place.fallback))
    return tuple(stage for stage in stages if stage)


def _stage(step: Step, place: Place, config: Config, home: Path) -> tuple[Seat, ...]:
    match step.kind:
        case "account":
            return (_named(step.name, place, config, home),)
        case "model":
            return _seats(place.coder, step.name, place, config, home)
        case "coder":
            return _seats(step.name, step.model, place, config, home)


def _named(name: str, place: Place, config: Config, home: Path) -> Seat:
    account = find(name, place.coder, config)
    model = place.model if account.coder == place.coder else ""
    return _seat(account, model, place, home)


def _seats(coder: str, model: str, place: Place, config: Config, home: Path) -> tuple[Seat, ...]:
    """A seat on each account of the coder; accounts of weight 0 serve only where named."""
    accounts = (account for account in accounts_for(coder, config) if account.weight > 0)
    return tuple(_seat(account, model, place, home) for account in accounts)


def _seat(account: Account, model: str, place: Place, home: Path) -> Seat:
    coders.check(account.coder, home)
    asked = coders.model_of(account.coder, model, home, inherited=not model)
    return Seat(account=account, model=asked, project=place.cwd)
