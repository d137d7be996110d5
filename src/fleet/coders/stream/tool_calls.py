"""What an agent did, as the stream tells: tools, commands, edits, and calls that repeat.

A part of `RunTotals`. Its size has a bound, however long the run is.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct, field, structs

from fleet.coders.stream.news import News, mark_of
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

#: fleet's own tool, as the streams of all CLIs name it.
ASK_HUMAN = "mcp__fleet__ask_human"

#: Where the input of an editing tool names its file.
_PATHS = ("file_path", "notebook_path", "path", "TargetFile", "target_file", "absolute_path")
#: Files that no test reads: an agent's notes and a project's pages.
_PROSE = (".md", ".rst", ".txt", ".adoc")
_MOST_PATHS = 500
_MOST_DENIED = 50
#: How much is kept of the end of a command's output.
_TAIL = 300

_MOST_COMMANDS = 200
_COMMAND_CAP = 2000
#: Beyond this many kinds of tool, what an agent invents is counted together.
_MOST_TOOLS = 200


class OpenCall(Struct, frozen=True, kw_only=True):
    """A tool at work."""

    name: str
    since: datetime | None = None
    #: Seconds that the call set as a limit; None: no limit.
    timeout: float | None = None
    #: A digest of name and input: equal for equal calls.
    mark: bytes = b""
    #: The edits before this call, if it is one; a call that fails edits nothing.
    edits_before: "Edits | None" = None

    @property
    def is_elsewhere(self) -> bool:
        """The work is done by a server or by an agent below this one, and not by a command."""
        return self.name.startswith("mcp__") or self.name in _DISPATCHERS


class Edits(Struct, frozen=True, kw_only=True):
    """The files that an agent changed with editing tools."""

    count: int = 0
    #: How many commands ran before the last edit of anything but prose: later ones may have checked
    #: the edit.
    commands_before: int = 0
    #: As the calls name them, the latest last.
    paths: tuple[str, ...] = ()

    def with_call(self, call: ToolCall, commands: int) -> "Edits":
        paths = edited_paths(call)
        prose = bool(paths) and all(path.lower().endswith(_PROSE) for path in paths)
        return Edits(
            count=self.count + 1,
            commands_before=self.commands_before if prose else commands,
            paths=tuple(dict.fromkeys((*self.paths, *paths)))[-_MOST_PATHS:],
        )


class ToolCalls(Struct, kw_only=True):
    """The calls of a run so far. Only `add` and the end of the run change it."""

    #: Calls by the name of their tool.
    tools: Counter[str] = field(default_factory=Counter[str])
    commands: list[Command] = field(default_factory=list[Command])
    more_commands: int = 0
    subagents: int = 0
    edits: Edits = Edits()
    #: Calls without a result, by id.
    open: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    #: Results, and those that were errors.
    results: int = 0
    failed: int = 0
    #: Calls that were refused for want of permission, for people and for the next agent, by id.
    denied: dict[str, str] = field(default_factory=dict[str, str])
    #: How often in a row the last call failed with the same input and the same error.
    repeated_errors: int = 0
    #: The repeated call and its error, for people.
    repeated: str = ""
    #: Errors since the last result that was no error.
    errors_in_a_row: int = 0
    #: What of the stream was new.
    news: News = field(default_factory=News)
    _last_error: bytes = b""
    #: The index in `commands`, by the id of the call; none for a call that runs no command, or one
    #: beyond the bound.
    _places: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def count(self) -> int:
        """Calls in all; a call that two lines name counts once."""
        return self.tools.total()

    @property
    def ended_commands(self) -> tuple[Command, ...]:
        """The commands with how they ended. A CLI that tells of no result leaves none unended."""
        if self.results:
            return tuple(self.commands)
        return tuple(structs.replace(command, unended=False) for command in self.commands)

    @property
    def asks(self) -> str:
        """The name of an open tool that waits for a person; empty if there is none."""
        return next((call.name for call in self.open.values() if call.name in _ASKING), "")

    @property
    def at_work(self) -> tuple[str, ...]:
        """The open calls, for people: the tool, and the command if there is one."""
        return tuple(self._shown(call_id, call) for call_id, call in self.open.items())

    def _shown(self, call_id: str, call: OpenCall) -> str:
        place = self._places.get(call_id)
        return call.name if place is None else f"{call.name}: {self.commands[place].text}"

    def add(self, event: Event) -> None:
        """Take in the calls and results of one event."""
        for call in event.calls:
            if call.id not in self.open:
                self._begin(call, event.ts)
        for result in event.results:
            self._end(result)
        for call in event.denied_calls:
            self._deny(call.id, _described(call))

    def _begin(self, call: ToolCall, at: datetime | None) -> None:
        known = call.name in self.tools or len(self.tools) < _MOST_TOOLS
        self.tools[call.name if known else "(others)"] += 1
        self.subagents += call.name in _DISPATCHERS
        self._note_command(call)
        before = self.edits if call.name in _EDITORS else None
        if before is not None:
            self.edits = before.with_call(call, len(self.commands) + self.more_commands)
        self.open[call.id] = OpenCall(
            name=call.name,
            since=at,
            timeout=_timeout(call.input),
            mark=mark_of(call),
            edits_before=before,
        )

    def _note_command(self, call: ToolCall) -> None:
        self._places.pop(call.id, None)  # a CLI may use an id again
        text = command_of(call)
        if text is None:
            return
        if len(self.commands) >= _MOST_COMMANDS:
            self.more_commands += 1
            return
        self._places[call.id] = len(self.commands)
        self.commands.append(Command(text=text[:_COMMAND_CAP], unended=True))

    def _end(self, result: ToolResult) -> None:
        call = self.open.pop(result.id, None)
        self.results += 1
        place = self._places.get(result.id) if call is not None else None
        if place is not None:
            self.commands[place] = structs.replace(
                self.commands[place],
                failed=result.is_error,
                unended=False,
                tail=result.text[-_TAIL:],
            )
        if call is not None and result.denied:
            self._deny(result.id, self._shown(result.id, call))
        if not result.is_error:
            self.repeated_errors = self.errors_in_a_row = 0
            self._last_error = b""
            return
        self.failed += 1
        self.errors_in_a_row += 1
        if call is None:
            return
        if call.edits_before is not None and self.edits.count == call.edits_before.count + 1:
            self.edits = call.edits_before
        error = sha256(call.mark + result.text.encode(errors="replace")).digest()
        self.repeated_errors = self.repeated_errors + 1 if error == self._last_error else 1
        self._last_error, self.repeated = error, f"{call.name}: {result.text[:200]}"

    def _deny(self, call_id: str, what: str) -> None:
        """A call was refused: by the result of the call, by the CLI's list at the end, or both."""
        place = self._places.get(call_id)
        if place is not None:
            was = self.commands[place]
            self.commands[place] = structs.replace(was, denied=True, failed=False, unended=False)
        if call_id not in self.denied and len(self.denied) < _MOST_DENIED:
            self.denied[call_id] = what[:_COMMAND_CAP]


def _described(call: ToolCall) -> str:
    """A call for people: the tool, and the command or the file."""
    what = command_of(call) or ", ".join(edited_paths(call))
    return f"{call.name}: {what}" if what else call.name


def edited_paths(call: ToolCall) -> tuple[str, ...]:
    """The files that a call edits."""
    given = call.input
    named = [given.get(name) for name in _PATHS]
    changes = given.get("changes")
    if isinstance(changes, list):  # codex: one call, several files
        items = cast("list[object]", changes)
        named += [
            cast("dict[str, Any]", each).get("path") for each in items if isinstance(each, dict)
        ]
    return tuple(path for path in named if isinstance(path, str) and path)[:_MOST_PATHS]


def command_of(call: ToolCall) -> str | None:
    """The command line that a call runs; None: no command."""
    text = call.input.get(_SHELLS.get(call.name, ""))
    return text if isinstance(text, str) else None


def _timeout(given: Mapping[str, Any]) -> float | None:
    """The limit in seconds that a call sets; the CLIs count in milliseconds."""
    for name in ("timeout", "timeout_ms"):
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value) / 1000
    return None
