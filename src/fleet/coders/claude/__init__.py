"""Claude Code: `claude -p` with a JSON stream, the prompt on stdin, nothing written beside."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from fleet.coders.base import (
    HOOK_TIMEOUT,
    SERVER_NAME,
    Coder,
    Options,
    Permissions,
    ToolServer,
    hook_events,
)
from fleet.coders.claude import home, stream
from fleet.coders.login import Login
from fleet.coders.model_names import BUILT_IN
from fleet.coders.state_layout import StateLayout
from fleet.coders.stream import json_line
from fleet.schemas import Event, Task
from fleet.schemas.policy import CONTEXTS

_MODES: Mapping[Permissions, str] = {
    "edit": "acceptEdits",
    "auto": "auto",
    "bypass": "bypassPermissions",
}

_KEY = "ANTHROPIC_API_KEY"
#: The login in the login file.
_OAUTH = "claudeAiOauth"

#: What an agent must be able to run whatever its permissions: the way to say that it is done.
_ALWAYS_ALLOWED = ("bd", "fleet")
#: What work in a repository takes every day. None of these reaches another machine.
_GIT_VERBS = (
    *("add", "blame", "branch", "checkout", "cherry-pick", "commit", "diff", "grep", "log"),
    *("ls-files", "merge", "mv", "rebase", "restore", "rev-parse", "rm", "show", "stash"),
    *("status", "switch", "tag"),
)
#: What stands between the simple commands of a shell line; the CLI judges each by itself.
_JOINTS = re.compile(r"&&|\|\||[;|\n]")
#: Characters with a meaning of their own in the CLI's list of allowed commands.
_UNLISTED = frozenset("(),*$`<>")


#: What work takes: a shell (which searches, and speaks to fleet) and files.
_LEAN_TOOLS = ("Bash", "Read", "Edit", "Write")


class ClaudeCoder(Coder):
    name = "claude"
    context_limit = 200_000
    program = "claude"
    version_args: ClassVar[tuple[str, ...]] = ("--version",)
    default_model: ClassVar[str] = BUILT_IN["claude"].default
    foreign_models: ClassVar[tuple[str, ...]] = BUILT_IN["claude"].foreign
    credentials = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
    )
    state_variable: ClassVar[str] = "CLAUDE_CONFIG_DIR"
    state_folder: ClassVar[str] = ".claude"
    secret_variable: ClassVar[str] = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - a name
    login_file: ClassVar[str] = ".credentials.json"
    settings_file: ClassVar[str] = "settings.json"
    state_layout: ClassVar[StateLayout] = StateLayout(
        config=(
            "settings.json", "CLAUDE.md", "rules/", "skills/", "agents/", "commands/",
            "output-styles/", "hooks/", "workflows/", "plugins/cache/", "plugins/marketplaces/",
        ),
        copied=("plugins/*.json",),
        sessions=("projects/*/{id}.jsonl", "projects/*/{id}/**/*"),
    )  # fmt: skip
    hosts: ClassVar[tuple[str, ...]] = (
        "api.anthropic.com", "console.anthropic.com", "platform.claude.com",
    )  # fmt: skip
    url_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_BASE_URL",)
    maskable: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "ANTHROPIC_API_KEY": "x-api-key",
            "ANTHROPIC_AUTH_TOKEN": "authorization: Bearer",
            "CLAUDE_CODE_OAUTH_TOKEN": "authorization: Bearer",
        }
    )
    vendor_url: ClassVar[str] = "https://api.anthropic.com"
    login_args: ClassVar[tuple[str, ...]] = ("auth", "login")
    status_args: ClassVar[tuple[str, ...]] = ("auth", "status", "--text")
    renew_args: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("auth", "status"),  # not with 2.1.197, nor for a token that was refused before its end
        (
            *("-p", "--tools", "", "--max-turns", "1", "--model", "haiku", "--strict-mcp-config"),
            *("--no-session-persistence", "--setting-sources", "", "Say ok."),
        ),
    )
    quiet_env: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            # Without this one run makes dozens of look-ups besides its own requests.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # An update under a running fleet changes the stream in mid-flight.
            "DISABLE_AUTOUPDATER": "1",
        }
    )
    passes = ("ANTHROPIC_BASE_URL",)
    prompt_on_stdin = True
    prints_ending = True
    shows_tools = True
    can_resume = True
    can_refuse = True
    takes_tools = True
    contexts = CONTEXTS

    def __init__(self, model: str | None = None) -> None:
        super().__init__(model)
        if self.model.endswith("[1m]"):
            self.context_limit = 1_000_000

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        del task
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose"]
        argv += ["--model", self.model] if self.model else []
        if self.options.resume:
            argv += ["--resume", self.options.resume]
        if self.options.max_cost is not None:
            # The CLI reports a cost only at the end, so the CLI has to enforce the limit.
            argv += ["--max-budget-usd", f"{self.options.max_cost:.2f}"]
        if self.options.hook:
            settings = hook_settings(self.options.hook, refuse=self.options.refuse)
            argv += ["--settings", settings]
        argv += context_flags(self.options)
        if self.options.tool_server:
            argv += ["--mcp-config", _mcp_config(self.options.tool_server)]
        argv += ["--permission-mode", _MODES[self.options.permissions]]
        # The artifacts lie outside the project, where edits are otherwise refused.
        argv += ["--add-dir", str(task_dir / "artifacts")]
        return [*argv, "--allowedTools", ",".join(_allowed(self.options))]

    def env(self, task: Task, task_dir: Path) -> dict[str, str]:
        own = {
            **self.quiet_env,
            # A question to a person may take minutes, and the answer belongs where the question was
            # asked.
            "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
        }
        if self.options.context == "lean":
            # Half of its system prompt tells how to keep notes; fleet has artifacts for that.
            own["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
        if self.options.permissions == "bypass" and os.geteuid() == 0:
            own["IS_SANDBOX"] = "1"  # claude refuses to bypass as root without this word
        return {**super().env(task, task_dir), **own}

    def telemetry(self) -> dict[str, str]:
        return {
            "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
            # Without this variable claude sends no spans.
            "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
        }

    def state_files(self, env: Mapping[str, str], cwd: str) -> Mapping[str, bytes]:
        servers = None
        if self.options.context == "lean":
            needs = self.options.needs
            servers = [need.removeprefix("mcp:") for need in needs if need.startswith("mcp:")]
        return {home.STATE_FILE: json.dumps(home.boxed_state(env, cwd, servers)).encode()}

    @classmethod
    def read_login(cls, data: bytes) -> Login | None:
        """Only the OAuth login: logins of MCP servers stay outside."""
        login = json_line.record(json_line.decode(data.decode(errors="replace")) or {}, _OAUTH)
        access = json_line.text(login, "accessToken")
        if not access:
            return None
        ends = json_line.number(login, "expiresAt")
        return Login(
            boxed=json.dumps({_OAUTH: {**login, "refreshToken": ""}}).encode(),
            access=access,
            ends=json_line.moment({"at": None if ends is None else ends / 1000}, "at"),
            renewable=bool(json_line.text(login, "refreshToken")),
        )

    @classmethod
    def login_owner(cls, login: Login, env: Mapping[str, str]) -> str:
        del login
        return home.account_of(env)

    @classmethod
    def key_in(cls, directory: Path) -> str:
        settings, _ = home.read_json(directory / "settings.json")
        if settings.get("apiKeyHelper"):
            return "apiKeyHelper"
        return f"env.{_KEY}" if home.table(settings.get("env")).get(_KEY) else ""

    @classmethod
    def wrong_login(cls, source: str, env: Mapping[str, str]) -> str:
        """Settings of a project can set a key, which beats every login and bills by the token."""
        given = _KEY if env.get(_KEY) else "none"
        if source in ("", given):
            return ""
        if given == "none":
            return (
                f"it uses the key of {source}, which bills by the token, instead of its login: see"
                " the .claude/settings.json and settings.local.json of its directory. To use that"
                " key on purpose: fleet account add NAME --coder claude --secret WHERE"
                f" --variable {_KEY}"
            )
        return f"it uses {source} instead of the key that it was given"

    def normalize_event(self, raw_line: str) -> Event | None:
        return stream.event(raw_line)


def _allowed(options: Options) -> tuple[str, ...]:
    """The commands that need no leave: fleet's, and with `edit` git's and the verify commands."""
    commands = list(_ALWAYS_ALLOWED)
    if options.permissions == "edit":
        commands += [f"git {verb}" for verb in _GIT_VERBS]
        simple = (part.strip() for line in options.verify for part in _JOINTS.split(line))
        commands += [part for part in simple if part and not _UNLISTED & set(part)]
    allowed = tuple(f"Bash({command}:*)" for command in dict.fromkeys(commands))
    return (*allowed, f"mcp__{SERVER_NAME}") if options.tool_server else allowed


def hook_settings(hook: str, *, refuse: bool) -> str:
    """A value for `--settings`, which adds fleet's hook to the settings that there are."""
    hooks = {
        name: [
            {
                **({"matcher": tools} if tools else {}),
                "hooks": [{"type": "command", "command": command, "timeout": HOOK_TIMEOUT}],
            }
        ]
        for name, (tools, command) in hook_events(hook, failures=True, refuse=refuse).items()
    }
    return json.dumps({"hooks": hooks})


def _mcp_config(server: ToolServer) -> str:
    """A value for `--mcp-config`: the server is loaded at once, and not only found by a search."""
    command, *args = server.argv
    entry = {
        "command": command,
        "args": args,
        "alwaysLoad": True,
        "timeout": server.timeout * 1000,
    }
    return json.dumps({"mcpServers": {SERVER_NAME: entry}})


def context_flags(options: Options) -> list[str]:
    """The flags of a context. fleet's own settings and permissions come by flags: they stay."""
    if options.context == "full":
        return []
    servers = [need for need in options.needs if need.startswith("mcp:")]
    # The project's settings stay in both: its rules, its hooks, and what it forbids. A server that
    # a task needs may be the user's, and the user's servers only come with all that is theirs.
    flags = [] if servers else ["--setting-sources", "project,local"]
    if options.context == "project":
        return flags
    tools = [need.removeprefix("tool:") for need in options.needs if need.startswith("tool:")]
    flags += [] if servers else ["--strict-mcp-config"]
    # Without the tool the CLI lists no skills, neither the user's nor the project's.
    flags += [] if "Skill" in tools else ["--disable-slash-commands"]
    return [*flags, "--tools", ",".join(dict.fromkeys((*_LEAN_TOOLS, *tools)))]
