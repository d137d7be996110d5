"""One way for tests to give a bd command line to fleet, and to look at what came back."""

import io
import json
import shlex
from typing import Any

from fleet.queue.bd import answer
from fleet.queue.sql import SqlQueue
from fleet.schemas import Settings


class Result:
    """What a line answered."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def failed(self) -> Any:
        """The compact JSON that ends standard error when some of several tasks failed."""
        return json.loads(self.err.strip().splitlines()[-1])

    @property
    def ids(self) -> list[str]:
        return [row["id"] for row in self.json]


class Bd:
    """`bd("create x --json")`, or `bd("create", any_text)`: one word is split as a shell would."""

    def __init__(self, queue: SqlQueue, **env: str) -> None:
        self.queue = queue
        self.env = {"USER": "alice", **env}

    def __call__(
        self, *words: str, stdin: str = "", settings: Settings | None = None, **env: str
    ) -> Result:
        args = shlex.split(words[0]) if len(words) == 1 else list(words)
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
        return Result(code, out.getvalue(), err.getvalue())

    def new(self, *words: str) -> str:
        """A new task's id."""
        made = self(*([f"create --silent {words[0]}"] if len(words) == 1 else ("create", *words)))
        assert made.code == 0, made.err
        return made.out.strip()
