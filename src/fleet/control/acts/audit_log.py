"""`audit.jsonl` in the home: one line for each act of a person, chained by hashes.

Each line holds the hash of the line before, so that a line that was changed, taken out or put in is
found. A plain chain finds accidents and edits, not an owner who writes all of it anew. An act is
recorded however it ends (done, refused, broken off), by every surface, and once: the command line
records each line that a person typed, any other surface each act of the table.
"""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shlex import join
from typing import TypeVar

import msgspec
from msgspec import Struct

from fleet.bd.actor import actor
from fleet.errors import FleetError, InvalidTask
from fleet.files.append_file import append
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import open_regular, read_bounded
from fleet.home import Home, home_from
from fleet.processes.agent_identity import refuse_agent
from fleet.schemas import typed

T = TypeVar("T")

FILE, HEAD, _LOCK = "audit.jsonl", "audit.head", "audit.lock"
#: What the first line follows.
_BEGIN = "0" * 64
#: Characters of a command line or a sentence that are kept.
_LONGEST = 2000
#: Bytes from the end of the file that hold its last line, and bytes of the whole file.
_LAST, _LARGEST = 64 << 10, 1 << 30


class AuditLine(Struct, frozen=True, kw_only=True):
    """One act."""

    at: datetime
    #: `cli`, `web`, `top`, `mcp`, or the channel that the act came by: `telegram`, `ntfy`.
    surface: str
    user: str
    #: The browser of an act on the page: id, role, and what the browser calls itself.
    session: str = ""
    verb: str
    #: The task; empty: all of fleet, or several.
    task: str = ""
    #: The command line that does the same.
    line: str
    #: `done`, or why the act was not done.
    end: str
    #: The SHA-256 of the line before.
    before: str = _BEGIN


class _Head(Struct, frozen=True, kw_only=True):
    """How far the chain was at the last write: a file that ends earlier has lost lines."""

    count: int
    last: str


_HEAD = JsonRecord(_Head)


class ChainCheck(Struct, frozen=True, kw_only=True):
    """What a look at the whole chain found."""

    lines: int
    #: What is wrong, a sentence each; empty: the chain is whole.
    problems: tuple[str, ...] = ()


def record(
    home: Home,
    *,
    surface: str,
    verb: str,
    line: str,
    end: str = "done",
    task: str = "",
    session: str = "",
    env: Mapping[str, str] = os.environ,
) -> str:
    """Add an act to the chain, durably. Returns why that cannot be done; empty: it is done.

    The act itself stands: an emergency brake has to work on a full disk. The person is told.
    """
    try:
        with exclusive(home.path / _LOCK):
            _add(home.path, AuditLine(
                at=datetime.now(UTC), surface=surface, user=_text(actor(env)), verb=_text(verb),
                session=_text(session), task=task, line=_text(line), end=_text(end),
            ))  # fmt: skip
    except OSError as error:
        return f"it is not in the audit: {error.strerror or error}"
    return ""


def _text(words: str) -> str:
    """What can be written as UTF-8: a person's line may hold any byte."""
    return words[:_LONGEST].encode(errors="backslashreplace").decode()


def _add(folder: Path, line: AuditLine) -> None:
    path = folder / FILE
    before, torn = _last_line(path)
    data = msgspec.json.encode(msgspec.structs.replace(line, before=_hash(before)))
    # A power cut may have left half a line; the next one is a line of its own all the same.
    append(path, (b"\n" if torn else b"") + data + b"\n", durable=True)
    known = _HEAD.read_or_none(folder / HEAD)
    with suppress(OSError):
        head = _Head(count=(known.count if known else 0) + 1, last=_hash(data))
        _HEAD.write(folder / HEAD, head, durable=False)


def _last_line(path: Path) -> tuple[bytes, bool]:
    """The last line of the file, and whether the line lacks an end."""
    try:
        fd = open_regular(path)
    except InvalidTask:  # `append` puts aside what stands in the file's place; `verify` tells
        fd = None
    if fd is None:
        return b"", False
    try:
        data = os.pread(fd, _LAST, max(0, os.fstat(fd).st_size - _LAST))
    finally:
        os.close(fd)
    torn = bool(data) and not data.endswith(b"\n")
    return data.rstrip(b"\n").rpartition(b"\n")[2], torn


def _hash(line: bytes) -> str:
    return sha256(line).hexdigest() if line else _BEGIN


def _whole(home: Home) -> list[bytes]:
    """All lines. Raises InvalidTask for what is no plain file."""
    return (read_bounded(home.path / FILE, _LARGEST) or b"").splitlines()


def lines(home: Home, count: int | None = None) -> list[AuditLine]:
    """The acts, oldest first; the last `count` of them. What cannot be read is left out."""
    found: list[AuditLine] = []
    for data in _whole(home):
        with suppress(msgspec.DecodeError):
            found.append(typed.decode(data, AuditLine))
    return found if count is None else found[len(found) - min(count, len(found)) :]


def verify(home: Home) -> ChainCheck:
    """Follow the whole chain."""
    problems: list[str] = []
    before, hashes, count = b"", set[str](), 0
    for count, data in enumerate(_whole(home), 1):
        try:
            line = typed.decode(data, AuditLine)
        except msgspec.DecodeError:
            problems.append(f"line {count} cannot be read")
        else:
            if line.before != _hash(before):
                problems.append(
                    f"line {count} ({line.at:%Y-%m-%d %H:%M}, {line.verb}) does not follow the line"
                    " before it: one of the two was changed, or lines were taken out or put in"
                )
        before = data
        hashes.add(_hash(data))
    head = _HEAD.read_or_none(home.path / HEAD)
    if head is not None and head.last not in hashes:
        problems.append(f"the end is missing or was changed: {head.count} acts were recorded")
    return ChainCheck(lines=count, problems=tuple(problems))


class ActUnderWay(Struct, kw_only=True):
    """An act under way: what the audit will say of it."""

    line: str
    #: The task, once it is known.
    task: str = ""
    #: How the act ends, where it raises nothing.
    end: str = "done"
    #: Why the act could not be recorded; empty: it was.
    unrecorded: str = ""


@contextmanager
def recording(
    home: Callable[[], Home],
    verb: str,
    line: str,
    *,
    surface: str,
    session: str = "",
    env: Mapping[str, str],
) -> Generator[ActUnderWay]:
    """Record what is done in here. `home` is asked afterwards: `fleet init` makes it.

    Raises Refused in a process that answers an agent: what is recorded is an act of a person.
    """
    refuse_agent(f"run `{line}`", env)
    act = ActUnderWay(line=line)
    try:
        yield act
    except FleetError as error:
        act.end = f"refused: {error.message}"
        raise
    except BaseException:
        act.end = "broken off"
        raise
    finally:
        with suppress(FleetError):
            if (place := home()).path.is_dir():
                act.unrecorded = record(
                    place, surface=surface, session=session, verb=verb, task=act.task,
                    line=act.line, end=act.end, env=env,
                )  # fmt: skip


def recorded_line(
    verb: str, args: Sequence[str], work: Callable[[], T], env: Mapping[str, str] = os.environ
) -> tuple[T, str]:
    """Carry out a command line of a person's and record it. What the work returns, an exit code or
    nothing, and why it could not be recorded. Raises what the work raises; that is recorded too.
    """
    line = join(["fleet", *args])
    with recording(lambda: home_from(env), verb, line, surface="cli", env=env) as act:
        answer = work()
        if isinstance(answer, int) and answer:
            act.end = f"exit code {answer}"
    return answer, act.unrecorded
