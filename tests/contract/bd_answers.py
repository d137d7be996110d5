"""Bd command lines for tests: each is answered on a queue, and both channels come back."""

import io
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fleet.bd.command_line import answer
from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings

START = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)  # a Sunday


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **span: float) -> None:
        self.now += timedelta(**span)


class Answer(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def ids(self) -> list[str]:
        return [row["id"] for row in self.json]

    @property
    def failed(self) -> Any:
        """The compact JSON that ends standard error when some of several tasks failed."""
        return msgspec.json.decode(self.err.strip().splitlines()[-1])


class Bd:
    """`bd("dep add a b")` as ann; `bd.json(...)` adds --json and expects success."""

    def __init__(self, queue: SqlQueue, clock: Clock) -> None:
        self.queue = queue
        self.clock = clock
        self.env = {"BEADS_ACTOR": "ann"}

    def __call__(
        self,
        line: str | list[str],
        *,
        stdin: str = "",
        settings: Settings | None = None,
        **env: str,
    ) -> Answer:
        args = shlex.split(line) if isinstance(line, str) else line
        out, err = io.StringIO(), io.StringIO()
        code = answer(
            args,
            self.queue,
            env={**self.env, **env},
            settings=settings,
            out=out,
            err=err,
            stdin=io.StringIO(stdin),
        )
        return Answer(code, out.getvalue(), err.getvalue())

    def new(self, line: str) -> str:
        """The id of a task made with these words behind `create`."""
        return self.ok(f"create --silent {line}").strip()

    def json(self, line: str | list[str], **env: str) -> Any:
        args = shlex.split(line) if isinstance(line, str) else line
        said = self([*args, "--json"], **env)
        assert said.code == 0, said
        return said.json

    def ok(self, line: str | list[str], **env: str) -> str:
        said = self(line, **env)
        assert said.code == 0, said
        return said.out

    def refused(self, line: str | list[str], **env: str) -> str:
        """What a refusal says; with --json it says the same on standard output."""
        args = shlex.split(line) if isinstance(line, str) else line
        plain = self(args, **env)
        assert plain.code == 1, plain
        assert plain.out == ""
        assert plain.err.startswith("Error: ")
        body = self([*args, "--json"], **env)
        assert body.code == 1
        assert body.err == ""
        message = body.json["error"]
        assert body.json["schema_version"] == 1
        assert plain.err.startswith(f"Error: {message}")
        return message

    def misused(self, line: str | list[str], **env: str) -> str:
        """What bd says of flags that it does not know: plain text, with --json as well."""
        args = shlex.split(line) if isinstance(line, str) else line
        for said in (self(args, **env), self([*args, "--json"], **env)):
            assert (said.code, said.out) == (1, "")
            assert said.err.startswith("Error: ")
        return said.err.removeprefix("Error: ").rstrip("\n")

    def tasks(self, *names: str, **more: Any) -> None:
        """Tasks `fleet-<name>` with the title `Task <name>`, a second apart."""
        for name in names:
            draft = Draft(title=f"Task {name}", id=f"fleet-{name}", created_by="ann", **more)
            self.queue.add(draft)
            self.clock.pass_(seconds=1)
