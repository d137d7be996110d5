"""OpenAI's Codex: `codex exec --json`, the prompt on stdin, in codex's own sandbox
unless bypassed.
"""

import glob
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from fleet.coders import hooks, tool_servers
from fleet.coders.base import Coder, Permissions
from fleet.coders.codex import home, stream
from fleet.coders.model_names import BUILT_IN
from fleet.coders.stream import json_line
from fleet.schemas import Event, Task
from fleet.schemas.policy import CONTEXTS

_MODES: Mapping[Permissions, tuple[str, ...]] = {
    "edit": ("--sandbox", "workspace-write"),
    # The same sandbox, and a reviewer of the CLI's own for what asks to leave it.
    "auto": ("--approve-for-me",),
    "bypass": ("--dangerously-bypass-approvals-and-sandbox",),
}


class CodexCoder(Coder):
    name = "codex"
    context_limit = 128_000
    program = "codex"
    default_model: ClassVar[str] = BUILT_IN["codex"].default
    foreign_models: ClassVar[tuple[str, ...]] = BUILT_IN["codex"].foreign
    credentials = ("CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_HOME")
    state_variable: ClassVar[str] = "CODEX_HOME"
    state_folder: ClassVar[str] = ".codex"
    secret_variable: ClassVar[str] = "CODEX_API_KEY"  # noqa: S105 - a name
    login_file: ClassVar[str] = "auth.json"
    settings_file: ClassVar[str] = "config.toml"
    # Not skills/, which it makes anew at each start.
    state_guards: ClassVar[tuple[str, ...]] = ("config.toml", "AGENTS.md", "prompts/", "rules/")
    state_private: ClassVar[tuple[str, ...]] = ("shell_snapshots/", "tmp/")
    hosts: ClassVar[tuple[str, ...]] = ("api.openai.com", "chatgpt.com", "auth.openai.com")
    url_variables: ClassVar[tuple[str, ...]] = ("OPENAI_BASE_URL",)
    login_args: ClassVar[tuple[str, ...]] = ("login",)
    status_args: ClassVar[tuple[str, ...]] = ("login", "status")
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
            argv += ["-c", hooks.for_codex(self.options.hook, refuse=self.options.refuse)]
        argv += self.options.leave_out
        argv += _telemetry(self.options.otlp)
        if self.options.tool_server:
            argv += tool_servers.for_codex(self.options.tool_server)
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
        sessions = home.place(env) / "sessions"
        return sessions, f"*/*/*/rollout-*-{glob.escape(session_id)}.jsonl"

    def normalize_second(self, raw_line: str) -> Event | None:
        return stream.rollout_event(raw_line)

    @classmethod
    def login_ends(cls, data: bytes) -> datetime | None:
        """The access token tells: three parts in base64, of which the middle one is JSON."""
        line = json_line.decode(data.decode(errors="replace"))
        parts = json_line.text(line or {}, "tokens", "access_token").split(".")
        if len(parts) != 3:
            return None
        try:
            claims = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        except ValueError:
            return None
        return json_line.moment(json_line.decode(claims.decode(errors="replace")) or {}, "exp")

    @property
    def _sandboxed(self) -> bool:
        return self.options.permissions != "bypass"


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
