"""What a run may use, what the run has to show, and where the run may work. Pure."""

import re
from typing import Literal, get_args

from msgspec import Struct

from fleet.errors import BadInput
from fleet.schemas.budget import Budget
from fleet.schemas.hosts.host import check_label
from fleet.schemas.units import shown_size, shown_span

#: What a claim of completion must show. `any`: only that it is not made up. `answer`: words are
#: enough. `change`: something in the directory is different. `artifact:PATH`: that file exists.
#: `plan`: a plan that can be made into tasks is among the artifacts; then it waits for a person.
EXPECTATIONS = ("any", "answer", "change", "plan")
ARTIFACT = "artifact:"
#: The file of a plan among the artifacts.
PLAN_FILE = "PLAN.toml"

#: What becomes of a claim that no check proved and nothing contradicts. `any`: it is enough.
#: `approved`: work lands only once a person approves it; what does not land is closed. `checked`: a
#: person decides on every such claim.
Requirement = Literal["any", "approved", "checked"]

#: Where a task works in git: in its directory itself, or in a clone of its own. Outside of git
#: every task works in its directory.
WorkIn = Literal["directory", "clone"]
WORK_IN: tuple[WorkIn, ...] = get_args(WorkIn)

#: What stands around an agent, from no box to the strictest. `off`: only what its CLI refuses.
#: `workspace`: a box in which only the run's own directories can be written and no key can be read.
#: `strict`: the same, and the network leads only to named hosts.
SandboxLevel = Literal["off", "workspace", "strict"]
SANDBOX_LEVELS: tuple[SandboxLevel, ...] = get_args(SandboxLevel)

#: What becomes of the work of a clone whose claim holds. `branch`: it stays on the branch
#: `fleet/<id>`. `ask`: it lands once a person approves it. `auto`: it lands.
LandMode = Literal["branch", "ask", "auto"]
#: How a candidate is folded onto the branch, and where what has landed goes.
LandHow = Literal["merge", "squash"]
#: The same in records: an earlier fleet could land the commits of a task one by one.
RecordedHow = Literal["merge", "squash", "rebase"]
LandTo = Literal["branch", "push", "pr"]
#: `land_into` that names no branch: the one that the directory had when the task was made.
BRANCH_OF_TASK = "@"

#: Whether destructive commands are reported, refused (where the CLI has a hook) or ignored.
Tripwire = Literal["report", "refuse", "off"]

#: What an agent's CLI loads before it reads its task. `full`: all that it would by itself.
#: `project`: nothing that is the user's own. `lean`: of the project's, only rules and permissions;
#: and only the tools that work takes.
Context = Literal["full", "project", "lean"]
CONTEXTS: tuple[Context, ...] = get_args(Context)

#: edit: write in the project and talk to fleet. auto: the CLI judges each step by itself.
#: bypass: everything, for machines that are a sandbox themselves.
Permissions = Literal["edit", "auto", "bypass"]

#: What git refuses anywhere in the name of a ref.
_NOT_IN_BRANCH = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|^@$"
_HOST = r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?(:[0-9]{1,5})?"

LimitName = Literal[
    "start", "idle", "time", "turns", "tokens", "cost", "output", "memory", "processes",
    #: Budgets, which are not one run's: the whole task's, and those of a day.
    "task_budget", "project_budget", "day_budget", "account_budget",
]  # fmt: skip

#: Budgets that are whole again the next day; a run that one of them ends did not fail.
DAY_BUDGETS: frozenset[LimitName] = frozenset({"project_budget", "day_budget", "account_budget"})
#: All budgets.
BUDGETS: frozenset[LimitName] = frozenset({*DAY_BUDGETS, "task_budget"})


class Limits(Struct, frozen=True, kw_only=True):
    """What a run may use before fleet ends the run. Every limit has a value."""

    #: Seconds until the agent's first event.
    start: float = 120.0
    #: Seconds without an event, with no tool call open, before the watchdog takes samples.
    idle: float = 420.0
    #: Seconds of wall time.
    time: float = 4 * 3600.0
    turns: int = 300
    tokens: int = 100_000_000
    #: In dollars: the CLI's own figure, or the estimate from prices.
    cost: float = 50.0
    #: Bytes on stdout and stderr.
    output: int = 1 << 30
    #: Bytes resident in the whole process tree.
    memory: int = 8 << 30
    processes: int = 1000

    def shown(self) -> dict[str, str]:
        """Each limit by name, for people."""
        return {
            "start": shown_span(self.start),
            "idle": shown_span(self.idle),
            "time": shown_span(self.time),
            "turns": str(self.turns),
            "tokens": f"{self.tokens:,}",
            "cost": f"${self.cost:g}",
            "output": shown_size(self.output),
            "memory": shown_size(self.memory),
            "processes": str(self.processes),
        }


class LimitWishes(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits that a task or a project sets; None: the limit of the level above holds."""

    start: float | None = None
    idle: float | None = None
    time: float | None = None
    turns: int | None = None
    tokens: int | None = None
    cost: float | None = None
    output: int | None = None
    memory: int | None = None
    processes: int | None = None


class Sandbox(Struct, frozen=True, kw_only=True):
    """The box around a run: how strict, and what the operator opens."""

    level: SandboxLevel = "off"
    #: Directories and files beside the usual ones that the agent may read, and those that it may
    #: write: absolute paths, or paths that begin with `~/`.
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    #: Hosts that a strict box leads to, beside those of the coder's vendor.
    hosts: tuple[str, ...] = ()
    #: Hosts that set-up commands reach in any box; verify commands reach none.
    setup_hosts: tuple[str, ...] = ()


class CopyRules(Struct, frozen=True, kw_only=True):
    """How copies of the project are made fit to work in."""

    #: The project's own directory.
    project: str = ""
    #: Paths below that directory which are linked into each copy, as they stand.
    share: tuple[str, ...] = ()


class LandRules(Struct, frozen=True, kw_only=True):
    """Whether and how work whose claim holds reaches a branch."""

    mode: LandMode = "branch"
    #: The branch; empty: the one that is checked out when the clone is made.
    into: str = ""
    #: The task was made where no branch was checked out: a person names one before it lands.
    asks_branch: bool = False
    how: RecordedHow = "merge"
    to: LandTo = "branch"
    #: Commands that must succeed on the fold before the branch moves to it.
    verify: tuple[str, ...] = ()
    #: Commands of `verify` that the task alone has: the branch itself need not pass them.
    own: tuple[str, ...] = ()
    #: The most candidates that are verified together.
    batch: int = 4
    #: Patterns of paths from the top of the repository: to land a change there always asks.
    protect: tuple[str, ...] = ()
    #: How often a task is sent back before a person is asked.
    tries: int = 3

    @property
    def lands(self) -> bool:
        """The work is to reach a branch other than the task's own."""
        return self.mode != "branch"


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules that one run is held to, with nothing left to be looked up. A record with other
    fields is of an earlier version, which `earlier_words` reads.
    """

    expect: str = "any"
    require: Requirement = "approved"
    #: Commands of the operator's that must succeed before the task is closed.
    verify: tuple[str, ...] = ()
    #: The commands came with the task itself, and are not the project's.
    verify_is_own: bool = False
    #: Files that the commands need, taken from the commit at the start of the run.
    pins: tuple[str, ...] = ()
    #: Seconds for each of those commands.
    verify_time: float = 900.0
    #: Where the run may change files, as patterns below its directory; none: everywhere in there.
    scope: tuple[str, ...] = ()
    work_in: WorkIn = "directory"
    context: Context = "full"
    #: The commit that a clone is made from; empty: the one that is checked out in the directory.
    commit: str = ""
    tripwire: Tripwire = "report"
    sandbox: Sandbox = Sandbox()
    #: Commands that make a fresh copy of the project fit to work in.
    setup: tuple[str, ...] = ()
    copies: CopyRules = CopyRules()
    land: LandRules = LandRules()
    #: What an agent must have from its start on, `mcp:NAME` or `tool:NAME`; without, the run ends.
    needs: tuple[str, ...] = ()
    limits: Limits = Limits()
    #: What the whole task may spend, over all its runs.
    budget: Budget = Budget()
    #: Seconds that `ask_human` waits for a person; None: the agent does not get fleet's tools.
    ask_wait: float | None = 100.0

    @property
    def lacks_check(self) -> bool:
        """Claims must be checked, and no command would. A person judges words and plans."""
        judged = self.expect in ("answer", "plan")
        return self.require == "checked" and not self.verify and not judged

    @property
    def artifact(self) -> str | None:
        """The file that must exist, if the expectation names one."""
        if self.expect == "plan":
            return PLAN_FILE
        return self.expect.removeprefix(ARTIFACT) if self.expect.startswith(ARTIFACT) else None


def contradiction(work_in: object, level: object, *, pins: bool) -> str:
    """Two settings that exclude each other, and which to change; empty: there are none. Pure.

    Outside of git `work_in` makes no difference, so the rule is the same there.
    """
    if work_in == "clone":
        return ""
    if level != "off":
        return (
            f"work_in = directory excludes sandbox = {level}: in git, boxed agents work in clones."
            " Set work_in=clone (outside of git it means the directory too), or sandbox=off"
        )
    if pins:
        return (
            "work_in = directory excludes pins: pinned files are restored in a fresh checkout, and"
            " only a clone has one. Set work_in=clone, or no pins"
        )
    return ""


def check_need(text: str) -> str:
    """The text, if of the form `mcp:NAME`, `tool:NAME` or `host:LABEL`. Raises BadInput."""
    kind, _, name = text.partition(":")
    if kind == "host":
        check_label(name)
        return text
    if kind in ("mcp", "tool") and name.strip():
        return text
    raise BadInput(
        f"{text!r} is nothing that an agent could have",
        hint="Name a server or a tool of the agent, or a label of its machine: mcp:NAME, tool:NAME,"
        " host:LABEL.",
    )


def check_place(text: str, *, from_top: bool) -> str:
    """The text, if it names a path below the task's directory. Raises BadInput.

    `from_top`: the path may begin with a slash, which is the top of the repository.
    """
    if (text.startswith("/") and not from_top) or ".." in text.split("/"):
        raise BadInput(
            f"{text!r} leads out of the task's directory",
            hint="Name it from that directory on, like src/**.",
        )
    return text


def check_branch(text: str) -> str:
    """The text, if it can be the name of a branch, or is `@`. Raises BadInput."""
    parts = text.split("/")
    odd = re.search(_NOT_IN_BRANCH, text) or text.startswith("-") or text == "HEAD"
    odd = odd or any(not part or part[0] == "." or part.endswith((".", ".lock")) for part in parts)
    if text == BRANCH_OF_TASK or not odd:
        return text
    raise BadInput(
        f"{text!r} is no name of a branch",
        hint=f"Write a name like main, or {BRANCH_OF_TASK} for the branch that the directory had"
        " when the task was made.",
    )


def stricter(one: SandboxLevel, other: SandboxLevel) -> SandboxLevel:
    """The stricter of two levels."""
    return SANDBOX_LEVELS[max(SANDBOX_LEVELS.index(one), SANDBOX_LEVELS.index(other))]


def check_opened(text: str) -> str:
    """The text, if it names a path that a box can open. Raises BadInput."""
    if text.startswith(("/", "~/")) and ".." not in text.split("/"):
        return text
    raise BadInput(
        f"{text!r} is no absolute path",
        hint="Name it from the root or from your home on, like /srv/data or ~/.cache/pip.",
    )


def check_host(text: str) -> str:
    """The text, if it names a host, or `*.` and all hosts below one. Raises BadInput."""
    if re.fullmatch(_HOST, text) and len(text) <= 253:
        return text
    raise BadInput(
        f"{text!r} is no name of a host",
        hint="Write packages.example.org, or *.example.org for all hosts below it.",
    )


def check_expectation(text: str) -> str:
    """The text, if it is an expectation. Raises BadInput."""
    path = text.removeprefix(ARTIFACT) if text.startswith(ARTIFACT) else None
    if text in EXPECTATIONS or (path and not path.startswith("/") and ".." not in path.split("/")):
        return text
    if path is not None:
        raise BadInput(
            f"{text!r} names no file below the task's directory or its artifacts",
            hint="For example: --expect artifact:REPORT.md",
        )
    raise BadInput(
        f"a run cannot be expected to leave {text!r}",
        hint=f"One of {', '.join(EXPECTATIONS)}, or {ARTIFACT}PATH.",
    )
