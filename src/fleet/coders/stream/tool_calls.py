"""What an agent did, as its stream tells: tools, commands, edits, and calls that repeat.

A part of `RunTotals`. Its size has a bound, however long the run is.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, field

from fleet.schemas import Command, Event, ToolCall, ToolResult

#: Tools that run a command line, and the key of their input that holds it.
_SHELLS: Mapping[str, str] = {
    "Bash": "command", "shell": "command",
    "run_command": "CommandLine", "run_terminal_command": "command",
}  # fmt: skip
#: Tools that change a file.
_EDITORS = frozenset(
    {"Write", "Edit", "MultiEdit", "NotebookEdit", "edit",
     "write_to_file", "replace_file_content", "write_file", "edit_file"}
)  # fmt: skip
#: Tools that start an agent below this one.
_DISPATCHERS = frozenset({"Task", "Agent", "agent", "subagent"})
#: Tools that a person would have to answer.
_ASKING = frozenset({"AskUserQuestion", "ExitPlanMode", "ask_user"})

_MOST_COMMANDS = 200
_COMMAND_CAP = 2000
#: Beyond so many kinds of tool, what an agent invents is counted together.
_MOST_TOOLS = 200


class OpenCall(Struct, frozen=True, kw_only=True):
    """A tool at work."""

    name: str
    since: datetime | None = None
    #: Seconds that the call set as its own limit; None: it set none.
    timeout: float | None = None
    #: A digest of name and input: equal for equal calls.
    mark: bytes = b""
    #: The index in `commands`; None for a call that runs no command, or one beyond the bound.
    command: int | None = None


class ToolCalls(Struct, kw_only=True):
    """The calls of a run so far. Only `add` and the end of the run change it."""

    #: Calls by the name of their tool.
    tools: Counter[str] = field(default_factory=Counter[str])
    commands: list[Command] = field(default_factory=list[Command])
    more_commands: int = 0
    subagents: int = 0
    #: How many commands ran before the last edit; later ones may have checked it.
    commands_at_last_edit: int = 0
    edits: int = 0
    #: Calls without a result, by id.
    open: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    #: Results that were errors.
    failed: int = 0
    #: How often in a row the last call failed with the same input and the same error.
    repeated_errors: int = 0
    #: That call and its error, for people.
    repeated: str = ""
    #: Errors since the last result that was none.
    errors_in_a_row: int = 0
    _last_error: bytes = b""

    @property
    def count(self) -> int:
        """Calls in all; a call that two lines name counts once."""
        return self.tools.total()

    @property
    def asks(self) -> str:
        """The name of an open tool that waits for a person; empty if there is none."""
        return next((call.name for call in self.open.values() if call.name in _ASKING), "")

    @property
    def at_work(self) -> tuple[str, ...]:
        """The open calls, for people: the tool, and the command if it runs one."""
        return tuple(self._shown(call) for call in self.open.values())

    def _shown(self, call: OpenCall) -> str:
        if call.command is None:
            return call.name
        return f"{call.name}: {self.commands[call.command].text}"

    def add(self, event: Event) -> None:
        """Take in the calls and results of one event."""
        for call in event.calls:
            if call.id not in self.open:
                self._begin(call, event.ts)
        for result in event.results:
            self._end(result)

    def _begin(self, call: ToolCall, at: datetime | None) -> None:
        known = call.name in self.tools or len(self.tools) < _MOST_TOOLS
        self.tools[call.name if known else "(others)"] += 1
        self.subagents += call.name in _DISPATCHERS
        command = self._command(call)
        if call.name in _EDITORS:
            self.edits += 1
            self.commands_at_last_edit = len(self.commands) + self.more_commands
        self.open[call.id] = OpenCall(
            name=call.name,
            since=at,
            timeout=_timeout(call.input),
            mark=_mark(call),
            command=command,
        )

    def _command(self, call: ToolCall) -> int | None:
        text = command_of(call)
        if text is None:
            return None
        if len(self.commands) >= _MOST_COMMANDS:
            self.more_commands += 1
            return None
        self.commands.append(Command(text=text[:_COMMAND_CAP]))
        return len(self.commands) - 1

    def _end(self, result: ToolResult) -> None:
        call = self.open.pop(result.id, None)
        if not result.is_error:
            self.repeated_errors = self.errors_in_a_row = 0
            self._last_error = b""
            return
        self.failed += 1
        self.errors_in_a_row += 1
        if call is None:
            return
        if call.command is not None:
            was = self.commands[call.command]
            self.commands[call.command] = Command(text=was.text, failed=True)
        error = sha256(call.mark + result.text.encode(errors="replace")).digest()
        self.repeated_errors = self.repeated_errors + 1 if error == self._last_error else 1
        self._last_error, self.repeated = error, f"{call.name}: {result.text[:200]}"


def command_of(call: ToolCall) -> str | None:
    """The command line that a call runs; None if it runs none."""
    text = call.input.get(_SHELLS.get(call.name, ""))
    return text if isinstance(text, str) else None


def _mark(call: ToolCall) -> bytes:
    try:
        given = msgspec.json.encode(call.input, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        given = repr(call.input).encode(errors="replace")  # a custom coder may put anything there
    return sha256(call.name.encode(errors="replace") + b"\0" + given).digest()


def _timeout(given: Mapping[str, Any]) -> float | None:
    """The limit in seconds that a call set for itself; the CLIs count in milliseconds."""
    for name in ("timeout", "timeout_ms"):
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value) / 1000
    return None
