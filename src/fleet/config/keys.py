"""Every key of runtime.toml: type, default, range and meaning, each in one place."""

from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from fleet.config.key_kinds import Key, KeyKind
from fleet.schemas import Context, SandboxLevel, Tripwire
from fleet.schemas.budget import NONE
from fleet.schemas.policy import (
    BRANCH_OF_TASK,
    LandHow,
    LandMode,
    LandTo,
    Permissions,
    Requirement,
    WorkIn,
)

D = TypeVar("D", bound=int | str)
_DECLARED: list[Key] = []


def _key(
    default: D,
    about: str,
    *,
    low: int = 0,
    high: int = 0,
    kind: KeyKind = "text",
    per_project: bool = False,
) -> D:
    """Declare the key of a field; returns the default, which is the field's as well."""
    key = Key("", default, about, low=low, high=high, kind=kind, per_project=per_project)
    _DECLARED.append(key)
    return default


class KeyValues(Struct, frozen=True, kw_only=True):
    """One field a key, in the order of the file. A key with a few values has them as its type."""

    max_concurrent: int = _key(3, "How many agents run at once.", low=1, high=1000)
    coder: str = _key("claude", "The coder of tasks that do not name one.")
    model: str = _key("sonnet", "The model of tasks that do not name one, as the coder calls it.")
    context_pressure_threshold_pct: int = _key(
        90,
        "End a session once its context is this full (percent) and go on in a fresh one.",
        low=10,
        high=100,
    )
    permissions: Permissions = _key(
        "edit",
        "What agents may do: edit (their directory, and the task's own commands), auto (the"
        " CLI judges each step), bypass (everything: only on a machine that is a sandbox).",
    )
    expect: str = _key(
        "change",
        "What a claim must have to show: change (files; outside of git as any), any (it must not"
        " look made up), answer (words), artifact:PATH (that file), plan (one that you approve).",
        kind="expectation",
        per_project=True,
    )
    require: Requirement = _key(
        "approved",
        "What becomes of a claim that no verify command proved: approved (its work lands once you"
        " approve it; answers and work that stays are closed), any (it is enough), checked (you"
        " decide on each, and a task that is no answer does not start without such a command).",
        per_project=True,
    )
    work_in: WorkIn = _key(
        "clone",
        "Where agents work in git: clone (each task in a clone of its own, verified in a fresh"
        " checkout), directory (in the project itself). Outside of git: in the directory.",
        per_project=True,
    )
    land: LandMode = _key(
        "auto",
        "What becomes of a clone's finished work: auto (it reaches your branch), ask (once you"
        " approve it), branch (it stays on the branch fleet/<id>).",
        per_project=True,
    )
    land_into: str = _key(
        BRANCH_OF_TASK,
        "The branch that work lands on: a name, or @ (the branch that the directory had when"
        " the task was made).",
        kind="branch",
        per_project=True,
    )
    land_how: LandHow = _key(
        "merge",
        "How work lands: merge (a merge commit a task), squash (one commit a task).",
        per_project=True,
    )
    land_to: LandTo = _key(
        "branch",
        "Where work lands: branch (in this repository alone), push (and then on the branch's"
        " remote), pr (as a pull request at the forge).",
        per_project=True,
    )
    land_batch: int = _key(
        4,
        "The most tasks that are verified together before they land; 1: each by itself. Fewer"
        " after a failure, more again after a success.",
        low=1,
        high=64,
        per_project=True,
    )
    land_tries: int = _key(
        3,
        "How often work that cannot land goes back to its agent before a person is asked.",
        low=0,
        high=20,
        per_project=True,
    )
    forge: str = _key(
        "auto",
        "The forge that land_to = pr opens pull requests on: auto (github.com is GitHub, any"
        " other host is Gitea or Forgejo), github, gitea, or the address of a Gitea.",
        kind="forge",
        per_project=True,
    )
    forge_token: str = _key(
        NONE,
        "Where the token for a Gitea or Forgejo is: env:NAME, file:/PATH, keyring:SERVICE/USER;"
        " none: the login that your git has for its host. GitHub takes the login of gh.",
        kind="secret_place",
        per_project=True,
    )
    sandbox: SandboxLevel = _key(
        "off",
        "The box around agents, verify and set-up commands: off (none), workspace (only the"
        " task's own directories can be written, keys and other tasks are hidden), strict (the"
        " same, and the network leads only to named hosts).",
        per_project=True,
    )
    context: Context = _key(
        "full",
        "What a CLI loads before it reads the task: full (all that it would by itself), project"
        " (nothing of the user's own), lean (the project's rules, and the tools that work"
        " takes).",
        per_project=True,
    )
    tripwire: Tripwire = _key(
        "report",
        "What is done about destructive commands: report, refuse (claude and codex, before they"
        " run; a tripwire, not a fence), off.",
        per_project=True,
    )
    retry_limit: int = _key(
        3,
        "How often a task is tried before it is blocked for a person to look at.",
        low=1,
        high=100,
    )
    retry_wait_s: int = _key(
        10,
        "How long a failed task waits before it is tried again, in seconds; doubled each time.",
        low=1,
        high=3600,
    )
    grace_s: int = _key(
        10,
        "How long a stopped agent has to end by itself before it is killed, in seconds.",
        low=0,
        high=600,
    )
    start_limit: str = _key("2m", "By when an agent must begin.", kind="span", per_project=True)
    idle_limit: str = _key(
        "7m",
        "An agent that shows nothing for this long is looked at closely; it is ended only if"
        " nothing of it moves.",
        kind="span",
        per_project=True,
    )
    time_limit: str = _key("4h", "How long a run may last.", kind="span", per_project=True)
    turn_limit: int = _key(
        300,
        "How many answers of its model a run may take.",
        low=1,
        high=1_000_000,
        per_project=True,
    )
    token_limit: int = _key(
        100_000_000,
        "How many tokens a run may use, cached ones too.",
        low=1000,
        high=10**12,
        per_project=True,
    )
    cost_limit: str = _key(
        "$50",
        "What a run may cost, by its CLI's own figure or by its tokens and prices.",
        kind="dollars",
        per_project=True,
    )
    output_limit: str = _key("1GB", "How much a run may print.", kind="size", per_project=True)
    workspace_limit: str = _key(
        "50GB",
        "How much of the disk all clones together may take; above it no new one is made.",
        kind="size",
    )
    memory_limit: str = _key(
        "8GB",
        "How much memory an agent and all its processes may hold.",
        kind="size",
        per_project=True,
    )
    process_limit: int = _key(
        1000, "How many processes a run may have at once.", low=2, high=100_000, per_project=True
    )
    task_budget: str = _key(
        "none",
        "What a task may spend over all its runs: dollars ($5), tokens (50M), or none. Once it"
        " is spent the task is blocked.",
        kind="budget",
        per_project=True,
    )
    day_budget: str = _key(
        "none",
        "What all tasks together may spend in a day, by this machine's clock; a project's is"
        " for its own tasks. Once it is spent nothing starts until the next day.",
        kind="budget",
        per_project=True,
    )
    verify_limit: str = _key(
        "15m", "How long a verify or set-up command may last.", kind="span", per_project=True
    )
    stop_at: int = _key(
        100,
        "Give an account no new work once one of its windows is so full, in percent.",
        low=1,
        high=100,
    )
    fallback: str = _key(
        "none",
        "Where tasks go when their coder's accounts have no room: none (they wait), or steps"
        " like account:spare, model:haiku, coder:codex/gpt-5.",
        kind="chain",
        per_project=True,
    )
    pass_env: str = _key(
        NONE,
        "Variables of the supervisor's environment that agents get beside the usual: none, or"
        " names like SSH_AUTH_SOCK, MY_GATEWAY_KEY.",
        kind="names",
        per_project=True,
    )
    queue: str = _key("embedded", "Where tasks live: embedded, beads, or a postgresql:// address.")
    host_name: str = _key(
        "auto",
        "What this machine is called among the hosts that share a queue; auto: its own name.",
        kind="host",
    )
    host_labels: str = _key(
        "none",
        "What tasks may need of this machine (--needs host:gpu): none, or labels like gpu, linux.",
        kind="labels",
    )
    lease_s: int = _key(
        180,
        "How long a host that shares its queue keeps a task without a sign of life, in"
        " seconds: then another host begins it.",
        low=12,
        high=3600,
    )
    repository: str = _key(
        "origin",
        "Where other hosts of a shared queue get a project's code from: origin, or an address.",
        per_project=True,
    )
    run_files_limit: str = _key(
        "32MB", "How much of the files of one run a shared queue takes, compressed.", kind="size"
    )
    store: str = _key(
        "none", "A directory that all hosts see, for files of runs beyond run_files_limit; or none."
    )
    busy_timeout_s: int = _key(
        5,
        "Give up on a queue that another process keeps locked after this many seconds.",
        low=1,
        high=600,
    )
    bd_timeout_s: int = _key(
        30, "Stop a bd process that does not answer within this many seconds.", low=1, high=600
    )
    followup_limit: int = _key(
        20, "How many follow-up tasks the agent of one run may make.", low=0, high=1000
    )
    followup_depth: int = _key(
        3,
        "How many follow-ups may follow each other; 1: only the tasks of people have any.",
        low=0,
        high=100,
    )
    followups: Literal["proposed", "auto"] = _key(
        "proposed",
        "Tasks that agents propose with propose_task: proposed (they wait until a person"
        " accepts them), auto (they are worked on).",
    )
    ask_wait: str = _key(
        "100s",
        "How long ask_human waits for a person before the run is parked and its slot is free;"
        " 1ms, and where no person would hear of the question: it is parked at once.",
        kind="span",
        per_project=True,
    )
    agent_tools: Literal["on", "off"] = _key(
        "on",
        "Give agents fleet's MCP server (ask_human, report_progress, propose_task) where their"
        " CLI can have it: on, off.",
        per_project=True,
    )
    plan_limit: int = _key(
        100, "How many tasks a plan may have that is made into tasks at once.", low=1, high=10_000
    )


KEYS: Mapping[str, Key] = {
    name: replace(key, name=name, choices=get_args(values))
    for key, (name, values) in zip(_DECLARED, KeyValues.__annotations__.items(), strict=True)
}
