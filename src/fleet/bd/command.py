"""What a bd command is: the verb, the line that calls the verb, and the reply."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TextIO

import msgspec
from msgspec import UNSET

from fleet.bd.pflag import Flag, Parsed, ignored
from fleet.errors import BadInput, NotFound
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings, Task
from fleet.schemas.shown_text import harmless
from fleet.schemas.task_state import Standing, TaskState


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a command came to. Printing the reply is the caller's last step."""

    #: Printed under --json.
    value: Any = UNSET
    #: Printed otherwise, and under --json by a command that has no value; not if empty.
    text: str = ""
    code: int = 0
    #: The tasks that the command made.
    created: Sequence[Task] = ()
    #: Stands beside `value` in the JSON envelope.
    beside: Mapping[str, Any] = {}


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """One command with flags, and the function that carries the command out."""

    run: "Callable[[Call], Reply]"
    usage: str
    about: str
    flags: Sequence[Flag] = ()
    #: The command always changes the queue, so --readonly forbids it.
    writes: bool = False


#: Flags that every command takes.
GLOBAL = (
    Flag("json", "switch", help="Output in JSON format"),
    Flag("format", help="Alias: --format json is --json"),
    Flag("actor", help="Who acts (default: $BEADS_ACTOR, git user.name, $USER)"),
    *ignored("directory/C", "db", "database", kind="text", why="fleet has one queue"),
    *ignored("global", why="fleet has one queue"),
    Flag("quiet", "switch", "q", help="Leave out confirmations"),
    *ignored("verbose/v", "no-color", "sandbox", "ignore-schema-skew", "cpu-profile"),
    *ignored("dolt-auto-commit", "mem-profile", kind="text"),
    Flag("readonly", "switch", help="Block write operations"),
    Flag("help", "switch", "h", help="Show help for this command"),
)


class TasksNow(Protocol):
    """How tasks stand by all that a home knows of them."""

    def states(self, tasks: Sequence[Task]) -> Mapping[str, TaskState]:
        """The state of each, for lists."""
        ...

    def standings(self, tasks: Sequence[Task]) -> Mapping[str, Standing]:
        """The state of each with the reason, for pages."""
        ...


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One command line with all that the verb needs."""

    verb: Verb
    #: The command's name as it was typed: `close` or `done`.
    name: str
    line: Parsed
    queue: SqlQueue
    env: Mapping[str, str]
    #: Fleet's own settings for the tasks that the command makes.
    settings: Settings | None
    out: TextIO
    err: TextIO
    stdin: TextIO
    #: How a file that the line names is read.
    read_file: Callable[[str], bytes]
    #: The directory whose repository may name the user; None: no person called from one.
    cwd: Path | None = None
    #: How tasks stand by all that the home knows of them; None: by their rows alone.
    stands: TasksNow | None = None

    @property
    def json(self) -> bool:
        return self.line.switch("json") or self.line.text("format") == "json"

    @property
    def envelope(self) -> bool:
        return self.env.get("BD_JSON_ENVELOPE") == "1"

    @property
    def words(self) -> tuple[str, ...]:
        return self.line.words

    @property
    def actor(self) -> str:
        from fleet.bd.actor import actor

        return self.line.text("actor") or actor(self.env, self.cwd)

    @property
    def owner(self) -> str:
        from fleet.bd.actor import owner

        return owner(self.env, self.cwd)

    def standings(self, tasks: Sequence[Task]) -> Mapping[str, Standing]:
        """How these tasks stand, for people; empty: their rows alone tell."""
        return {} if self.stands is None or not tasks else self.stands.standings(tasks)

    def states(self, tasks: Sequence[Task]) -> Mapping[str, TaskState]:
        """The states of these tasks, for people; empty: their rows alone tell."""
        return {} if self.stands is None or not tasks else self.stands.states(tasks)

    @property
    def now(self) -> datetime:
        return self.queue.db.now()

    def warn(self, text: str) -> None:
        """Print a line on standard error, whatever the output format."""
        print(harmless(text), file=self.err)

    def confirmed(self, text: str, value: Any = UNSET, **more: Any) -> Reply:
        """The reply of a command that changed something; --quiet leaves the text out."""
        return Reply(value=value, text="" if self.line.switch("quiet") else text, **more)

    def check(self) -> None:
        """Refuse what the global flags forbid."""
        if self.line.has("format") and not self.json:
            raise BadInput(f'unknown format "{self.line.text("format")}" (valid: json)')
        if self.verb.writes:
            self.refuse_readonly(self.name)

    def refuse_readonly(self, operation: str) -> None:
        if self.line.switch("readonly"):
            raise BadInput(f"operation '{operation}' is not allowed in read-only mode")

    def task(self, word: str) -> Task:
        """The task that a word on the line means: a whole id, an id without the prefix, or the
        beginning of exactly one id.
        """
        return self.queue.get(self.resolve(word))

    def resolve(self, word: str) -> str:
        from fleet.queue.sql.tracker.search import ids_like

        # A script with an empty variable, or one that printed a null, must not hit some task.
        ids = [] if word in ("", "null", "undefined") else ids_like(self.queue, word)
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise BadInput(
                f'ambiguous issue ID: "{word}" matches {len(ids)} issues: {", ".join(ids)}'
            )
        raise NotFound(f'no issue found matching "{word}"')


def encoded(payload: Any, *, envelope: bool, beside: Mapping[str, Any] | None = None) -> str:
    """Bd's JSON: two spaces, objects with sorted keys and a schema version, arrays as they are."""
    if envelope:
        payload = dict(sorted({**(beside or {}), "data": payload, "schema_version": 1}.items()))
    elif isinstance(payload, dict):
        body: dict[str, Any] = {**payload, "schema_version": 1}
        payload = dict(sorted(body.items()))
    return msgspec.json.format(msgspec.json.encode(payload), indent=2).decode()
