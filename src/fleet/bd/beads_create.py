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

from fleet.bd.arguments.values import with_settings
from fleet.bd.callers_files import located_flag
from fleet.bd.command import GLOBAL, encoded
from fleet.bd.command_line import find_verb
from fleet.bd.pflag import OFF, Part, parts
from fleet.errors import BadInput, QueueError, QueueUnavailable
from fleet.processes.bounded_call import DEVNULL, Exited, Stream
from fleet.queue import doorbell
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_calls import Tracker
from fleet.queue.beads.bd_cli.bd_client import BdClient, creators_environment
from fleet.queue.beads.bd_cli.bd_database import refuse_wrong
from fleet.queue.beads.bd_cli.bd_issue import tasks_in
from fleet.queue.beads.lease_ledger import Ledger
from fleet.queue.beads.write_lock import write_lock
from fleet.queue.sql.sqlite import utc_now
from fleet.schemas import Settings, Task
from fleet.schemas.waits import Proposed

TIMEOUT = timedelta(minutes=2)

_MANY = ("file", "graph")


class Made(Struct, frozen=True, kw_only=True):
    """How a `create` went. With a code other than 0 nothing was made, and the streams say why."""

    code: int
    #: How the user wants to see it: fleet's line, JSON (`out`), the id alone, or not at all.
    style: Literal["line", "json", "id", "nothing"]
    tasks: tuple[Task, ...] = ()
    #: The JSON that was asked for, or what a dry run would make.
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
    held: str = "",
) -> Made:
    """Run the user's `create` with the settings in the metadata.

    Files named relative to `invoked_in` are found there although bd runs in the home. `held`: by
    whom the tasks are proposed, which are blocked before they could be claimed; empty: none is.
    """
    refuse_wrong(home)
    env = os.environ if environ is None else environ
    wish = _Wish(args, settings, verb, invoked_in, envelope=env.get("BD_JSON_ENVELOPE") == "1")
    variables = creators_environment(home, env)
    client = BdClient(home, bd=bd, timeout=timeout, variables=variables)
    with TemporaryFile() as typed_in:
        source: Stream = DEVNULL
        if wish.reads_stdin:  # all of it before we lock: a person may still be typing
            typed_in.write((stdin or sys.stdin.buffer).read())
            typed_in.seek(0)
            source = typed_in
        if wish.is_dry:
            return wish.answer(client.call(wish.args(), actor=None, stdin=source), ())
        return _make(home, client, wish, source, held=held)


def _make(home: Path, client: BdClient, wish: "_Wish", source: Stream, *, held: str) -> Made:
    ledger = Ledger(home, clock=utc_now)
    try:
        # A claim waits for this lock, so it sees the tasks of a plan only with their settings.
        with write_lock(home, client.timeout):
            ended = client.call(wish.args(), actor=None, stdin=source)
            if ended.code != 0:
                return wish.answer(ended, ())
            tasks = _made_tasks(ended, Tracker(client))
            if wish.is_many:
                _record(tasks, wish.metadata, Tracker(BdClient(home, bd=client.bd)))
            for task in tasks:
                if held:
                    client.call(["update", task.id, "--status=blocked"], actor=None)
                    ledger.explain(ledger.entry(task.id), Proposed(by=held))
                ledger.added(task.id)
    finally:
        ledger.close()
    doorbell.ring(home)
    return wish.answer(ended, tasks)


class _Wish:
    """What the user typed, understood."""

    def __init__(
        self,
        args: Sequence[str],
        settings: Settings,
        verb: str,
        invoked_in: Path | None,
        *,
        envelope: bool,
    ) -> None:
        create = find_verb("create")
        assert create is not None
        self._parts = parts((*create.flags, *GLOBAL), args)
        self._flags = {name: value for part in self._parts for name, value in part.flags}
        self._quick = verb == "q"
        self._base = invoked_in
        self._envelope = envelope
        self.is_many = any(flag in self._flags for flag in _MANY)
        self.is_dry = self._switch("dry-run")
        self.metadata = self._merged(settings)
        dash = any(part.value == "-" for part in self._parts)
        self.reads_stdin = "stdin" in self._flags or dash

    def args(self) -> list[str]:
        """The command line with fleet's part added. A plan takes no metadata of its own."""
        added = ["--json"]
        if not self.is_many and self.metadata:
            added.append(f"--metadata={msgspec.json.encode(self.metadata).decode()}")
        kept = [part for part in self._parts if part.flag not in ("metadata", "json", "format")]
        if self._quick:
            words = [word for part in kept for word in part.words]
            kept = [part for part in kept if not part.words]
            added.append(f"--title={' '.join(words)}")
        return ["create", *added, *(word for part in kept for word in self._located(part))]

    def answer(self, ended: Exited, tasks: Sequence[Task]) -> Made:
        style: Literal["line", "json", "id", "nothing"] = "line"
        if self._switch("json") or self._flags.get("format") == "json":
            style = "json"
        elif self._quick or self._switch("silent"):
            style = "id"
        elif self._switch("quiet"):
            style = "nothing"
        out, err = "", ended.err
        if style == "json":
            out = self._as_asked(ended)
        elif ended.code != 0:  # we asked for JSON, so bd complained in it
            err = f"Error: {bd_output.complaint(ended)}\n"
        elif self.is_dry:
            out = _would_create(bd_output.payload(ended, "create"))
        return Made(
            code=ended.code if ended.code >= 0 else 128 - ended.code,
            style=style,
            tasks=tuple(tasks),
            out=out,
            err=err,
        )

    def _switch(self, name: str) -> bool:
        """A switch is on the line; `--name=false` is not."""
        return name in self._flags and self._flags[name] not in OFF

    def _as_asked(self, ended: Exited) -> str:
        """What bd answered, in the form that the user's own bd would have: fleet asked for bd's
        envelope, and the user may not have.
        """
        try:
            answer = bd_output.payload(ended, "create")
        except QueueUnavailable:  # no JSON: bd complained before it read the line
            return ended.out.decode(errors="replace")
        return f"{encoded(answer, envelope=self._envelope)}\n"

    def _located(self, part: Part) -> Sequence[str]:
        return part.typed if self._base is None else located_flag(part, self._base)

    def _merged(self, settings: Settings) -> dict[str, Any]:
        given = self._flags.get("metadata")
        return with_settings({} if given is None else self._parsed(given), settings)

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


def _would_create(answer: Any) -> str:
    """The answer to a dry run, in the words of fleet's own queues."""
    nodes = answer.get("nodes") or [answer]
    return "".join(f"Would create: {node.get('title', '')}\n" for node in nodes)


def _made_tasks(ended: Exited, tracker: Tracker) -> list[Task]:
    """What was made: one object, the array of `--file`, or the ids of `--graph`."""
    answer: Any = bd_output.payload(ended, "create")
    if isinstance(answer, dict) and "ids" in answer:
        named = cast("dict[str, str]", answer["ids"])
        return list(tracker.show(named.values()).values())
    return tasks_in(answer)


def _record(tasks: Sequence[Task], metadata: dict[str, Any], tracker: Tracker) -> None:
    ids = [task.id for task in tasks]
    if not ids or not metadata:
        return
    try:
        tracker.record(ids, metadata)
    except QueueError as error:
        raise QueueError(
            f"{', '.join(ids)} were made, but without their directory: {error.message}",
            hint="Remove them with `fleet bd delete`, and create them again.",
        ) from error
