"""The Coder: how to drive one agent CLI. Pure: it starts nothing and reads no clock.

Five members are the contract (`name`, `context_limit`, `build_argv`, `env`, `normalize_event`).
All others have a default, so that a coder of twenty lines is a whole coder.
"""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import msgspec
from msgspec import Struct

from fleet.coders import prompts
from fleet.coders.login import Login
from fleet.coders.model_names import is_one_of
from fleet.coders.state_layout import StateLayout
from fleet.coders.stream import json_line, run_outcome
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Context, Event, Outcome, Reason, Task
from fleet.schemas.policy import Permissions

#: What the CLIs call fleet's MCP server; its tools are `mcp__fleet__ask_human` and so on.
SERVER_NAME = "fleet"
#: Seconds that a CLI waits for fleet's hook; it takes milliseconds.
HOOK_TIMEOUT = 60


class ToolServer(Struct, frozen=True, kw_only=True):
    """fleet's MCP server for one run: a comfort and no condition, since the files remain."""

    argv: tuple[str, ...]
    #: The seconds that a call of it may take.
    timeout: int


class Options(Struct, frozen=True, kw_only=True):
    """What the supervisor wants of one run."""

    permissions: Permissions = "edit"
    #: The session to carry on instead of starting a new one.
    resume: str | None = None
    #: How the run before this one ended, in a sentence that goes into the prompt.
    last_ending: str = ""
    #: The tools that were at work when the last run was cut off, for a session that is resumed.
    #: None: the last run ended by itself.
    cut_off: tuple[str, ...] | None = ()
    #: What people told this task's agents, for the prompt.
    messages: str = ""
    #: The program for the CLI's hooks, through which people reach a running agent; empty: none.
    hook: str = ""
    #: Have the hook refuse commands that the tripwire meets.
    refuse: bool = False
    #: What the CLI loads before it reads the task.
    context: Context = "full"
    #: What the task cannot do without, `mcp:NAME` or `tool:NAME`: loaded whatever the context.
    needs: tuple[str, ...] = ()
    #: The operator's verify commands: an agent may run these itself without asking.
    verify: tuple[str, ...] = ()
    #: The drop box of the run, through which its agent asks fleet for things.
    spool: str = ""
    #: None: the agent gets no MCP server of fleet's.
    tool_server: ToolServer | None = None
    #: The base of the OTLP/HTTP receiver that the CLI sends its own telemetry to; empty: none.
    otlp: str = ""
    #: What the run may cost in dollars, for a CLI that enforces a limit itself.
    max_cost: float | None = None


def hook_events(hook: str, *, failures: bool, refuse: bool) -> dict[str, tuple[str, str]]:
    """Which events of a CLI call fleet's hook, for which tools, and by which command. All of it
    goes on the command line: nothing is written to a project or to a user's settings.
    """
    program = shlex.quote(hook)
    events = {"PostToolUse": "*", "Stop": ""}
    if failures:
        events["PostToolUseFailure"] = "*"
    if refuse:
        events["PreToolUse"] = "Bash"
    return {name: (tools, f"{program} {name}") for name, tools in events.items()}


class Coder(ABC):
    """How to drive one agent CLI."""

    #: What `--coder` and the configuration call it.
    name: str
    #: Tokens that the model's context holds, until the stream says it better.
    context_limit: int
    #: The model to ask for; empty leaves the choice to the CLI.
    model: str = ""
    #: Set once for a run, before its environment and its command line are made.
    options: Options = Options()
    #: The result of `left_out`: words for the command line.
    leave_out: tuple[str, ...] = ()

    default_model: ClassVar[str] = ""
    #: Models that are another coder's: an inherited one is dropped, an explicit one passes.
    #: The default keeps fleet's own default model from a coder that does not set this.
    foreign_models: ClassVar[tuple[str, ...]] = ("sonnet", "opus", "haiku")
    #: The binary to look for; empty stands for the first word of the argv.
    program: str = ""
    #: The arguments that make the program print its version and do nothing else. Empty: the program
    #: is started for runs alone, and its version is not known.
    version_args: ClassVar[tuple[str, ...]] = ()
    #: The variables that log this CLI in: keys, tokens, the directory of a login. An account
    #: that sets one of them replaces all of them.
    credentials: tuple[str, ...] = ()
    #: The variable that moves all of the CLI's state, logins too, so that accounts are kept apart
    #: (empty: there is none), and where below the user's home the state is otherwise.
    state_variable: ClassVar[str] = ""
    state_folder: ClassVar[str] = ""
    #: The variable that hands a token or key to the CLI, where an account has one.
    secret_variable: ClassVar[str] = ""
    #: The file of a login, below the state's directory.
    login_file: ClassVar[str] = ""
    #: The file of a user's settings, below the state's directory; it may hold another login.
    settings_file: ClassVar[str] = ""
    #: What of the state a run in a box gets, and where sessions lie in it.
    state_layout: ClassVar[StateLayout] = StateLayout()
    #: Hosts of the CLI's vendor, and variables that may name another: where a strict box leads to.
    hosts: ClassVar[tuple[str, ...]] = ()
    url_variables: ClassVar[tuple[str, ...]] = ()
    #: Variables of keys that need not enter a strict box, since the first of `url_variables` leads
    #: the CLI to the process that adds them. Each with the header that the CLI sends the key in,
    #: and what precedes the key there (`authorization: Bearer`).
    maskable: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: The address that the CLI asks without the first of `url_variables`.
    vendor_url: ClassVar[str] = ""
    #: The arguments with which a person logs in, and those that ask the CLI, at no cost, whether a
    #: login is there.
    login_args: ClassVar[tuple[str, ...]] = ()
    status_args: ClassVar[tuple[str, ...]] = ()
    #: The arguments of commands that renew a login which has ended or was refused, the cheapest
    #: first. Empty: only a run renews it, so a box has the access token until that ends.
    renew_args: ClassVar[tuple[tuple[str, ...], ...]] = ()
    #: Variables that keep the CLI from updating itself and from traffic of its own.
    quiet_env: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: Variables that keep the CLI in a box, which has no refresh token, from asking for a renewal.
    boxed_env: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: Other variables of the supervisor's own environment that this CLI needs.
    passes: tuple[str, ...] = ()
    #: The prompt comes on stdin instead of in the argv, which has a limit and is public.
    prompt_on_stdin: bool = False
    #: The CLI always prints an ending, so a stream without one is no success.
    prints_ending: bool = False
    can_resume: bool = False
    #: The stream names every tool that the agent uses, so no call in it means no tool used.
    shows_tools: bool = False
    #: The CLI can be made to refuse a command (`Options.refuse`).
    can_refuse: ClassVar[bool] = False
    #: The CLI can be given an MCP server for one run (`Options.tool_server`).
    takes_tools: ClassVar[bool] = False
    #: The contexts that the CLI can be held to (`Options.context`).
    contexts: tuple[Context, ...] = ("full",)
    #: What an exit code means, where the CLI has codes of its own.
    exit_reasons: Mapping[int, Reason] = MappingProxyType({})

    def __init__(self, model: str | None = None) -> None:
        self.model = self.default_model if model is None else model

    @abstractmethod
    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        """The command that starts the agent."""

    def env(self, task: Task, task_dir: Path) -> dict[str, str]:
        """Variables to lay over the agent's environment. These three are required."""
        return {
            "FLEET_TASK_ID": task.id,
            "FLEET_TASK_DIR": str(task_dir),
            "FLEET_ARTIFACT_DIR": str(task_dir / "artifacts"),
        }

    def telemetry(self) -> dict[str, str]:
        """Variables that make the CLI send spans to `Options.otlp`. One that the operator set stays
        as it is.
        """
        return {}

    @abstractmethod
    def normalize_event(self, raw_line: str) -> Event | None:
        """One line of stdout as an Event; None for a line of no interest. Pure."""

    def prompt(self, task: Task, task_dir: Path) -> str:
        """What the agent is told, for stdin, an argument or the prompt file."""
        if self.options.resume:
            return prompts.resumed(
                task,
                task_dir,
                last_ending=self.options.last_ending,
                cut_off=self.options.cut_off,
                messages=self.options.messages,
            )
        cap = None if self.prompt_on_stdin else prompts.ARGUMENT_CAP
        return prompts.fresh(
            task,
            task_dir,
            last_ending=self.options.last_ending,
            cap=cap,
            messages=self.options.messages,
        )

    def prompt_file(self, task_dir: Path) -> Path:
        """Where the supervisor puts the prompt before the agent starts."""
        return task_dir / "prompt.md"

    def left_out(self, env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
        """Words for the command line that keep the CLI to the run's context (`leave_out`).

        Called once a run, before `build_argv`. May read the CLI's own files, where `env` puts
        them; what cannot be read is not left out.
        """
        del env, cwd
        return ()

    @classmethod
    def state_place(cls, env: Mapping[str, str]) -> str:
        """The directory in which the CLI keeps its state in this environment; empty: not known."""
        named = "" if cls.state_variable == "HOME" else env.get(cls.state_variable, "")
        if named or not cls.state_folder:
            return named
        return f"{env.get('HOME') or '/'}/{cls.state_folder}"

    def state_files(self, env: Mapping[str, str], cwd: str) -> Mapping[str, bytes]:
        """Files that fleet writes into a box's own state before the start, by name below it.

        `env` leads to the user's own state, and `cwd` is where the agent works.
        """
        del env, cwd
        return {}

    def session_record(self, session_id: str, env: Mapping[str, str]) -> tuple[Path, str] | None:
        """Where the CLI's own record of a session lies: the state directory, which an agent cannot
        replace, and a pattern below (`AgentPlace.find`). None: the layout names no such record.
        """
        place, patterns = self.state_place(env), self.state_layout.session_patterns(session_id)
        return (Path(place), patterns[0]) if place and patterns else None

    def second_stream(self, session_id: str, env: Mapping[str, str]) -> tuple[Path, str] | None:
        """One more file that this CLI writes about a session, in the form of `session_record`.

        `env` is the agent's. A resumed session may go on in the same file: a run's own part
        begins where the file ended when the run began.
        """
        del session_id, env
        return None

    def transcript(self, session_id: str, env: Mapping[str, str]) -> tuple[Path, str] | None:
        """The CLI's own record of a session, in the form of `session_record`: while the record
        grows, a silent stream is no sign of a stall.
        """
        return self.second_stream(session_id, env) or self.session_record(session_id, env)

    def normalize_second(self, raw_line: str) -> Event | None:
        """One line of the second stream as an Event. Pure."""
        del raw_line
        return None

    @classmethod
    def read_login(cls, data: bytes) -> Login | None:
        """The login that a login file holds. None: none of a known form, and a box gets none. Pure.

        Near its end a CLI renews a login, and two that do so at once break it.
        """
        del data
        return None

    @classmethod
    def login_owner(cls, login: Login, env: Mapping[str, str]) -> str:
        """The vendor's account of a login, which the CLI may keep in another file; `env` leads the
        CLI there.
        """
        del env
        return login.owner

    @classmethod
    def key_in(cls, directory: Path) -> str:
        """The setting in an account's directory that makes the CLI use another login; empty if
        there is none.
        """
        del directory
        return ""

    @classmethod
    def wrong_login(cls, source: str, env: Mapping[str, str]) -> str:
        """What is wrong with the login that the stream names; empty if nothing is.

        `env` is what the agent was given.
        """
        del source, env
        return ""

    @classmethod
    def inherits(cls, model: str) -> str | None:
        """The model for a task that did not choose `model`; None: this coder's default."""
        return None if not model or is_one_of(model, cls.foreign_models) else model

    def read(self, raw_line: str, now: datetime, *, second: bool = False) -> Event | None:
        """One line as an Event with a time and without the line; a coder that breaks on the line
        makes a `bad` event.
        """
        if not raw_line.strip():
            return None
        try:
            event = self.normalize_second(raw_line) if second else self.normalize_event(raw_line)
        except Exception as error:  # noqa: BLE001 - custom code may raise anything; one bad line must not end the run
            event = json_line.bad(f"{type(error).__name__}: {error}: {raw_line}")
        if event is not None and not isinstance(event, Event):  # pyright: ignore[reportUnnecessaryIsInstance]
            event = json_line.bad(f"{type(event).__name__} instead of an Event: {raw_line}")
        if event is None:
            return None
        # The raw line stays in the run's stdout: carried along it would be copied with each event.
        return msgspec.structs.replace(event, ts=event.ts or now, raw=None)

    def outcome(
        self, totals: RunTotals, exit_code: int | None, signal: int | None, *, stderr: str = ""
    ) -> Outcome:
        """How the run ended, by what stream and process say."""
        return run_outcome.outcome(
            totals,
            exit_code,
            signal,
            prints_ending=self.prints_ending,
            exit_reasons=self.exit_reasons,
            stderr=stderr,
        )
