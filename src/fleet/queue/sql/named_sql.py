"""Named SQL: the `.sql` files of `statements/` as a mapping, with `{name}` inclusions resolved."""

from collections.abc import Mapping
from pathlib import Path

from fleet.queue.sql.row_mapping import TASK_SQL

_STATEMENTS = Path(__file__).parent / "statements"
_NAME = "-- name: "


def load(file: str, **dialect: str) -> Mapping[str, str]:
    """Every statement of one file; `dialect` gives what the two engines write differently."""
    # Read by hand: every command starts here, and compiling patterns would cost more.
    named = {**TASK_SQL, **dialect}
    name = ""
    for line in (_STATEMENTS / file).read_text(encoding="utf-8").splitlines():
        if line.startswith(_NAME):
            name = line.removeprefix(_NAME)
            named[name] = ""
        elif name and not line.startswith("--"):
            named[name] += f"{line}\n"
    return {name: _expanded(text.strip(), named) for name, text in named.items()}


def _expanded(text: str, named: Mapping[str, str]) -> str:
    """The text with each `{name}` replaced by the named text."""
    before, found, rest = text.partition("{")
    if not found:
        return text
    name, _, after = rest.partition("}")
    return before + _expanded(named[name].strip(), named) + _expanded(after, named)
