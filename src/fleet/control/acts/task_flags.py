"""The settings that fleet's own flags on a `create` or `update` line ask for, checked; and what
tasks that exist run with from then on.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from fleet.control import Control
from fleet.control.task_directory import branch_at, checked_directory, current_directory
from fleet.errors import BadInput
from fleet.home.task_json import settings_of
from fleet.home.task_policy import check_contradictions, policy_of
from fleet.schemas import Budget, Limits, LimitWishes, Settings, Task
from fleet.schemas.budget import read_budget
from fleet.schemas.hosts.host import check_label
from fleet.schemas.policy import (
    CONTEXTS,
    SANDBOX_LEVELS,
    WORK_IN,
    SandboxLevel,
    WorkIn,
    check_expectation,
    check_need,
    check_place,
)
from fleet.schemas.units import dollars, size, span

FlagValues = Mapping[str, Sequence[str]]
_C = TypeVar("_C", bound=str)


_COUNT = r"(\d{1,12})([kM]?)"
_TIMES = {"": 1, "k": 1000, "M": 1_000_000}


def _count(text: str) -> int:
    """`300`, `5k`, `2M`."""
    found = re.fullmatch(_COUNT, text.strip())
    number = int(found[1]) * _TIMES[found[2]] if found else 0
    if not 0 < number <= 10**12:
        raise BadInput(f"{text!r} is not a number above 0", hint="Write it like 300, 50k or 2M.")
    return number


#: The limit that a flag sets, and how its text is read.
_READERS: Mapping[str, tuple[str, Callable[[str], float]]] = {
    "timeout": ("time", span),
    "max-cost": ("cost", dollars),
    "max-turns": ("turns", _count),
    "max-tokens": ("tokens", _count),
    "max-idle": ("idle", span),
    "max-output": ("output", size),
    "max-memory": ("memory", size),
    "max-processes": ("processes", _count),
}


def settings_from(fleet: Control, given: FlagValues) -> Settings:
    """The settings that a line asks for, checked."""
    last = {name: values[-1] for name, values in given.items() if values}
    coder, model = _coder(fleet, last)
    if last.get("cwd") == "":  # a script's empty variable, not a wish to run here
        raise BadInput("--cwd must not be empty")
    cwd = checked_directory(last.get("cwd") or current_directory())
    return Settings(
        cwd=cwd,
        branch=branch_at(cwd),
        coder=coder,
        model=model,
        account=_account(fleet, last, coder),
        fallback=_fallback(fleet, last),
        expect=check_expectation(last["expect"]) if "expect" in last else None,
        verify=_lines(given, "verify"),
        pins=_lines(given, "pin"),
        scope=_lines(given, "scope"),
        work_in=_work_in(last),
        sandbox=_sandbox(last),
        context=_one_of(last, "load", CONTEXTS),
        needs=_needs(given),
        host=check_label(last["host"]) if "host" in last else None,
        limits=_limits(last),
        budget=budget_from(last["budget"]) if "budget" in last else None,
    )


def shown_settings(settings: Settings) -> Iterator[tuple[str, str]]:
    """What a task asks for by own settings, for people."""
    names = (
        "cwd",
        "coder",
        "model",
        "account",
        "fallback",
        "host",
        "work_in",
        "sandbox",
        "context",
        "expect",
    )
    for name in names:
        if (value := getattr(settings, name)) is not None:
            yield name, value
    for name in ("verify", "pins", "scope", "needs"):
        for value in getattr(settings, name) or ():
            yield name, value
    limits: dict[str, Any] = msgspec.to_builtins(settings.limits) or {}
    shown = Limits(**limits).shown()
    yield from ((f"max {name}", shown[name]) for name in limits)
    if settings.budget is not None:
        yield "budget", str(settings.budget)


def budget_from(text: str) -> Budget:
    """What `--budget` says."""
    try:
        return read_budget(text)
    except BadInput as error:
        raise BadInput(f"--budget: {error.message}", hint=error.hint) from None


def _one_of(
    last: Mapping[str, str],
    name: str,
    choices: tuple[_C, ...],
) -> _C | None:
    value = last.get(name)
    if value is None:
        return None
    for choice in choices:
        if choice == value:
            return choice
    raise BadInput(f"--{name} must be one of {', '.join(choices)}, not {value!r}")


def _work_in(last: Mapping[str, str]) -> WorkIn | None:
    """Where the task is to work. Raises BadInput for the flag of an earlier fleet."""
    if "isolation" in last:
        raise BadInput(
            "--isolation is now --work-in",
            hint="Write --work-in clone (was --isolation clone) or --work-in directory (was none).",
        )
    return _one_of(last, "work-in", WORK_IN)


def _sandbox(last: Mapping[str, str]) -> SandboxLevel | None:
    """A stricter box that a task asks for; the stricter of task and project counts."""
    if last.get("sandbox") == "off":
        raise BadInput(
            "a task can only ask for a stricter box than its project has",
            hint="For all tasks of a directory: fleet config set --project DIR sandbox=off",
        )
    return _one_of(last, "sandbox", SANDBOX_LEVELS[1:])


def _coder(fleet: Control, last: Mapping[str, str]) -> tuple[str | None, str | None]:
    coder, model = last.get("coder"), last.get("model")
    if model is not None and coder is None:
        raise BadInput(
            "--model was given without --coder",
            hint="Give both: each coder has models of its own. --coder alone takes its default.",
        )
    if coder is not None:
        fleet.check_coder(coder)
    if model is not None and not model.strip():
        raise BadInput("--model must not be empty")
    return coder, model


def _account(fleet: Control, last: Mapping[str, str], coder: str | None) -> str | None:
    name = last.get("account")
    if name is None:
        return None
    account = fleet.account(name)
    if coder is not None and coder != account.coder:
        raise BadInput(
            f"account {name} is one of {account.coder}, not of {coder}",
            hint=f"Name an account of {coder}; all of them: fleet accounts",
        )
    return name


def _fallback(fleet: Control, last: Mapping[str, str]) -> str | None:
    chain = last.get("fallback")
    if chain is not None:
        fleet.check_chain(chain)
    return chain


def _lines(given: FlagValues, name: str) -> tuple[str, ...] | None:
    """The lines of a flag that may be given more than once."""
    if name not in given:
        return None
    lines = tuple(given[name])
    if not all(line.strip() for line in lines):  # a script's empty variable, not a wish for none
        raise BadInput(f"--{name} must not be empty")
    if name in ("pin", "scope"):
        for line in lines:
            check_place(line, from_top=name == "scope")
    return lines


def _needs(given: FlagValues) -> tuple[str, ...] | None:
    needs = _lines(given, "needs")
    return None if needs is None else tuple(check_need(need) for need in needs)


def _limits(last: Mapping[str, str]) -> LimitWishes | None:
    wishes: dict[str, Any] = {}
    for flag, (name, read) in _READERS.items():
        if flag in last:
            try:
                wishes[name] = read(last[flag])
            except BadInput as error:
                raise BadInput(f"--{flag}: {error.message}", hint=error.hint) from None
    return LimitWishes(**wishes) if wishes else None


#: What a flag sets, where that has another name.
FIELDS = {"pin": "pins", "load": "context", "work-in": "work_in"}


def plan_changes(
    fleet: Control, tasks: Sequence[Task], given: FlagValues
) -> list[tuple[Task, Settings]]:
    """The settings that each task will have. Raises BadInput and Refused, and writes nothing."""
    from fleet.home.trusted_commands import check_trusted  # no other verb of bd needs it

    for task in tasks if "verify" not in given else ():
        check_trusted(fleet.home, task)
    wishes = settings_from(fleet, given)
    changed = [(task, _changed_by(settings_of(fleet.home, task), wishes, given)) for task in tasks]
    for task, settings in changed:
        check_contradictions(policy_of(fleet.config, settings, settings.cwd or "/").policy, task.id)
    return changed


def _changed_by(before: Settings, wishes: Settings, given: FlagValues) -> Settings:
    """The settings with what was given in the place of what was there; all else stays."""
    names = {FIELDS.get(flag, flag) for flag in given} & set(Settings.__struct_fields__)
    changes = {name: getattr(wishes, name) for name in names}
    if "work_in" in names:
        changes["isolation"] = None
    if "coder" in names:
        changes["model"] = wishes.model  # that of another coder means nothing to this one
    if "cwd" in names:
        changes["branch"] = wishes.branch
    if wishes.limits is not None:
        own = msgspec.to_builtins(before.limits or LimitWishes())
        changes["limits"] = LimitWishes(**{**own, **msgspec.to_builtins(wishes.limits)})
    return structs.replace(before, **changes)
