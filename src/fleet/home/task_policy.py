"""The rules that a task's runs are held to: the task's wishes, then the project's, then the
configuration's.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from fleet.config import KEYS, Config, Project, Setting
from fleet.config.projects import way_up
from fleet.errors import BadInput
from fleet.schemas import Limits, LimitWishes, Policy, Sandbox, SandboxLevel, Settings
from fleet.schemas.hosts.host import host_label
from fleet.schemas.policy import (
    BRANCH_OF_TASK,
    CopyRules,
    LandRules,
    WorkIn,
    contradiction,
    stricter,
)

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
#: The part of a policy behind a key of runtime.toml, where that has another name.
_PART_OF = {key: name for name, key in KEY_OF.items()} | {"task_budget": "budget"}

#: What a task itself may ask for beside its limits.
_WISHES = (
    "expect",
    "verify",
    "pins",
    "scope",
    "work_in",
    "sandbox",
    "context",
    "needs",
    "budget",
)


#: Where a part comes from that neither the task asked for nor runtime.toml has for all.
PROJECT, NOT_IN_GIT = "project", "outside of git"


class EffectivePolicy(Struct, frozen=True, kw_only=True):
    """A policy, which parts the task asked for, and where others come from."""

    policy: Policy
    own: frozenset[str]
    #: The parts that are neither the task's own nor runtime.toml's for all, each with its origin.
    origins: Mapping[str, str] = {}


def policy_of(config: Config, settings: Settings, cwd: str) -> EffectivePolicy:
    """What the runs of a task with these settings are held to."""
    project = config.project(cwd)
    wishes = settings.limits or LimitWishes()
    box = _sandbox(config, project, settings)
    work_in: WorkIn = settings.work_in or _value(config, project, "work_in")
    if settings.isolation == "none":
        work_in = "directory" if box.level == "off" else "clone"
    policy = Policy(
        expect=settings.expect or _value(config, project, "expect"),
        require=_value(config, project, "require"),
        verify=project.verify if settings.verify is None else settings.verify,
        verify_is_own=settings.verify is not None,
        pins=project.pins if settings.pins is None else settings.pins,
        verify_time=_value(config, project, "verify_limit"),
        scope=_from(cwd, project) if settings.scope is None else settings.scope,
        work_in=work_in,
        context=settings.context or _value(config, project, "context"),
        commit=settings.commit or "",
        tripwire=_value(config, project, "tripwire"),
        sandbox=box,
        setup=project.setup,
        copies=CopyRules(
            project=project.path,
            share=project.share,
        ),
        land=_land(config, project, settings, work_in),
        # What the machine must have was looked at when the task was claimed.
        needs=tuple(
            need
            for need in (project.needs if settings.needs is None else settings.needs)
            if not host_label(need)
        ),
        limits=_limits(config, project, wishes),
        budget=_value(config, project, "task_budget")
        if settings.budget is None
        else settings.budget,
        ask_wait=_value(config, project, "ask_wait")
        if _value(config, project, "agent_tools") == "on"
        else None,
    )
    asked = {name for name in _WISHES if getattr(settings, name) is not None}
    limits = {name for name in KEY_OF if getattr(wishes, name) is not None}
    own = asked | limits
    origins = dict.fromkeys(_of_project(project) - own, PROJECT)
    return EffectivePolicy(policy=policy, own=frozenset(own), origins=origins)


def outside_of_git(ruled: EffectivePolicy) -> EffectivePolicy:
    """The rules of a task outside of git, with the origin of each part that differs there."""
    policy = policy_outside(ruled.policy, own_expect="expect" in ruled.own)
    parts = [name for name in ("work_in", "expect") if _differs(policy, ruled.policy, name)]
    return EffectivePolicy(
        policy=policy,
        own=ruled.own.difference(parts),
        origins={**ruled.origins, **dict.fromkeys(parts, NOT_IN_GIT)},
    )


def policy_outside(policy: Policy, *, own_expect: bool) -> Policy:
    """The policy outside of git: the task works in its directory, nothing lands, and a change is
    expected only if the task itself asks for one (`own_expect`).
    """
    expect = "any" if policy.expect == "change" and not own_expect else policy.expect
    return structs.replace(policy, work_in="directory", expect=expect, land=LandRules())


def _differs(one: Policy, other: Policy, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def check_contradictions(policy: Policy, task_id: str = "") -> None:
    """Raise BadInput for settings of a task that exclude each other."""
    why = contradiction(policy.work_in, policy.sandbox.level, pins=bool(policy.pins))
    if why:
        way = f"fleet bd update {task_id} --work-in clone" if task_id else "--work-in clone"
        raise BadInput(why, hint=f"For this task: {way}")


def cost_of_no_check(policy: Policy) -> str:
    """What becomes of the claims of a task without a verify command."""
    if policy.lacks_check:
        return "the task does not start without one (require = checked)"
    if policy.require == "checked":
        return "each claim waits for your approval (require = checked)"
    if policy.land.lands and policy.require == "approved":
        return "finished work waits for your approval"
    return "fleet can only say *unchecked*"


def _of_project(project: Project) -> set[str]:
    """The parts of a policy that a project sets."""
    lists = {name for name in ("verify", "pins", "scope", "needs") if getattr(project, name)}
    return lists | {_PART_OF.get(key, key) for key in project.settings}


def passed_variables(config: Config, cwd: str) -> tuple[str, ...]:
    """The variables that the agents of a directory get beside the usual: `pass_env`."""
    names: tuple[str, ...] = _value(config, config.project(cwd), "pass_env")
    return names


def forge_settings(config: Config, cwd: str) -> tuple[str, str]:
    """The forge of a directory's pull requests, and where the token is; empty: with git's login."""
    project = config.project(cwd)
    return _value(config, project, "forge"), _value(config, project, "forge_token")


def _from(cwd: str, project: Project) -> tuple[str, ...]:
    """A project's patterns, which are relative to the project's directory, as seen from a directory
    below.
    """
    if not project.scope:
        return ()
    up = way_up(project, cwd)
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


def _sandbox(config: Config, project: Project, settings: Settings) -> Sandbox:
    """The box of a task: the configured level, or a stricter one that the task asks for.

    A task cannot ask for less: what an import or a shared queue brings must not open a box.
    """
    configured: SandboxLevel = _value(config, project, "sandbox")
    return Sandbox(
        level=stricter(configured, settings.sandbox or "off"),
        read=project.sandbox_read,
        write=project.sandbox_write,
        hosts=project.sandbox_hosts,
        setup_hosts=project.setup_hosts,
    )


def _land(config: Config, project: Project, settings: Settings, work_in: WorkIn) -> LandRules:
    """How a task's work lands. Nothing lands where agents work in the directory, nor of a task that
    is compared: then a person picks.
    """
    origin = settings.repository
    if origin is not None and origin.land == "branch":
        return LandRules()
    if work_in == "directory" or settings.isolation == "none" or settings.commit:
        return LandRules()
    into = _value(config, project, "land_into")
    into = (settings.branch or "") if into == BRANCH_OF_TASK else into
    own = [command for command in settings.verify or () if command not in project.verify]
    return LandRules(
        # Of a task that another host made, that host's settings say whether and where.
        mode=origin.land if origin is not None else _value(config, project, "land"),
        into=origin.into if origin is not None else into,
        asks_branch=not into and settings.branch == "",
        how=_value(config, project, "land_how"),
        to=origin.land_to if origin is not None else _value(config, project, "land_to"),
        verify=project.land_verify or (*project.verify, *own),
        own=() if project.land_verify else tuple(own),
        batch=_value(config, project, "land_batch"),
        protect=project.land_protect,
        tries=_value(config, project, "land_tries"),
    )


def _limits(config: Config, project: Project, wishes: LimitWishes) -> Limits:
    found = {name: _value(config, project, key) for name, key in KEY_OF.items()}
    own = {name: wish for name in KEY_OF if (wish := getattr(wishes, name)) is not None}
    return Limits(**(found | own))


def _value(config: Config, project: Project, name: str) -> Any:
    """The value of a key for one project, in fleet's own units."""
    own = project.settings.get(name)
    return _read(name, getattr(config, name) if own is None else own)


@lru_cache(maxsize=256)
def _read(name: str, value: Setting) -> Any:
    """Kept: each task of a list and each run asks for the same thirty values."""
    return KEYS[name].read(value)
