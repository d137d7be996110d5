"""`fleet bd create`, `new` and `q` on beads: the user's own `bd create`, plus where and with what
the task is to be worked on, in the same call.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import Struct

from fleet.errors import BadInput, QueueError
from fleet.processes.bounded_call import DEVNULL, Exited, Stream
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_calls import Tracker
from fleet.queue.beads.bd_cli.bd_client import Client, creators_environment
from fleet.queue.beads.bd_cli.bd_flags import Part, scan, typed
from fleet.queue.beads.bd_cli.bd_issue import Issue, issues_of
from fleet.queue.beads.lease_ledger import Ledger
from fleet.queue.beads.write_lock import WriteLock
from fleet.queue.doorbell import Doorbell
from fleet.queue.sql.sqlite import BELL, utc_now
from fleet.schemas import Settings

TIMEOUT = timedelta(minutes=2)

_FILES = ("--file", "-f", "--graph", "--body-file", "--description-file", "--design-file")
_MANY = ("--file", "-f", "--graph")
_TEXT = ("--description", "--body", "--message", "-d", "-m")


class Made(Struct, frozen=True, kw_only=True):
    """How it went. With a code other than 0 nothing was made, and the streams say why."""

    code: int
    #: How the user wants to see it: fleet's line, bd's JSON (`out`), or the id alone.
    style: Literal["line", "json", "id"]
    issues: tuple[Issue, ...] = ()
    out: str = ""
    err: str = ""


def create(
    home: Path,
    args: Sequence[str],
    settings: Settings,
    *,
    verb: str = "create",
    invoked_in: Path | None = None,
    bd: str = "bd",
    timeout: timedelta = TIMEOUT,
    environ: Mapping[str, str] | None = None,
    stdin: IO[bytes] | None = None,
) -> Made:
    """Run the user's `create` with the settings in its metadata.

    Files named relative to `invoked_in` are found there although bd runs in the home.
    """
    wish = _Wish(scan(args), settings, verb, invoked_in)
    variables = creators_environment(home, os.environ if environ is None else environ)
    client = Client(home, bd=bd, timeout=timeout, variables=variables)
    with TemporaryFile() as typed_in:
        source: Stream = DEVNULL
        if wish.reads_stdin:  # all of it before we lock: a person may still be typing
            typed_in.write((stdin or sys.stdin.buffer).read())
            typed_in.seek(0)
            source = typed_in
        if wish.is_dry:
            return wish.answer(client.call(wish.args(), actor=None, stdin=source), ())
        return _make(home, client, wish, source)


def _make(home: Path, client: Client, wish: "_Wish", source: Stream) -> Made:
    ledger = Ledger(home, clock=utc_now)
    try:
        # A claim waits for this lock, so it sees the tasks of a plan only with their settings.
        with WriteLock(home, patience=client.timeout).held():
            ended = client.call(wish.args(), actor=None, stdin=source)
            if ended.code != 0:
                return wish.answer(ended, ())
            issues = _made_issues(ended, Tracker(client))
            if wish.is_many:
                _record(issues, wish.metadata, Tracker(Client(home, bd=client.bd)))
            for issue in issues:
                ledger.added(issue.id)
    finally:
        ledger.close()
    Doorbell(home / BELL).ring()
    return wish.answer(ended, issues)


class _Wish:
    """What the user typed, understood."""

    def __init__(
        self, parts: list[Part], settings: Settings, verb: str, invoked_in: Path | None
    ) -> None:
        self._parts = parts
        self._flags = {part.flag: part.value for part in parts if part.flag}
        self._quick = verb == "q"
        self._base = invoked_in
        self.is_many = any(flag in self._flags for flag in _MANY)
        self.is_dry = "--dry-run" in self._flags
        self.metadata = self._merged(settings)
        self.reads_stdin = "--stdin" in self._flags or any(
            self._flags.get(flag) == "-" for flag in (*_FILES, *_TEXT)
        )

    def args(self) -> list[str]:
        """The same command line, with fleet's part in it. A plan takes no metadata of its own."""
        kept = [self._found(part) for part in self._parts if part.flag != "--metadata"]
        if self._quick:
            words = [part.word for part in kept if part.word is not None]
            kept = [part for part in kept if part.word is None]
            kept.append(Part(typed=(f"--title={' '.join(words)}",), flag="--title"))
        added = [] if "--json" in self._flags else ["--json"]
        if not self.is_many and self.metadata:
            added.append(f"--metadata={msgspec.json.encode(self.metadata).decode()}")
        return ["create", *added, *typed(kept)]

    def answer(self, ended: Exited, issues: Sequence[Issue]) -> Made:
        style: Literal["line", "json", "id"] = "line"
        if "--json" in self._flags:
            style = "json"
        elif self._quick or "--silent" in self._flags:
            style = "id"
        out, err = ended.out.decode(errors="replace"), ended.err
        if ended.code != 0 and style != "json":  # we asked for JSON, so bd complained in it
            out, err = "", f"Error: {bd_output.complaint(ended)}\n"
        return Made(
            code=ended.code if ended.code >= 0 else 128 - ended.code,
            style=style,
            issues=tuple(issues),
            out=out,
            err=err,
        )

    def _found(self, part: Part) -> Part:
        """A file flag whose relative path exists where the user typed it, made absolute."""
        if part.flag not in _FILES or part.value in (None, "", "-") or self._base is None:
            return part
        path = self._base / str(part.value)
        if not path.exists():
            return part
        long = "--file" if part.flag == "-f" else part.flag
        return Part(typed=(f"{long}={path}",), flag=part.flag, value=str(path))

    def _merged(self, settings: Settings) -> dict[str, Any]:
        given = self._flags.get("--metadata")
        metadata = {} if given is None else self._parsed(given)
        own = msgspec.to_builtins(settings)
        if own:
            theirs = metadata.get("fleet")
            metadata["fleet"] = {**(theirs if isinstance(theirs, dict) else {}), **own}
        return metadata

    def _parsed(self, given: str) -> dict[str, Any]:
        try:
            if given.startswith("@"):
                given = ((self._base or Path.cwd()) / given[1:]).read_text(encoding="utf-8")
            metadata = msgspec.json.decode(given)
        except (OSError, ValueError) as error:
            raise BadInput(f"invalid JSON in --metadata: {error}") from error
        if not isinstance(metadata, dict):
            raise BadInput("invalid JSON in --metadata: must be an object")
        return cast("dict[str, Any]", metadata)


def _made_issues(ended: Exited, tracker: Tracker) -> list[Issue]:
    """What was made: one object, the array of `--file`, or the ids of `--graph`."""
    answer: Any = bd_output.payload(ended, "create")
    if isinstance(answer, dict) and "ids" in answer:
        named = cast("dict[str, str]", answer["ids"])
        return list(tracker.show(named.values()).values())
    return issues_of(answer)


def _record(issues: Sequence[Issue], metadata: dict[str, Any], tracker: Tracker) -> None:
    ids = [issue.id for issue in issues]
    if not ids or not metadata:
        return
    try:
        tracker.record(ids, metadata)
    except QueueError as error:
        raise QueueError(
            f"{', '.join(ids)} were made, but without their directory: {error.message}",
            hint="Remove them with `fleet bd delete`, and create them again.",
        ) from error
