"""The seats of a task: its coder's accounts, and behind them what its chain names. Pure."""

from collections.abc import Sequence
from typing import Protocol

from fleet.accounts.choose_account import Seat
from fleet.config import Config
from fleet.errors import BadInput
from fleet.schemas.account import Account, Step

Stages = tuple[tuple[Seat, ...], ...]


class Wishes(Protocol):
    """What a task asks for."""

    @property
    def coder(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def own_model(self) -> bool: ...
    @property
    def account(self) -> str: ...
    @property
    def fallback(self) -> Sequence[Step]: ...


def accounts_for(coder: str, config: Config) -> list[Account]:
    """A coder's accounts; the user's own login where none is declared."""
    found = [account for account in config.accounts.values() if account.coder == coder]
    return found or [own_login(coder, config)]


def own_login(coder: str, config: Config) -> Account:
    """The account of a user who has declared none."""
    return Account(name=coder, coder=coder, stop_at=config.stop_at)


def find(name: str, coder: str, config: Config) -> Account:
    """An account by its name: a declared one, or a coder's own login. Raises BadInput."""
    if name in config.accounts:
        return config.accounts[name]
    if name == coder:
        return own_login(coder, config)
    known = ", ".join(config.accounts) or "none is declared"
    raise BadInput(f"there is no account {name}", hint=f"Known: {known}. See: fleet accounts")


def stages_of(task: Wishes, config: Config) -> Stages:
    """Where the task may run, best first. Raises BadInput for an account that is not there."""
    if task.account:
        first = [_named(task.account, task, config)]
    else:
        # One with no weight is for those who name it.
        first = [
            Seat(account=account, model=task.model, inherited=not task.own_model)
            for account in accounts_for(task.coder, config)
            if account.weight > 0
        ]
    stages = [tuple(first), *(_stage(step, task, config) for step in task.fallback)]
    return tuple(stage for stage in stages if stage)


def _named(name: str, task: Wishes, config: Config) -> Seat:
    account = find(name, task.coder, config)
    same = account.coder == task.coder
    return Seat(
        account=account, model=task.model if same else "", inherited=not task.own_model or not same
    )


def _stage(step: Step, task: Wishes, config: Config) -> tuple[Seat, ...]:
    match step.kind:
        case "account":
            return (_named(step.name, task, config),)
        case "model":
            coder, model = task.coder, step.name
        case "coder":
            coder, model = step.name, step.model
    return tuple(
        Seat(account=account, model=model, inherited=not model)
        for account in accounts_for(coder, config)
        if account.weight > 0
    )
