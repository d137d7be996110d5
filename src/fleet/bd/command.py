"""One bd command line being answered: who asks, what stood on it, and where the answer goes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TextIO

import msgspec

from fleet.bd.pflag import Flag, Parsed
from fleet.errors import BadInput, NotFound
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings, Task

#: Where an error goes under --json: `out` is a JSON object on standard output, `err` is plain
#: text on standard error as without --json. Scripts rely on which, so each error says it.
Channel = Literal["out", "err"]


class Failure(Exception):
    """The command ends here, with bd's text on bd's channel."""

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
    #: Where the queue's own errors go.
    channel: Channel = "out"
    #: Does it always change the queue? Then --readonly forbids it.
    writes: bool = False


#: Flags that every command takes.
GLOBAL = (
    Flag("json", "switch", help="Output in JSON format"),
    Flag("format", help="Alias: --format json is --json"),
    Flag("actor", help="Who acts (default: $BEADS_ACTOR, git user.name, $USER)"),
    Flag("directory", short="C", help="Accepted for compatibility: fleet has one queue"),
    Flag("db", help="Accepted for compatibility: fleet has one queue"),
    Flag("database", help="Accepted for compatibility: fleet has one queue"),
    Flag("global", "switch", help="Accepted for compatibility: fleet has one queue"),
    Flag("quiet", "switch", "q", help="Suppress non-essential output"),
    Flag("verbose", "switch", "v", help="Accepted for compatibility"),
    Flag("no-color", "switch", help="Accepted for compatibility: answers have no colour"),
    Flag("sandbox", "switch", help="Accepted for compatibility"),
    Flag("dolt-auto-commit", help="Accepted for compatibility"),
    Flag("ignore-schema-skew", "switch", help="Accepted for compatibility"),
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
        from fleet.bd.actor import actor

        return self.line.text("actor") or actor(self.env)

    @property
    def now(self) -> datetime:
        return self.queue.db.now()

    @property
    def for_a_person(self) -> bool:
        """Does the answer go to a terminal?"""
        return self._out.isatty()

    @property
    def _envelope(self) -> bool:
        return self.env.get("BD_JSON_ENVELOPE") == "1"

    def say(self, text: str = "") -> None:
        """A line for a person on standard output."""
        print(text, file=self._out)

    def tell(self, text: str) -> None:
        """A line that only confirms what was done: --quiet leaves it out."""
        if not self.line.switch("quiet"):
            self.say(text)

    def warn(self, text: str) -> None:
        """A line on standard error, whatever the output format."""
        print(text, file=self._err)

    def put(self, payload: Any, **beside: Any) -> None:
        """A JSON answer in the shape that bd gives it: arrays bare, objects with their version.
        `beside` stands next to the answer where there is an envelope, and nowhere else.
        """
        print(encoded(payload, envelope=self._envelope, beside=beside), file=self._out)

    def put_failed(self, message: str, failed: Sequence[Mapping[str, Any]]) -> None:
        """The last line of standard error when some of several tasks failed, for machines."""
        body = {"error": message, "failed": failed}
        shape = {"data": body} if self._envelope else body
        print(msgspec.json.encode({**shape, "schema_version": 1}).decode(), file=self._err)

    def fail(self, failure: Failure) -> int:
        """Print a failure as bd would, and give its exit code."""
        if self.json and failure.channel == "out":
            body: dict[str, Any] = {"error": failure.message}
            if failure.hint:
                body["hint"] = failure.hint
            self.put(body)
        else:
            self.warn(f"Error: {failure.message}")
            if failure.hint:
                self.warn(f"Hint: {failure.hint}")
        return failure.code

    def writes(self, operation: str) -> None:
        """Say that something is about to be changed; --readonly forbids it."""
        if self.line.switch("readonly"):
            raise Failure(
                f"operation '{operation}' is not allowed in read-only mode", channel="err"
            )

    def lacks(self, *names: str) -> None:
        """Refuse flags of bd that mean nothing on this queue, rather than ignore them."""
        for name in names:
            if self.line.has(name):
                raise Failure(
                    f"--{name} needs the real bd: fleet's own queue has nothing of the kind",
                    hint="The beads queue has it: fleet init --queue beads",
                    channel="err",
                )

    def task(self, word: str) -> Task:
        """The task that a word on the line means: a whole id, one without its prefix, or the
        beginning of exactly one id.
        """
        return self.queue.get(self.resolve(word))

    def resolve(self, word: str) -> str:
        from fleet.queue.sql.tracker.search import ids_like

        # A script with an empty variable, or one that printed a null, must not hit some task.
        found = [] if word in ("", "null", "undefined") else ids_like(self.queue, word)
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(
                f'ambiguous issue ID: "{word}" matches {len(found)} issues: [{" ".join(found)}]\n'
                "Use more characters to disambiguate"
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
