"""Which run made which change, where several runs worked in one tree at the same time.

Git sees that a file changed, not which process changed it. The streams of the runs say which files
their editing tools wrote and which commands they ran. So a file that only another run names is that
run's; a file that no run names may be anyone's, and stays with the run that is looked at.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePath

import msgspec
from msgspec import Struct, structs

from fleet.coders.stream.tool_calls import command_of, edited_paths
from fleet.errors import InvalidTask
from fleet.files.safe_read import tail
from fleet.runs import event_log
from fleet.runs.run_directory import Run, began_at
from fleet.schemas import Base, Changes, FileChange, ToolCall, typed

#: How much of the end of another task's events is read.
_MOST_EVENTS = 16 << 20


class Deeds(Struct, frozen=True, kw_only=True):
    """What the stream of a run names: edited files and commands."""

    edited: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()

    def names(self, path: str) -> bool:
        """Whether the run edited the file, or a command of the run has the name of the file."""
        name = PurePath(path).name
        return path in self.edited or any(name in command for command in self.commands)

    @property
    def commits(self) -> bool:
        return any("commit" in command for command in self.commands)


class _Calls(Struct, frozen=True):
    """The part of an event that tells what an agent did."""

    ts: datetime | None = None
    calls: tuple[ToolCall, ...] = ()


def deeds(edited: Iterable[str], commands: Sequence[str], root: str, cwd: str) -> Deeds:
    """The deeds of a run; files are named from the run's directory, or from the root of all."""
    return Deeds(edited=frozenset(_below(root, cwd, edited)), commands=tuple(commands))


def own_changes(
    run: Run, base: Base, changes: Changes, own: Deeds, tasks: Sequence[str]
) -> Changes:
    """The run's own changes, with the `tasks` that were at work in the same tree, and the files
    that only their streams name.
    """
    if not tasks:
        return changes
    began = began_at(run)
    others = [_deeds_of(run.home.task(task), base.root, began) for task in tasks]
    return attributed(changes, own, others, tasks)


def attributed(
    changes: Changes, own: Deeds, others: Sequence[Deeds], tasks: Sequence[str]
) -> Changes:
    """Divide the changes between a run and the other runs in the same tree. Pure."""
    mine: list[FileChange] = []
    theirs: list[FileChange] = []
    for file in changes.files:
        foreign = not own.names(file.path) and any(each.names(file.path) for each in others)
        (theirs if foreign else mine).append(file)
    committed = own.commits or not any(each.commits for each in others)
    return structs.replace(
        changes,
        files=tuple(mine),
        others=tuple(theirs),
        commits=changes.commits if committed else (),
        shared_with=tuple(tasks),
    )


def _deeds_of(task_dir: Path, root: str, began: datetime | None) -> Deeds:
    """What the runs of another task did since a moment, by the task's events."""
    edited: list[str] = []
    commands: list[str] = []
    for call in _calls(task_dir, began):
        edited += edited_paths(call)
        if (command := command_of(call)) is not None:
            commands.append(command)
    return deeds(edited, commands, root, root)


def _calls(task_dir: Path, began: datetime | None) -> Iterator[ToolCall]:
    try:
        text = tail(task_dir / event_log.FILE, _MOST_EVENTS)
    except (InvalidTask, OSError):
        return
    for line in text.splitlines():
        if '"calls"' not in line:
            continue
        try:
            event = typed.decode(line, _Calls)
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue  # the first line may be cut
        if began is None or event.ts is None or event.ts >= began:
            yield from event.calls


def _below(root: str, cwd: str, paths: Iterable[str]) -> Iterator[str]:
    """Paths as git names them: from the top of the tree on."""
    for path in paths:
        whole = os.path.normpath(path if os.path.isabs(path) else os.path.join(cwd, path))  # noqa: PTH117, PTH118
        yield os.path.relpath(whole, root)
