"""The coder of simulated agents: as Claude Code is driven, with our own process in its place.

It is no part of fleet's registry. The demo puts a file for it into its own home's `coders`
folder, as anybody adds a coder.
"""

import sys
from pathlib import Path
from typing import ClassVar

from fleet.coders.base import Coder
from fleet.coders.claude import stream
from fleet.demo.script import CODER, CONTEXT, OTHER_CODER
from fleet.schemas import Event, Task

#: `-P`: whatever lies in the project, it is not imported.
AGENT = ("-P", "-m", "fleet.demo.simulated_agent")

_FILE = '''\
"""No model, no account, no network: a stand-in that `fleet demo` brought."""

from fleet.demo.simulated_coder import SimulatedCoder


class Simulated(SimulatedCoder):
    name = "{name}"
'''


class SimulatedCoder(Coder):
    """Its models are manners: steady, fragile, curious, …"""

    name = CODER
    context_limit = CONTEXT
    program = sys.executable
    version_args: ClassVar[tuple[str, ...]] = (*AGENT, "--version")
    default_model: ClassVar[str] = "steady"
    prompt_on_stdin = True
    prints_ending = True

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        del task, task_dir
        return [self.program, *AGENT, "--model", self.model]

    def normalize_event(self, raw_line: str) -> Event | None:
        return stream.event(raw_line)


def add_coders(home: Path) -> None:
    """Make the simulated coders known in a home."""
    folder = home / "coders"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (CODER, OTHER_CODER):
        (folder / f"{name}.py").write_text(_FILE.format(name=name))
