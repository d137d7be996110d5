"""Messages of people to a task's agents (`fleet tell`): `tasks/<id>/tells/`, in order, and kept.

`N.json` is a message, and `N.given-R` says that the run of number R got it: in its prompt, or
through the hook of its CLI, which takes it out of the run's drop box (`spool/post_messages.py`). So
each message is delivered once, and the file names tell to which run, also after a crash. A message
that was delivered to a run that never started waits again.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from fleet.errors import BadInput
from fleet.files.json_record import JsonRecord
from fleet.schemas import typed

FOLDER = "tells"
#: Characters that every CLI takes from a hook without cutting.
LONGEST = 8000
#: How many messages and characters a prompt repeats to a fresh session.
_MOST, _PROMPT_CAP = 20, 20_000
_GIVEN = r"(\d+)\.given-(\d+)"


class Message(Struct, frozen=True, kw_only=True):
    """The content of `N.json`."""

    text: str
    by: str
    at: datetime
    #: A review of the work: the session that did the work goes on with the message.
    review: bool = False


_RECORD = JsonRecord(Message)


class Delivery(Struct, frozen=True, kw_only=True):
    """A message, and the run that got the message."""

    number: int
    message: Message
    #: None while the message waits.
    run: int | None = None

    @property
    def line(self) -> str:
        message = self.message
        return f"{message.by}, {message.at:%F %H:%M}: {message.text}"


def add(task_dir: Path, text: str, *, by: str, at: datetime, review: bool = False) -> Delivery:
    """Write a message for the task's agent, durably."""
    text = checked(text)
    folder = task_dir / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    message = Message(text=text, by=by, at=at, review=review)
    number = _next_number(folder)
    _RECORD.write(folder / f"{number:06}.json", message)
    return Delivery(number=number, message=message)


def packed(message: Message) -> str:
    """A message on its way through the queue."""
    return msgspec.json.encode(message).decode()


def unpacked(text: str) -> Message:
    """The message that `packed` was given. Raises msgspec.DecodeError."""
    return typed.decode(text, Message)


def checked(text: str) -> str:
    """The text to be delivered. Raises BadInput for one that no agent could be told."""
    text = text.strip()
    if not text:
        raise BadInput("there is nothing to tell", hint='Write it behind the id: fleet tell ID "…"')
    if len(text) > LONGEST:
        raise BadInput(
            f"a message may have {LONGEST} characters, and this one has {len(text)}",
            hint="Put it into a file and tell the agent where it is.",
        )
    return text.encode(errors="replace").decode()


def _next_number(folder: Path) -> int:
    """The next number, taken by making the file, so that two processes never get the same one."""
    number = max((int(name[:6]) for name in _names(folder) if name[:6].isdecimal()), default=0)
    while True:
        number += 1
        with suppress(FileExistsError):
            fd = os.open(folder / f"{number:06}.json", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.close(fd)
            return number


def read(task_dir: Path) -> list[Delivery]:
    """All messages, oldest first."""
    folder = task_dir / FOLDER
    names = _names(folder)
    given: dict[int, int] = {}
    for name in names:
        if (found := re.fullmatch(_GIVEN, name)) and has_started(task_dir, int(found[2])):
            given[int(found[1])] = int(found[2])
    tells: list[Delivery] = []
    for name in sorted(names):
        stem, _, kind = name.partition(".")
        if kind != "json" or not stem.isdecimal():
            continue
        if message := _RECORD.read_or_none(folder / name):
            tells.append(Delivery(number=int(stem), message=message, run=given.get(int(stem))))
    return tells


def give(task_dir: Path, numbers: Iterable[int], run: int) -> None:
    """Mark messages as delivered: in the prompt of a run that is about to begin, or by the run's
    hook.
    """
    folder = task_dir / FOLDER
    for number in numbers:
        for old in _named_given(folder, number):
            with suppress(FileNotFoundError):
                (folder / old).rename(folder / f"{number:06}.given-{run}")
        (folder / f"{number:06}.given-{run}").touch()


def for_prompt(tells: list[Delivery], *, resumed: int | None) -> str:
    """The messages for the prompt of a new run.

    A fresh session gets all of them. A resumed session gets those that wait, and those of the run
    that was cut off (`resumed`) and of later ones, which may not have read them.
    """
    wanted = [t for t in tells if resumed is None or t.run is None or t.run >= resumed]
    lines = [f"- {tell.line}" for tell in wanted[-_MOST:]]
    while len(lines) > 1 and sum(map(len, lines)) > _PROMPT_CAP:
        lines.pop(0)
    return "\n".join(lines)


def stamp(task_dir: Path) -> int:
    """A value that changes with every message and delivery; 0 if there is no message."""
    try:
        return os.stat(f"{task_dir}/{FOLDER}").st_mtime_ns  # noqa: PTH116 - each run, each second
    except FileNotFoundError:
        return 0


def _named_given(folder: Path, number: int) -> list[str]:
    return [name for name in _names(folder) if name.startswith(f"{number:06}.given-")]


def has_started(task_dir: Path, run: int) -> bool:
    """Whether the agent of a run was started."""
    return (task_dir / "runs" / str(run) / "started").exists()


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except (FileNotFoundError, NotADirectoryError):
        return []
