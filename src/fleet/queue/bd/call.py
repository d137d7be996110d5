"""One bd command line being answered: who asks, what stood on it, and where the answer goes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TextIO

import msgspec

from fleet.errors import BadInput, NotFound
from fleet.flags import Flag, Parsed
from fleet.queue.sql import SqlQueue
from fleet.schemas import Settings, Task

Channel = Literal["out", "err"]


class Failure(Exception):
    """The command ends here, with bd's text on bd's channel.

    Under --json bd prints some errors to standard output and some to standard error; scripts
    rely on which, so each verb says it.
    """

    def __init__(
        self, message: str, *, hint: str = "", channel: Channel = "out", code: int = 1
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.channel: Channel = channel
        self.code = code


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """A command: its own flags, and what carries it out. `run` returns the exit code."""

    run: "Callable[[Call], int]"
    usage: str
    about: str
    flags: Sequence[Flag] = ()
    #: Does it change the queue? Then --readonly forbids it.
    writes: bool = False


#: Flags that every command takes.
GLOBAL = (
    Flag("json", "switch", help="Output in JSON format"),
    Flag("format", help="Alias: --format json is --json"),
    Flag("actor", help="Who acts (default: $BEADS_ACTOR, git user.name, $USER)"),
    Flag("directory", short="C", help="Accepted for compatibility: fleet has one queue"),
    Flag("db", help="Accepted for compatibility: fleet has one queue"),
    Flag("quiet", "switch", "q", help="Suppress non-essential output"),
    Flag("verbose", "switch", "v", help="Accepted for compatibility"),
    Flag("sandbox", "switch", help="Accepted for compatibility"),
    Flag("readonly", "switch", help="Block write operations"),
    Flag("help", "switch", "h", help="Show help for this command"),
)


class Call:
    """What a verb works with. Answers go through `say`, `put` and `warn`, never through print."""

    def __init__(
        self,
        queue: SqlQueue,
        line: Parsed,
        *,
        verb: str,
        env: Mapping[str, str],
        settings: Settings | None,
        out: TextIO,
        err: TextIO,
        stdin: TextIO,
    ) -> None:
        self.queue = queue
        self.line = line
        self.verb = verb
        self.env = env
        self.settings = settings
        self.stdin = stdin
        self._out = out
        self._err = err

    @property
    def json(self) -> bool:
        return self.line.switch("json") or self.line.text("format") == "json"

    @property
    def words(self) -> tuple[str, ...]:
        return self.line.words

    @property
    def actor(self) -> str:
        from fleet.queue.bd.actor import actor

        return self.line.text("actor") or actor(self.env)

    def say(self, text: str = "") -> None:
        """A line for a person on standard output."""
        print(text, file=self._out)

    def warn(self, text: str) -> None:
        """A line on standard error, whatever the output format."""
        print(text, file=self._err)

    def put(self, payload: Any) -> None:
        """A JSON answer in the shape that bd gives it: arrays bare, objects with their version."""
        print(encoded(payload, envelope=self.env.get("BD_JSON_ENVELOPE") == "1"), file=self._out)

    def fail(self, failure: Failure) -> int:
        """Print a failure as bd would, and give its exit code."""
        if self.json:
            body: dict[str, Any] = {"error": failure.message}
            if failure.hint:
                body["hint"] = failure.hint
            envelope = self.env.get("BD_JSON_ENVELOPE") == "1"
            target = self._out if failure.channel == "out" else self._err
            print(encoded(body, envelope=envelope), file=target)
        else:
            self.warn(f"Error: {failure.message}")
            if failure.hint:
                self.warn(f"Hint: {failure.hint}")
        return failure.code

    def task(self, word: str) -> Task:
        """The task that a word on the line means: a whole id, one without its prefix, or a part
        of exactly one id.
        """
        return self.queue.get(self.resolve(word))

    def resolve(self, word: str) -> str:
        from fleet.queue.sql.search import ids_like

        if word in ("", "null", "undefined") or "\0" in word:
            raise BadInput(f"invalid issue id {word!r}")
        found = ids_like(self.queue, word)
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(f"ambiguous ID {word!r} matches {len(found)} issues: {found[:5]}")
        raise NotFound(f'no issue found matching "{word}"')


def encoded(payload: Any, *, envelope: bool) -> str:
    """Bd's JSON: two spaces, objects with sorted keys and a schema version, arrays as they are."""
    if envelope:
        payload = {"schema_version": 1, "data": payload}
    elif isinstance(payload, dict):
        body: dict[str, Any] = {**payload, "schema_version": 1}
        payload = dict(sorted(body.items()))
    return msgspec.json.format(msgspec.json.encode(payload), indent=2).decode()
