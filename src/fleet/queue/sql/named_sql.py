"""Named SQL: the `.sql` files of `statements/` as a mapping, with `{name}` inclusions resolved."""

from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from fleet.queue.sql.row_mapping import TASK_SQL

_STATEMENTS = Path(__file__).parent / "statements"
_NAME = "-- name: "


class NamedSql(ChainMap[str, str]):
    """The statements of one file, and those beside them. Each is put together when a command first
    asks for it: every command starts here, and needs few of them.
    """

    def __getitem__(self, name: str) -> str:
        text = super().__getitem__(name)
        if "{" in text:
            text = self.maps[0][name] = self._expanded(text)
        return text

    def _expanded(self, text: str) -> str:
        """The text with each `{name}` replaced by the named text."""
        before, found, rest = text.partition("{")
        if not found:
            return text
        name, _, after = rest.partition("}")
        return before + self[name] + self._expanded(after)


def load(file: str, beside: Mapping[str, str] = TASK_SQL) -> NamedSql:
    """Every statement of one file; `beside` has what else they may include: the statements of
    another file, or what the two engines write differently.
    """
    # Read by hand: compiling patterns would cost more.
    texts: dict[str, str] = {}
    name = ""
    for line in (_STATEMENTS / file).read_text(encoding="utf-8").splitlines():
        if line.startswith(_NAME):
            name = line.removeprefix(_NAME)
            texts[name] = ""
        elif name and not line.startswith("--"):
            texts[name] += f"{line}\n"
    texts = {name: text.strip() for name, text in texts.items()}
    return NamedSql(texts, cast("dict[str, str]", beside))  # which is only read
