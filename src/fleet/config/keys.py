"""Every key of runtime.toml: kind, range, and meaning."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import fields

from fleet.config.key_kinds import Key, Setting
from fleet.config.key_values import KeyValues
from fleet.schemas.policy import (
    CONTEXTS,
    ISOLATIONS,
    LAND_HOWS,
    LAND_MODES,
    LAND_TOS,
    PERMISSIONS,
    REQUIREMENTS,
    SANDBOX_LEVELS,
    TRIPWIRES,
    VERIFY_IN,
)

_DEFAULTS: dict[str, Setting] = {each.name: each.default for each in fields(KeyValues)}


def _key(name: str, about: str, **rules: Any) -> Key:
    """A key, with the default that its value has."""
    return Key(name, _DEFAULTS[name], about, **rules)


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        _key("max_concurrent", "How many agents run at once.", low=1, high=1000),
        _key("coder", "The coder of tasks that do not name one."),
        _key("model", "The model of tasks that do not name one, as the coder calls it."),
        _key(
            "context_pressure_threshold_pct",
            "End a session once its context is this full (percent) and go on in a fresh one.",
            low=10,
            high=100,
        ),
        _key(
            "permissions",
            "What agents may do: edit (their directory, and the task's own commands), auto (the"
            " CLI judges each step), bypass (everything: only on a machine that is a sandbox).",
            choices=PERMISSIONS,
        ),
        _key(
            "expect",
            "What a claim must have to show: any (it must not look made up), change (files),"
            " answer (words are enough), artifact:PATH (that file), plan (one that you approve).",
            kind="expectation",
            per_project=True,
        ),
        _key(
            "require",
            "The least that closes a task: plausible (nothing contradicts the claim), checked (a"
            " verify command passed; a claim that is only plausible is left to a person).",
            choices=REQUIREMENTS,
            per_project=True,
        ),
        _key(
            "isolation",
            "Where agents work: none (in the task's directory), clone (in a git clone of the task's"
            " own; its work comes to the branch fleet/<id>). Outside of git: in the directory.",
            choices=ISOLATIONS,
            per_project=True,
        ),
        _key(
            "verify_in",
            "Where verify commands run: checkout (a fresh checkout of what the run left, without"
            " ignored files), directory (the run's own directory, with all that lies there).",
            choices=VERIFY_IN,
            per_project=True,
        ),
        _key(
            "land",
            "What becomes of verified work in git: off (it stays in the directory, or on the branch"
            " fleet/<id>), ask (it reaches the branch once a person approves it), auto (it reaches"
            " the branch). With ask and auto agents work in clones, and closed means landed.",
            choices=LAND_MODES,
            per_project=True,
        ),
        _key(
            "land_into",
            "The branch that work lands on: a name, or @ (the branch that the directory had when"
            " the task was made).",
            kind="branch",
            per_project=True,
        ),
        _key(
            "land_how",
            "How work lands: merge (a merge commit a task), squash (one commit a task), rebase (the"
            " task's commits, made anew on top of the branch).",
            choices=LAND_HOWS,
            per_project=True,
        ),
        _key(
            "land_to",
            "Where work lands: branch (in this repository alone), push (and then on the branch's"
            " remote), pr (as a pull request at the forge).",
            choices=LAND_TOS,
            per_project=True,
        ),
        _key(
            "land_batch",
            "The most tasks that are verified together before they land; 1: each by itself. Fewer"
            " after a failure, more again after a success.",
            low=1,
            high=64,
            per_project=True,
        ),
        _key(
            "land_tries",
            "How often work that cannot land goes back to its agent before a person is asked.",
            low=0,
            high=20,
            per_project=True,
        ),
        _key(
            "forge",
            "The forge that land_to = pr opens pull requests on: auto (github.com is GitHub, any"
            " other host is Gitea or Forgejo), github, gitea, or the address of a Gitea.",
            kind="forge",
            per_project=True,
        ),
        _key(
            "forge_token",
            "Where the token for a Gitea or Forgejo is: env:NAME, file:/PATH, keyring:SERVICE/USER;"
            " none: the login that your git has for its host. GitHub takes the login of gh.",
            kind="secret_place",
            per_project=True,
        ),
        _key(
            "sandbox",
            "The box around agents, verify and set-up commands: off (none), workspace (only the"
            " task's own directories can be written, keys and other tasks are hidden), strict (the"
            " same, and the network leads only to named hosts).",
            choices=SANDBOX_LEVELS,
            per_project=True,
        ),
        _key(
            "context",
            "What a CLI loads before it reads the task: full (all that it would by itself), project"
            " (nothing of the user's own), lean (the project's rules, and the tools that work"
            " takes).",
            choices=CONTEXTS,
            per_project=True,
        ),
        _key(
            "tripwire",
            "What is done about destructive commands: report, refuse (claude and codex, before they"
            " run; a tripwire, not a fence), off.",
            choices=TRIPWIRES,
            per_project=True,
        ),
        _key(
            "retry_limit",
            "How often a task is tried before it is blocked for a person to look at.",
            low=1,
            high=100,
        ),
        _key(
            "retry_wait_s",
            "How long a failed task waits before it is tried again, in seconds; doubled each time.",
            low=1,
            high=3600,
        ),
        _key(
            "grace_s",
            "How long a stopped agent has to end by itself before it is killed, in seconds.",
            low=0,
            high=600,
        ),
        _key("start_limit", "By when an agent must begin.", kind="span", per_project=True),
        _key(
            "idle_limit",
            "An agent that shows nothing for this long is looked at closely; it is ended only if"
            " nothing of it moves.",
            kind="span",
            per_project=True,
        ),
        _key("time_limit", "How long a run may last.", kind="span", per_project=True),
        _key(
            "turn_limit",
            "How many answers of its model a run may take.",
            low=1,
            high=1_000_000,
            per_project=True,
        ),
        _key(
            "token_limit",
            "How many tokens a run may use, cached ones too.",
            low=1000,
            high=10**12,
            per_project=True,
        ),
        _key(
            "cost_limit",
            "What a run may cost, by its CLI's own figure or by its tokens and prices.",
            kind="dollars",
            per_project=True,
        ),
        _key("output_limit", "How much a run may print.", kind="size", per_project=True),
        _key(
            "workspace_limit",
            "How much of the disk all clones together may take; above it no new one is made.",
            kind="size",
        ),
        _key(
            "memory_limit",
            "How much memory an agent and all its processes may hold.",
            kind="size",
            per_project=True,
        ),
        _key(
            "process_limit",
            "How many processes a run may have at once.",
            low=2,
            high=100_000,
            per_project=True,
        ),
        _key(
            "task_budget",
            "What a task may spend over all its runs: dollars ($5), tokens (50M), or none. Once it"
            " is spent the task is blocked.",
            kind="budget",
            per_project=True,
        ),
        _key(
            "day_budget",
            "What all tasks together may spend in a day, by this machine's clock; a project's is"
            " for its own tasks. Once it is spent nothing starts until the next day.",
            kind="budget",
            per_project=True,
        ),
        _key(
            "verify_limit",
            "How long a verify or set-up command may last.",
            kind="span",
            per_project=True,
        ),
        _key(
            "stop_at",
            "Give an account no new work once one of its windows is so full, in percent.",
            low=1,
            high=100,
        ),
        _key(
            "fallback",
            "Where tasks go when their coder's accounts have no room: none (they wait), or steps"
            " like account:spare, model:haiku, coder:codex/gpt-5.",
            kind="chain",
            per_project=True,
        ),
        _key(
            "pass_env",
            "Variables of the supervisor's environment that agents get beside the usual: none, or"
            " names like SSH_AUTH_SOCK, MY_GATEWAY_KEY.",
            kind="names",
            per_project=True,
        ),
        _key(
            "queue",
            "Where tasks live: embedded, beads, or a postgresql:// address.",
        ),
        _key(
            "host_name",
            "What this machine is called among the hosts that share a queue; auto: its own name.",
            kind="host",
        ),
        _key(
            "host_labels",
            "What tasks may need of this machine (--needs host:gpu): none, or labels like gpu,"
            " linux.",
            kind="labels",
        ),
        _key(
            "lease_s",
            "How long a host that shares its queue keeps a task without a sign of life, in"
            " seconds: then another host begins it.",
            low=12,
            high=3600,
        ),
        _key(
            "repository",
            "Where other hosts of a shared queue get a project's code from: origin, or an address.",
            per_project=True,
        ),
        _key(
            "run_files_limit",
            "How much of the files of one run a shared queue takes, compressed.",
            kind="size",
        ),
        _key(
            "store",
            "A directory that all hosts see, for files of runs beyond run_files_limit; or none.",
        ),
        _key(
            "busy_timeout_s",
            "Give up on a queue that another process keeps locked after this many seconds.",
            low=1,
            high=600,
        ),
        _key(
            "bd_timeout_s",
            "Stop a bd process that does not answer within this many seconds.",
            low=1,
            high=600,
        ),
        _key(
            "followup_limit",
            "How many follow-up tasks the agent of one run may make.",
            low=0,
            high=1000,
        ),
        _key(
            "followup_depth",
            "How many follow-ups may follow each other; 1: only the tasks of people have any.",
            low=0,
            high=100,
        ),
        _key(
            "followups",
            "Tasks that agents propose with propose_task: proposed (they wait until a person"
            " accepts them), auto (they are worked on).",
            choices=("proposed", "auto"),
        ),
        _key(
            "ask_wait",
            "How long ask_human waits for a person before the run is parked and its slot is free;"
            " 1ms, and where no person would hear of the question: it is parked at once.",
            kind="span",
            per_project=True,
        ),
        _key(
            "agent_tools",
            "Give agents fleet's MCP server (ask_human, report_progress, propose_task) where their"
            " CLI can have it: on, off.",
            choices=("on", "off"),
            per_project=True,
        ),
        _key(
            "plan_limit",
            "How many tasks a plan may have that is made into tasks at once.",
            low=1,
            high=10_000,
        ),
    )
}
