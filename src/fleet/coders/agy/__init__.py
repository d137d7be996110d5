"""Google's Antigravity CLI: `agy -p=…` with a JSON stream. Its word SUCCESS means little."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from fleet.coders.agy import stream
from fleet.coders.base import Coder, Permissions
from fleet.coders.model_names import BUILT_IN
from fleet.coders.state_layout import StateLayout
from fleet.schemas import Event, Task

_MODES: Mapping[Permissions, tuple[str, ...]] = {
    "edit": ("--mode", "accept-edits"),
    # agy has no mode that judges for itself; what agy may run is in agy's own settings file.
    "auto": ("--mode", "accept-edits"),
    "bypass": ("--dangerously-skip-permissions",),
}

#: agy's own limit is five minutes, and ends a run in mid-work as a success. Fleet has limits.
_NO_TIMEOUT = "24h"


class AgyCoder(Coder):
    name = "agy"
    context_limit = 128_000
    program = "agy"
    version_args: ClassVar[tuple[str, ...]] = ("--version",)
    foreign_models: ClassVar[tuple[str, ...]] = BUILT_IN["agy"].foreign
    # agy's state cannot be moved but with all of the home directory.
    state_variable: ClassVar[str] = "HOME"
    state_folder: ClassVar[str] = ".gemini"
    # Where it keeps conversations is not documented: in a box each run begins a fresh one.
    state_layout: ClassVar[StateLayout] = StateLayout(
        config=("GEMINI.md", "config/"),
        required=("antigravity-cli/settings.json",),
    )
    # agy's login is in the keyring, which is found over the session bus, or below $HOME.
    passes = ("DBUS_SESSION_BUS_ADDRESS",)
    prints_ending = True
    shows_tools = True
    can_resume = True
    exit_reasons = MappingProxyType({3: "rate_limit"})

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        argv = [self.program, "--output-format", "stream-json", "--print-timeout", _NO_TIMEOUT]
        argv += ["--model", self.model] if self.model else []
        argv += _MODES[self.options.permissions]
        argv += ["--add-dir", str(task_dir / "artifacts")]
        argv += ["--add-dir", self.options.spool] if self.options.spool else []
        argv += ["--conversation", self.options.resume] if self.options.resume else []
        # One word with the prompt: the flag takes the next word as a value, whatever that word is.
        return [*argv, f"-p={self.prompt(task, task_dir)}"]

    def env(self, task: Task, task_dir: Path) -> dict[str, str]:
        return {**super().env(task, task_dir), "AGY_CLI_DISABLE_AUTO_UPDATE": "true"}

    def normalize_event(self, raw_line: str) -> Event | None:
        return stream.event(raw_line)
