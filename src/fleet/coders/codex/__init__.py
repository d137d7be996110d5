"""OpenAI's Codex: `codex exec --json`, the prompt on stdin, in codex's own sandbox
unless bypassed.
"""

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from fleet.coders.base import (
    HOOK_TIMEOUT,
    SERVER_NAME,
    Coder,
    Permissions,
    ToolServer,
    hook_events,
)
from fleet.coders.codex import home, stream
from fleet.coders.login import Login
from fleet.coders.model_names import BUILT_IN
from fleet.coders.state_layout import StateLayout
from fleet.coders.stream import json_line
from fleet.schemas import Event, Task
from fleet.schemas.policy import CONTEXTS

_MODES: Mapping[Permissions, tuple[str, ...]] = {
    "edit": ("--sandbox", "workspace-write"),
    # The same sandbox, and a reviewer of the CLI's own for what asks to leave it.
    "auto": ("--approve-for-me",),
    "bypass": ("--dangerously-bypass-approvals-and-sandbox",),
}

#: Milliseconds that codex waits at its start for a server that is slow, on a busy machine.
_GRACE_MS = 8000


class CodexCoder(Coder):
    name = "codex"
    context_limit = 128_000
    program = "codex"
    version_args: ClassVar[tuple[str, ...]] = ("--version",)
    default_model: ClassVar[str] = BUILT_IN["codex"].default
    foreign_models: ClassVar[tuple[str, ...]] = BUILT_IN["codex"].foreign
    credentials = ("CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_HOME")
    state_variable: ClassVar[str] = "CODEX_HOME"
    state_folder: ClassVar[str] = ".codex"
    secret_variable: ClassVar[str] = "CODEX_API_KEY"  # noqa: S105 - a name
    login_file: ClassVar[str] = "auth.json"
    settings_file: ClassVar[str] = "config.toml"
    state_layout: ClassVar[StateLayout] = StateLayout(
        # Each skill by itself: codex writes its own beside them. Not .env: it holds the user's
        # secrets, and sets variables of whatever reads it.
        config=(
            "AGENTS.md", "AGENTS.override.md", "prompts/", "rules/", "agents/", "hooks.json",
            "environments.toml", "skills/*",
        ),
        # The provider of the model may stand there.
        required=("config.toml",),
        home_config=(".agents/skills/",),
        sessions=("sessions/*/*/*/rollout-*-{id}.jsonl",),
    )  # fmt: skip
    hosts: ClassVar[tuple[str, ...]] = ("api.openai.com", "chatgpt.com", "auth.openai.com")
    url_variables: ClassVar[tuple[str, ...]] = ("OPENAI_BASE_URL",)
    login_args: ClassVar[tuple[str, ...]] = ("login",)
    status_args: ClassVar[tuple[str, ...]] = ("login", "status")
    renew_args: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("debug", "models"),  # not for a token that was refused before its end
        (
            *("exec", "--ephemeral", "--ignore-user-config", "--skip-git-repo-check"),
            *("--disable", "plugins", "--sandbox", "read-only", "Say ok."),
        ),
    )
    # Without a refresh token codex would ask the vendor with an empty one.
    boxed_env: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": stream.RENEWED_OUTSIDE}
    )
    passes = ("OPENAI_BASE_URL",)
    prompt_on_stdin = True
    prints_ending = True
    shows_tools = True
    can_resume = True
    can_refuse = True
    takes_tools = True
    contexts = CONTEXTS

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        argv = [self.program, "exec", "--json", "--skip-git-repo-check"]
        # Plugins wait five seconds at the end of a run for hosts that may not be reachable.
        argv += ["--disable", "plugins"]
        # A login shell sets PATH anew, and with it loses the `bd` that belongs to this run.
        argv += ["-c", "allow_login_shell=false"]
        if self.options.hook:
            argv += ["-c", hook_settings(self.options.hook, refuse=self.options.refuse)]
        argv += self.leave_out
        argv += _telemetry(self.options.otlp)
        if self.options.tool_server:
            argv += _server_settings(self.options.tool_server)
        argv += ["--cd", task.cwd] if task.cwd else []
        argv += ["--model", self.model] if self.model else []
        argv += _MODES[self.options.permissions]
        if self._sandboxed:
            # What the agent may write outside of the project: artifacts, and requests to fleet.
            argv += ["--add-dir", str(task_dir / "artifacts")]
            argv += ["--add-dir", self.options.spool] if self.options.spool else []
        # `resume` takes fewer options than `exec`; those before the word count for both.
        argv += ["resume", self.options.resume] if self.options.resume else []
        return [*argv, "-"]

    def left_out(self, env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
        options = self.options
        return home.left_out(env, cwd, options.context, options.needs)

    def normalize_event(self, raw_line: str) -> Event | None:
        return stream.event(raw_line)

    def second_stream(self, session_id: str, env: Mapping[str, str]) -> tuple[Path, str] | None:
        """The session's own record: the only place that tells of context and rate limits."""
        return self.session_record(session_id, env)

    def normalize_second(self, raw_line: str) -> Event | None:
        return stream.rollout_event(raw_line)

    @classmethod
    def read_login(cls, data: bytes) -> Login | None:
        """Tokens, or a key, which is not spent by its use."""
        line = json_line.decode(data.decode(errors="replace"))
        if line is None:
            return None
        tokens = json_line.record(line, "tokens")
        safe = {**tokens, "refresh_token": ""} if tokens else None
        access = json_line.text(tokens, "access_token")
        if not (access or json_line.text(line, "OPENAI_API_KEY")):
            return None
        return Login(
            boxed=json.dumps({**line, "tokens": safe}).encode(),
            access=access,
            ends=_end_of(access),
            renewable=bool(json_line.text(tokens, "refresh_token")),
            owner=json_line.text(tokens, "account_id"),
        )

    @property
    def _sandboxed(self) -> bool:
        return self.options.permissions != "bypass"


def _end_of(token: str) -> datetime | None:
    """When an access token ends: it has three parts in base64, of which the middle one is JSON."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
    except ValueError:
        return None
    return json_line.moment(json_line.decode(claims.decode(errors="replace")) or {}, "exp")


def _telemetry(base: str) -> list[str]:
    """Settings that make the CLI send telemetry; codex takes no variables for that."""
    if not base:
        return []
    exporters = (
        ("exporter", "logs"),
        ("trace_exporter", "traces"),
        ("metrics_exporter", "metrics"),
    )
    value = '{{otlp-http={{endpoint="{}/v1/{}",protocol="json"}}}}'
    return [
        word
        for name, signal in exporters
        for word in ("-c", f"otel.{name}={value.format(base, signal)}")
    ]


def hook_settings(hook: str, *, refuse: bool) -> str:
    """A value for `-c`: hooks of this session, and the word that these very ones are trusted.

    codex runs trusted hooks only. Its flag that trusts all hooks would trust the project's too, so
    codex is given the digest of fleet's hook instead. A codex that computes the digest in another
    way does not run the hook, and messages wait for the next run.
    """
    hooks: list[str] = []
    trust: list[str] = []
    for name, (tools, command) in hook_events(hook, failures=False, refuse=refuse).items():
        matcher = f"matcher={json.dumps(tools)}," if tools else ""
        handler = f'{{type="command",command={json.dumps(command)},timeout={HOOK_TIMEOUT}}}'
        hooks.append(f"{name}=[{{{matcher}hooks=[{handler}]}}]")
        label = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
        key = json.dumps(f"/<session-flags>/config.toml:{label}:0:0")
        trust.append(f'{key}={{trusted_hash="{hook_digest(label, tools, command)}"}}')
    return f"hooks={{{','.join(hooks)},state={{{','.join(trust)}}}}}"


def hook_digest(label: str, tools: str, command: str) -> str:
    handler = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT, "async": False}
    known = {"event_name": label, "hooks": [handler], **({"matcher": tools} if tools else {})}
    plain = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(plain.encode()).hexdigest()}"


def _server_settings(server: ToolServer) -> list[str]:
    """Words for the command line. Not `required`: then a server that dies would end the run."""
    command, *args = server.argv
    table = f"mcp_servers.{SERVER_NAME}"
    settings = {
        f"{table}.command": json.dumps(command),
        f"{table}.args": json.dumps(args),
        f"{table}.tool_timeout_sec": str(server.timeout),
        # codex's sandbox would have each call approved by a person, who is not there.
        f"{table}.default_tools_approval_mode": '"approve"',
        "mcp_optional_startup_grace_ms": str(_GRACE_MS),
    }
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
