"""The rules that a task's runs are held to: its own wishes, then its project's, then the
configuration's.
"""

import posixpath
from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from fleet.config import Config, Project
from fleet.schemas import Context, Isolation, Limits, LimitWishes, Policy, Settings, Tripwire
from fleet.schemas.budget import read_budget
from fleet.schemas.units import dollars, seconds, size

#: The key of runtime.toml behind each limit.
KEY_OF: Mapping[str, str] = {
    "start": "start_limit",
    "idle": "idle_limit",
    "time": "time_limit",
    "turns": "turn_limit",
    "tokens": "token_limit",
    "cost": "cost_limit",
    "output": "output_limit",
    "memory": "memory_limit",
    "processes": "process_limit",
}


class EffectivePolicy(Struct, frozen=True, kw_only=True):
    """A policy, and which of its parts the task itself asked for."""

    policy: Policy
    own: frozenset[str]


def policy_of(config: Config, settings: Settings, cwd: str) -> EffectivePolicy:
    """What the runs of a task with these settings are held to."""
    project = config.project(cwd)
    wishes = settings.limits or LimitWishes()
    asked = {
        name: getattr(settings, name)
        for name in (
            "expect",
            "verify",
            "pins",
            "scope",
            "isolation",
            "context",
            "needs",
            "budget",
        )
        if getattr(settings, name) is not None
    }
    policy = Policy(
        expect=settings.expect or str(_value(config, project, "expect")),
        verify=project.verify if settings.verify is None else settings.verify,
        pins=project.pins if settings.pins is None else settings.pins,
        verify_time=seconds(str(_value(config, project, "verify_limit"))),
        scope=_from(cwd, project) if settings.scope is None else settings.scope,
        isolation=settings.isolation or cast("Isolation", _value(config, project, "isolation")),
        context=settings.context or cast("Context", _value(config, project, "context")),
        commit=settings.commit or "",
        tripwire=cast("Tripwire", _value(config, project, "tripwire")),
        setup=project.setup,
        needs=project.needs if settings.needs is None else settings.needs,
        limits=_limits(config, project, wishes),
        budget=read_budget(str(_value(config, project, "task_budget")))
        if settings.budget is None
        else settings.budget,
    )
    limits = {name for name in KEY_OF if getattr(wishes, name) is not None}
    return EffectivePolicy(policy=policy, own=frozenset({*asked, *limits}))


def _from(cwd: str, project: Project) -> tuple[str, ...]:
    """A project's patterns, which are from its own directory on, as seen from a directory in it."""
    up = posixpath.relpath(project.path, cwd)
    if up == ".":
        return project.scope
    patterns: list[str] = []
    for pattern in project.scope:
        text = pattern.removeprefix("!")
        anchored = text.startswith("/")
        deep = "" if "/" in text.rstrip("/") or text == "**" else "**/"
        place = text if anchored else f"{up}/{deep}{text}"
        patterns.append(f"{'!' if pattern.startswith('!') else ''}{place}")
    return tuple(patterns)


def _limits(config: Config, project: Project, wishes: LimitWishes) -> Limits:
    def value(name: str) -> str:
        return str(_value(config, project, KEY_OF[name]))

    found: dict[str, float | int] = {
        "start": seconds(value("start")),
        "idle": seconds(value("idle")),
        "time": seconds(value("time")),
        "turns": int(value("turns")),
        "tokens": int(value("tokens")),
        "cost": dollars(value("cost")),
        "output": size(value("output")),
        "memory": size(value("memory")),
        "processes": int(value("processes")),
    }
    own = {name: wish for name in KEY_OF if (wish := getattr(wishes, name)) is not None}
    return Limits(**(found | own))  # pyright: ignore[reportArgumentType]


def _value(config: Config, project: Project, name: str) -> int | str:
    own = project.settings.get(name)
    return getattr(config, name) if own is None else own
